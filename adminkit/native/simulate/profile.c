/* profile.c - a step function as a sorted list in blocks, with the extremes of each block. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 64

struct sim_profile_block {
    int64_t time[BLOCK];
    int32_t free[BLOCK]; /* without the block's `more` */
    int32_t used;
};

/* ---- blocks ---- */

static bool grow(struct sim_profile *p) {
    size_t more = p->size ? 2 * p->size : 16;
    void *made;
#define GROW(member)                                                                                         \
    if (!(made = realloc(p->member, more * sizeof *p->member)))                                              \
        return false;                                                                                        \
    p->member = made;
    GROW(block)
    GROW(first)
    GROW(least) GROW(most) GROW(more)
#undef GROW
        p->size = more;
    return true;
}

#define SHIFT(member, to, from, n) memmove(p->member + (to), p->member + (from), (n) * sizeof *p->member)

static void shift_blocks(struct sim_profile *p, size_t to, size_t from) {
    size_t n = p->blocks - from;
    SHIFT(block, to, from, n);
    SHIFT(first, to, from, n);
    SHIFT(least, to, from, n);
    SHIFT(most, to, from, n);
    SHIFT(more, to, from, n);
    p->blocks = to + n;
}

static void measure(struct sim_profile *p, size_t at) {
    const struct sim_profile_block *block = p->block[at];
    int32_t least = block->free[0], most = least;
    for (int32_t i = 1; i < block->used; i++) {
        least = block->free[i] < least ? block->free[i] : least;
        most = block->free[i] > most ? block->free[i] : most;
    }
    p->first[at] = block->time[0];
    p->least[at] = least + p->more[at];
    p->most[at] = most + p->more[at];
}

bool sim_profile_new(struct sim_profile *p, int64_t start, int32_t procs) {
    *p = (struct sim_profile){0};
    struct sim_profile_block *block = malloc(sizeof *block);
    if (!block || !grow(p)) {
        free(block);
        sim_profile_free(p);
        return false;
    }
    block->used = 1;
    block->time[0] = start;
    block->free[0] = procs;
    p->block[0] = block;
    p->more[0] = 0;
    p->blocks = p->steps = 1;
    measure(p, 0);
    return true;
}

void sim_profile_free(struct sim_profile *p) {
    for (size_t i = 0; i < p->blocks; i++)
        free(p->block[i]);
    free(p->block);
    free(p->first);
    free(p->least);
    free(p->most);
    free(p->more);
    *p = (struct sim_profile){0};
}

/* The last of n sorted times that is not after `time`; the first, if all are. */
static size_t search(const int64_t *sorted, size_t n, int64_t time) {
    const int64_t *base = sorted;
    while (n > 1) {
        size_t half = n / 2;
        base += base[half] <= time ? half : 0;
        n -= half;
    }
    return (size_t)(base - sorted);
}

struct place {
    size_t block;
    int32_t step;
};

static struct place find(const struct sim_profile *p, int64_t time) {
    size_t at = search(p->first, p->blocks, time);
    return (struct place){at, (int32_t)search(p->block[at]->time, (size_t)p->block[at]->used, time)};
}

static bool split(struct sim_profile *p, size_t at) {
    if (p->blocks == p->size && !grow(p))
        return false;
    struct sim_profile_block *left = p->block[at], *right = malloc(sizeof *right);
    if (!right)
        return false;
    shift_blocks(p, at + 1, at);
    p->block[at + 1] = right;
    right->used = BLOCK / 2;
    left->used = BLOCK - BLOCK / 2;
    memcpy(right->time, left->time + left->used, (size_t)right->used * sizeof *right->time);
    memcpy(right->free, left->free + left->used, (size_t)right->used * sizeof *right->free);
    measure(p, at);
    measure(p, at + 1);
    return true;
}

/* ---- steps ---- */

/* Makes `time` the time of a step; block SIZE_MAX: no memory. */
static struct place cut(struct sim_profile *p, int64_t time) {
    struct place place = find(p, time);
    if (p->block[place.block]->time[place.step] == time)
        return place;
    if (p->block[place.block]->used == BLOCK) {
        if (!split(p, place.block))
            return (struct place){SIZE_MAX, 0};
        place = find(p, time);
    }
    struct sim_profile_block *block = p->block[place.block];
    size_t after = (size_t)(block->used++ - ++place.step);
    memmove(block->time + place.step + 1, block->time + place.step, after * sizeof *block->time);
    memmove(block->free + place.step + 1, block->free + place.step, after * sizeof *block->free);
    block->time[place.step] = time;
    block->free[place.step] = block->free[place.step - 1];
    p->steps++;
    return place;
}

