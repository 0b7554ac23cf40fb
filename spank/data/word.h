/* clang-format off */
/* word.h - the word that says in AdminComment what was copied to a node for a job. docs/comment-words.md has its grammar,
 * and docs/staging.md who reads it. Pure.
 *
 *     st1:at=1790000000,node=0,bytes=1073741824,hit=0,s=12,mode=first
 *
 * Each node has its word, and replaces its own only. */
/* clang-format on */
#ifndef ADMINKIT_DATA_WORD_H
#define ADMINKIT_DATA_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define DA_WORD_NODES 8 /* nodes of a job that leave a word, so that others' words have room */

/* Writes to out[size] the comment with this node's word in place of its former one, or at the end; words of
 * an earlier run, which began before `run`, are taken out. False: nothing was copied or found here, or there
 * is no room, and out is "". */
bool da_word_put(char *out, size_t size, const char *comment, const struct da_record *record, uint32_t node,
                 int64_t run);

#endif
