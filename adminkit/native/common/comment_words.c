/* comment_words.c - the words that adminkit leaves in a comment: the policy's record, which is the first, and
 * the checkpoint plugin's note and the word of an extension, which are any. adminkit/trace/comment_words.py
 * is their registry.
 */
#include "fields.h"

#include <stdbool.h>
#include <string.h>

static bool in_alphabet(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '+' || c == '-';
}

/* Takes `word` off the front of `s`. */
static bool skip(struct ak_slice *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || memcmp(s->s, word, n) != 0)
        return false;
    s->s += n;
    s->n -= n;
    return true;
}

/* Takes a number off the front of `s`: digits, at least one. More than `most` is `most`. */
static bool take_number(struct ak_slice *s, int64_t most, int64_t *number) {
    size_t n = 0;
    *number = 0;
    for (; n < s->n && s->s[n] >= '0' && s->s[n] <= '9'; n++) {
        int digit = s->s[n] - '0';
        *number = *number > (most - digit) / 10 ? most : *number * 10 + digit;
    }
    s->s += n;
    s->n -= n;
    return n > 0;
}

/* Skip a key and its value at the front of `s`; false, and `s` as it was, where it has no value. */
static bool skip_word(struct ak_slice *s, const char *key) {
    struct ak_slice rest = *s;
    size_t n = 0;
    if (!skip(&rest, key))
        return false;
    while (n < rest.n && in_alphabet(rest.s[n]))
        n++;
    if (n == 0)
        return false;
    *s = (struct ak_slice){rest.s + n, rest.n - n};
    return true;
}

/* Whether `s`, behind the source, has only the other keys of a record, in their order, up to a blank. */
static bool ends_well(struct ak_slice s) {
    static const char *const key[] = {
        ",cls=", ",own=", ",min=", ",keep=", ",soft=", ",el=", ",ext=", ",rules="};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        skip_word(&s, key[i]);
    return s.n == 0 || s.s[0] == ' ';
}

/* The limit and source of a record at the front of `s`, if there is one. */
static void take_record(struct ak_slice s, struct ak_cell *limit, struct ak_cell *source) {
    int64_t seconds = 0;
    if (!skip(&s, "ak1:lim="))
        return;
    if (skip(&s, "none,src=d")) {
        if (ends_well(s))
            ak_set_text(source, "default", 7);
        return;
    }
    bool finite = !skip(&s, "inf");
    if ((finite && !take_number(&s, INT64_MAX, &seconds)) || !skip(&s, ",src=e") || !ends_well(s))
        return;
    if (finite)
        ak_set_int(limit, seconds);
    ak_set_text(source, "explicit", 8);
}

/* Takes the keys and the numbers behind them off the front of `s`, each `most` of its place at most. */
static bool take_numbers(struct ak_slice *s, const char *const key[3], const int64_t most[3],
                         int64_t number[3]) {
    for (int i = 0; i < 3; i++)
        if (!skip(s, key[i]) || !take_number(s, most[i], &number[i]))
            return false;
    return true;
}

/* Sets at, heard, requeues and end from a note at the front of `s`. False: there is no note. */
static bool take_note(struct ak_slice s, struct ak_cell out[4]) {
    static const char *const key[] = {"ck1:at=", ",heard=", ",rq="};
    static const int64_t most[] = {INT64_MAX, UINT32_MAX, UINT32_MAX};
    int64_t number[3];
    if (!take_numbers(&s, key, most, number))
        return false;
    size_t n = 0;
    if (skip(&s, ",end=")) {
        while (n < s.n && s.s[n] >= 'a' && s.s[n] <= 'z')
            n++;
        if (n == 0)
            return false;
    }
    if (n < s.n && s.s[n] != ' ')
        return false;
    for (int i = 0; i < 3; i++)
        ak_set_int(&out[i], number[i]);
    if (n)
        ak_set_text(&out[3], s.s, (uint32_t)n);
    return true;
}

/* Sets asked, extended and times from the word of an extension at the front of `s`. False: there is no such
 * word. */
static bool take_extension(struct ak_slice s, struct ak_cell out[3]) {
    static const char *const key[] = {"xt1:asked=", ",lim=", ",n="};
    static const int64_t most[] = {INT64_MAX, INT64_MAX, UINT32_MAX};
    int64_t number[3];
    if (!take_numbers(&s, key, most, number) || (s.n && s.s[0] != ' '))
        return false;
    for (int i = 0; i < 3; i++)
        ak_set_int(&out[i], number[i]);
    return true;
}

void ak_admin_comment(struct ak_slice s, struct ak_cell out[10]) {
    bool noted = false, extended = false;
    if (s.n)
        ak_set_text(&out[0], s.s, s.n);
    take_record(s, &out[1], &out[2]);
    for (const char *word = s.s, *end = s.s + s.n; word && word < end && !(noted && extended);) {
        struct ak_slice rest = {word, (size_t)(end - word)};
        noted = noted || take_note(rest, &out[3]);
        extended = extended || take_extension(rest, &out[7]);
        const char *blank = memchr(word, ' ', (size_t)(end - word));
        word = blank ? blank + 1 : NULL;
    }
}