static void remove_step(struct sim_profile *p, struct place place) {
    struct sim_profile_block *block = p->block[place.block];
    size_t after = (size_t)(--block->used - place.step);
    memmove(block->time + place.step, block->time + place.step + 1, after * sizeof *block->time);
    memmove(block->free + place.step, block->free + place.step + 1, after * sizeof *block->free);
    p->steps--;
    if (block->used) {
        measure(p, place.block);
        return;
    }
    free(block);
    shift_blocks(p, place.block, place.block + 1);
}

/* Removes the step at `time` when it does not differ from the one before. */
static void join(struct sim_profile *p, int64_t time) {
    struct place place = find(p, time), before = place;
    if (place.step)
        before.step--;
    else if (place.block)
        before = (struct place){place.block - 1, p->block[place.block - 1]->used - 1};
    else
        return;
    if (p->block[place.block]->free[place.step] + p->more[place.block] ==
        p->block[before.block]->free[before.step] + p->more[before.block])
        remove_step(p, place);
}

static void add(struct sim_profile *p, size_t at, int32_t from, int32_t to, int32_t procs) {
    struct sim_profile_block *block = p->block[at];
    for (int32_t i = from; i < to; i++)
        block->free[i] += procs;
    measure(p, at);
}

bool sim_profile_take(struct sim_profile *p, int64_t start, int64_t end, int32_t procs) {
    if (start >= end)
        return true;
    struct place to = cut(p, end);
    if (to.block == SIZE_MAX)
        return false;
    struct place from = cut(p, start);
    if (from.block == SIZE_MAX)
        return false;
    to = find(p, end);
    if (from.block == to.block) {
        add(p, from.block, from.step, to.step, -procs);
    } else {
        add(p, from.block, from.step, p->block[from.block]->used, -procs);
        for (size_t at = from.block + 1; at < to.block; at++) {
            p->more[at] -= procs;
            p->least[at] -= procs;
            p->most[at] -= procs;
        }
        add(p, to.block, 0, to.step, -procs);
    }
    join(p, end);
    join(p, start);
    return true;
}

int64_t sim_profile_earliest(const struct sim_profile *p, int64_t now, int64_t stop, int32_t procs,
                             int64_t seconds) {
    struct place place = find(p, now);
    int64_t found = now;
    bool fits = true;
    for (size_t at = place.block; at < p->blocks; at++, place.step = 0) {
        const struct sim_profile_block *block = p->block[at];
        int64_t first = block->time[place.step];
        if (fits && first > now && first >= found + seconds)
            return found;
        if (first >= stop)
            return fits ? found : stop;
        if (p->most[at] < procs) {
            fits = false;
            continue;
        }
        if (p->least[at] >= procs) {
            if (!fits)
                found = first;
            fits = true;
            continue;
        }
        const int32_t wanted = procs - p->more[at];
        for (int32_t i = place.step; i < block->used; i++) {
            const int64_t time = block->time[i];
            if (fits && time >= found + seconds)
                return found;
            if (time >= stop)
                return fits ? found : stop;
            if (block->free[i] < wanted) {
                fits = false;
            } else if (!fits) {
                fits = true;
                found = time;
            }
        }
    }
    return fits ? found : stop;
}

int32_t sim_profile_least(const struct sim_profile *p, int64_t start, int64_t end) {
    struct place place = find(p, start);
    int32_t least = INT32_MAX;
    for (size_t at = place.block; at < p->blocks && p->first[at] < end; at++, place.step = 0) {
        if (p->least[at] >= least)
            continue;
        const struct sim_profile_block *block = p->block[at];
        for (int32_t i = place.step; i < block->used && block->time[i] < end; i++)
            if (block->free[i] + p->more[at] < least)
                least = block->free[i] + p->more[at];
    }
    return least;
}

int64_t sim_profile_below(const struct sim_profile *p, int64_t now, int32_t procs) {
    struct place place = find(p, now);
    for (size_t at = place.block; at < p->blocks; at++, place.step = 0) {
        if (p->least[at] >= procs)
            continue;
        const struct sim_profile_block *block = p->block[at];
        for (int32_t i = place.step; i < block->used; i++)
            if (block->free[i] + p->more[at] < procs)
                return block->time[i] > now ? block->time[i] : now;
    }
    return INT64_MAX;
}

void sim_profile_forget(struct sim_profile *p, int64_t now) {
    while (p->blocks > 1 && p->first[1] <= now) {
        p->steps -= (size_t)p->block[0]->used;
        free(p->block[0]);
        shift_blocks(p, 0, 1);
    }
}
