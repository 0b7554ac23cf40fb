/* index.h - the part of a data set's index that staging needs: its shards
 * (docs/adr/0028-shards-and-index.md). Pure.
 *
 * The index is its owner's text, who may be hostile: what is not exactly as adminkit writes it is refused. */
#ifndef ADMINKIT_DATA_INDEX_H
#define ADMINKIT_DATA_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DA_INDEX "index.tsv"
#define DA_SHARDS 65536
#define DA_NAME_SIZE 16 /* 999999999.tar */
#define DA_SHA_SIZE 65
#define DA_HEAD_MOST (DA_SHARDS * 128 + 4096) /* bytes up to the end of the last shard's line */

struct da_shard {
    char name[DA_NAME_SIZE]; /* digits and .tar: neither a slash nor a name that leads out of the folder */
    char sha[DA_SHA_SIZE];   /* SHA-256, in lower case */
    uint64_t size;           /* bytes; 1 to 2^62 */
};

/* Reads the head of an index, text[size], which may be longer. Returns the shards, of which there is
 * at least one, and their count; free() them. NULL: `why` says what is wrong, also where there is no memory.
 */
struct da_shard *da_index_read(const char *text, size_t size, uint32_t *count, const char **why);

#endif
