/* profile_blocks.h - what the files of a profile know of its blocks, and how they find a step. */
#ifndef ADMINKIT_PROFILE_BLOCKS_H
#define ADMINKIT_PROFILE_BLOCKS_H

#include "profile.h"

#define BLOCK 64

struct sim_profile_block {
    int64_t time[BLOCK];
    int32_t free[BLOCK]; /* without the block's `more` */
    int32_t used;
};

/* The last of n sorted times that is not after `time`; the first, if all are. */
static inline size_t sim_last_of(const int64_t *sorted, size_t n, int64_t time) {
    const int64_t *base = sorted;
    while (n > 1) {
        size_t half = n / 2;
        base += base[half] <= time ? half : 0;
        n -= half;
    }
    return (size_t)(base - sorted);
}

/* The step in force at `time`: sooner found where it is near the hint, which may be of an earlier state of
 * the profile. */
static inline struct sim_cursor sim_profile_near(const struct sim_profile *p, int64_t time,
                                                 struct sim_cursor hint) {
    enum { FAR = 8 };
    uint32_t at = hint.block;
    if (at >= p->blocks || p->first[at] > time)
        return sim_profile_at(p, time);
    for (int passed = 0; at + 1 < p->blocks && p->first[at + 1] <= time; at++)
        if (++passed > FAR)
            return sim_profile_at(p, time);
    const struct sim_profile_block *block = p->block[at];
    int32_t step = at == hint.block ? hint.step : 0;
    if (step >= block->used)
        step = block->used - 1;
    if (block->time[step] > time) { /* the first one is not after it */
        for (int passed = 0; passed < FAR; passed++)
            if (block->time[--step] <= time)
                return (struct sim_cursor){at, step};
    } else {
        for (int passed = 0; passed < FAR; passed++, step++)
            if (step + 1 == block->used || block->time[step + 1] > time)
                return (struct sim_cursor){at, step};
    }
    return (struct sim_cursor){at, (int32_t)sim_last_of(block->time, (size_t)block->used, time)};
}

/* How many are free just before `time`, at which the cursor is, and which is not the first. */
static inline int32_t sim_profile_before(const struct sim_profile *p, struct sim_cursor cursor,
                                         int64_t time) {
    const struct sim_profile_block *block = p->block[cursor.block];
    if (block->time[cursor.step] < time)
        return block->free[cursor.step] + p->more[cursor.block];
    if (cursor.step)
        return block->free[cursor.step - 1] + p->more[cursor.block];
    block = p->block[cursor.block - 1];
    return block->free[block->used - 1] + p->more[cursor.block - 1];
}

/* Searches for the first moment with room; the second does what the first need not. */
void sim_profile_walk(const struct sim_profile *profile, struct sim_search *search);
static inline void sim_profile_earliest(const struct sim_profile *p, struct sim_search *search) {
    const int64_t stop = search->stop;
    if (stop <= search->at + search->seconds) { /* whoever starts earlier is there just before `stop` */
        const struct sim_cursor end = sim_profile_near(p, stop, search->start);
        if (stop <= search->at || sim_profile_before(p, end, stop) < search->procs) {
            search->at = stop;
            search->end = end;
            search->start = end;
            return;
        }
    }
    sim_profile_walk(p, search);
}

#endif
