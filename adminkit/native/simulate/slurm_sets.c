/* slurm_sets.c - sets of nodes, and a shelf on which equal ones stand once. */
#include "slurm_model.h"

#include <stdlib.h>
#include <string.h>

bool slurm_within(const struct slurm *m, const slurm_word *set, const slurm_word *of) {
    for (size_t i = 0; i < m->words; i++)
        if (set[i] & ~of[i])
            return false;
    return true;
}

bool slurm_meets(const struct slurm *m, const slurm_word *a, const slurm_word *b) {
    for (size_t i = 0; i < m->words; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

/* Without a compiler's function, which is a call where the processor's own instruction may not be there. */
static size_t bits(slurm_word word) {
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return word * UINT64_C(0x0101010101010101) >> 56;
}

bool slurm_has(const struct slurm *m, const slurm_word *set, size_t least) {
    size_t n = 0;
    for (size_t i = 0; i < m->words && n < least; i++)
        n += bits(set[i]);
    return n >= least;
}

size_t slurm_keep_set(struct slurm *m, const slurm_word *set) {
    struct slurm_sets *sets = &m->sets;
    for (size_t i = 0; i < sets->n; i++)
        if (memcmp(sets->word + i * m->words, set, m->words * sizeof *set) == 0)
            return i;
    if (sets->n == sets->room && !slurm_grow(m, &sets->word, &sets->room, m->words * sizeof *set))
        return 0;
    memcpy(sets->word + sets->n * m->words, set, m->words * sizeof *set);
    return sets->n++;
}
