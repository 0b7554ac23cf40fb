/* progress_word.h - how far a run came, as a word of AdminComment: pf1:it=12345. Pure.
 *
 * The number is the user's own: docs/comment-words.md calls it a claim, and nothing here depends on it. */
#ifndef ADMINKIT_CKPT_PROGRESS_WORD_H
#define ADMINKIT_CKPT_PROGRESS_WORD_H

#include <stdbool.h>
#include <stddef.h>

#define CK_PROGRESS_DIGITS 20

/* What a file of `size` bytes says: digits, CK_PROGRESS_DIGITS at most, and blanks or newlines behind them.
 * False: it says anything else, and `digits` is "". */
bool ck_progress_parse(const char *text, size_t size, char digits[CK_PROGRESS_DIGITS + 1]);

/* Writes to out[size] the comment with the digits in place of its progress, or behind all words; with "" for
 * them without its progress. All other words stay as they are. False: that would be longer than size - 1 or
 * AK_COMMENT_MAX, and out is "". */
bool ck_progress_put(char *out, size_t size, const char *comment, const char *digits);

#endif
