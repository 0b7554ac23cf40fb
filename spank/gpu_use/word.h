/* clang-format off */
/* word.h - the word that says in AdminComment how busy the job's GPUs are. docs/comment-words.md has its grammar, and
 * docs/gpu-use.md who reads it.
 *
 *     gu1:at=1790000000,to=1790003600,node=0,gpus=2,s=7200,busy=5184,used=2,last=1790003600,mem=61000,of=163840
 *
 * Each node has its word, and replaces its own only. Two nodes that write at the same time may lose one of their words,
 * which is there again after the next writing. */
/* clang-format on */
#ifndef ADMINKIT_GPU_USE_WORD_H
#define ADMINKIT_GPU_USE_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "sums.h"

/* Writes to out[size] the comment with what was measured on a node in place of that node's word, or at
 * the end; words of an earlier run are taken out. False: nothing was measured, or there is no room, and out
 * is "". */
bool gu_word_put(char *out, size_t size, const char *comment, const struct gu_sums *sums);

#endif
