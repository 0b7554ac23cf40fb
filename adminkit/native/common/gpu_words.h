/* gpu_words.h - the words of a TRES or GRES text that name GPUs: whole ones, slices of MIG, shards, MPS.
 * Private to this folder; adminkit/gres.py says the same in Python, tests/data/gres_words.tsv has the cases.
 */
#ifndef ADMINKIT_GPU_WORDS_H
#define ADMINKIT_GPU_WORDS_H

#include "fields.h"

#define AK_MAX_TYPES 16

/* In the order of their words in gpu_parts: mps, shard, slice. */
enum ak_gpu_sort { AK_MPS, AK_SHARD, AK_GPU, AK_GPU_SORTS };

struct ak_gpu_words {
    int64_t typed[AK_GPU_SORTS]; /* all of a type together */
    int64_t bare[AK_GPU_SORTS];  /* those without a type; in TRES, which has a total, all */
    bool has_bare[AK_GPU_SORTS];
    bool unreadable; /* a word that names GPUs has no count or type that can be read */
    int types;
    struct ak_gpu_type {
        enum ak_gpu_sort sort;
        struct ak_slice name;
        int64_t count;
    } type[AK_MAX_TYPES]; /* sorted by sort and name, each with a count */
};

static inline void ak_gpu_words_init(struct ak_gpu_words *words) {
    memset(words, 0, offsetof(struct ak_gpu_words, type));
}

/* Digits, then K M G T P for powers of 1024. Anything else, and Slurm's numbers for "unset", make `words`
 * unreadable.
 */
bool ak_gpu_count(struct ak_gpu_words *words, struct ak_slice s, int64_t *count);
/* Counts `count` more of a type. AK_TOO_LARGE: a sum of more than 63 bits, or more than AK_MAX_TYPES. */
enum ak_fault ak_gpu_add(struct ak_gpu_words *words, enum ak_gpu_sort sort, struct ak_slice name,
                         int64_t count);
/* Makes the totals those without a type. */
void ak_gpu_totals(struct ak_gpu_words *words);
/* GPUs that are whole, their types, and the words of what is not whole; the texts may be put into `scratch`.
 * Shards and MPS that come with GPUs are those GPUs' own, and not counted. */
enum ak_fault ak_gpu_cells(const struct ak_gpu_words *words, struct ak_cell *gpus, struct ak_cell *types,
                           struct ak_cell *parts, char *scratch, size_t *used);
/* The length of gres/NAME… before = or :, and which GPUs' name it is; 0: of none. */
size_t ak_gpu_name(struct ak_slice left, enum ak_gpu_sort *sort);
/* A count of what has a name that ends with =: gres/gpu=, gres/gpu:a100=; nothing where that does not name a
 * GPU. */
enum ak_fault ak_gpu_number(struct ak_slice name, struct ak_slice value, struct ak_gpu_words *words);
/* Whether this type of GPU is a slice of MIG. */
bool ak_is_mig(struct ak_slice type);

#endif
