/* clang-format off */
/* word.h - the word that says in AdminComment how often a job's tasks waited for files. docs/comment-words.md has its
 * grammar, and docs/io.md who reads it.
 *
 *     io1:at=1790000000,to=1790003600,node=0,n=720,wait=650,only=600,full=10,fs=nfs4-home
 *
 * Each node has its word, and replaces its own only. */
/* clang-format on */
#ifndef ADMINKIT_IO_WORD_H
#define ADMINKIT_IO_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "sums.h"

/* Bytes of the comment that this word leaves to others: to note that a job was put back, for one. */
#define IO_WORD_LEAVES 200

/* Writes to out[size] the comment with the sums of a node in place of that node's word, or at the end; words
 * of an earlier run, which began before `run`, are taken out. False: there are no sums, or there is no room,
 * and out is "". */
bool io_word_put(char *out, size_t size, const char *comment, uint32_t node, int64_t run,
                 const struct io_sums *sums);

#endif
