/* slurm_memo.c - what will-run tests found. In a pass of backfill jobs that ask for the same follow each
 * other, and most of their tests are those of the job before. */
#include "slurm_backfill.h"

#include <stdlib.h>
#include <string.h>

#define MEMOS 1024

/* A test and what came of it; its set and the nodes it found are beside it. */
struct slurm_memo {
    uint64_t states; /* those of the model: no job started, ended or came since */
    size_t shape;
    int64_t now, start, later, when;
    bool noreserve, found, filled;
};

bool slurm_memos_open(struct slurm *m, struct slurm_memos *memos) {
    memos->memo = calloc(MEMOS, sizeof *memos->memo);
    memos->set = malloc(2 * MEMOS * m->words * sizeof *memos->set);
    return memos->memo && memos->set;
}

void slurm_memos_close(struct slurm_memos *memos) {
    free(memos->memo);
    free(memos->set);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct slurm *m, const struct slurm_memo *asked, const slurm_word *set) {
    uint64_t hash =
        mix(mix(mix(asked->shape, (uint64_t)asked->start), (uint64_t)asked->later), asked->noreserve);
    for (size_t i = 0; i < m->words; i++)
        hash = mix(hash, set[i]);
    return hash;
}

bool slurm_willrun_once(struct slurm *m, struct slurm_memos *memos, const struct slurm_test *test,
                        int64_t *when, slurm_word *nodes) {
    const struct slurm_memo asked = {.states = m->states,
                                     .shape = (size_t)(test->shape - m->shape),
                                     .now = test->now,
                                     .start = test->start,
                                     .later = test->later,
                                     .noreserve = test->noreserve};
    const size_t at = hash_of(m, &asked, test->set) % MEMOS, bytes = m->words * sizeof *nodes;
    struct slurm_memo *memo = &memos->memo[at];
    slurm_word *set = memos->set + 2 * at * m->words, *found = set + m->words;
    const bool same = memo->filled && memo->states == asked.states && memo->shape == asked.shape &&
                      memo->now == asked.now && memo->start == asked.start && memo->later == asked.later &&
                      memo->noreserve == asked.noreserve && memcmp(set, test->set, bytes) == 0;
    if (!same) {
        *memo = asked;
        memo->filled = true;
        memcpy(set, test->set, bytes);
        memo->found = slurm_willrun(m, test, &memo->when);
        memset(found, 0, bytes);
        for (size_t i = 0; memo->found && i < m->npicked; i++)
            slurm_put(found, (size_t)m->picked[i].node);
    }
    *when = memo->when;
    memcpy(nodes, found, bytes);
    return memo->found;
}
