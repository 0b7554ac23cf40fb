/* profile.c - a step function as a sorted list in blocks, with the extremes of each block. */
#include "profile_blocks.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct sim_profile *p) {
    size_t more = p->size ? 2 * p->size : 16;
    void *made;
#define GROW(member)                                                                                         \
    if (!(made = realloc(p->member, more * sizeof *p->member)))                                              \
        return false;                                                                                        \
    p->member = made;
    GROW(block)
    GROW(first)
    GROW(least)
    GROW(most)
    GROW(more)
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

struct sim_cursor sim_profile_at(const struct sim_profile *p, int64_t time) {
    size_t at = sim_last_of(p->first, p->blocks, time);
    return (struct sim_cursor){at,
                               (int32_t)sim_last_of(p->block[at]->time, (size_t)p->block[at]->used, time)};
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

/* Makes `time` the time of a step, which is near `near`, and says where it is. A step before it stays where
 * it is unless the blocks become more. *done: there was memory for it. */
static struct sim_cursor cut(struct sim_profile *p, int64_t time, struct sim_cursor near, bool *done) {
    struct sim_cursor place = sim_profile_near(p, time, near);
    *done = true;
    if (p->block[place.block]->time[place.step] == time)
        return place;
    if (p->block[place.block]->used == BLOCK) {
        if (!(*done = split(p, place.block)))
            return place;
        place = sim_profile_at(p, time);
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

/* Removes a step that does not differ from the one before. */
static void join(struct sim_profile *p, struct sim_cursor place) {
    struct sim_profile_block *block = p->block[place.block];
    if (!place.step && !place.block)
        return;
    const struct sim_profile_block *left = place.step ? block : p->block[place.block - 1];
    const int32_t more = place.step ? p->more[place.block] : p->more[place.block - 1];
    if (block->free[place.step] + p->more[place.block] !=
        left->free[place.step ? place.step - 1 : left->used - 1] + more)
        return;
    size_t after = (size_t)(--block->used - place.step);
    memmove(block->time + place.step, block->time + place.step + 1, after * sizeof *block->time);
    memmove(block->free + place.step, block->free + place.step + 1, after * sizeof *block->free);
    p->steps--;
    if (!block->used) {
        free(block);
        shift_blocks(p, place.block, place.block + 1);
    } else if (!place.step) {
        measure(p, place.block);
    }
}

/* Adds to the steps of a block from one to another. Measures the block whole only where an extreme may
 * have been among them. */
static void add(struct sim_profile *p, size_t at, int32_t from, int32_t to, int32_t procs) {
    struct sim_profile_block *block = p->block[at];
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int32_t i = from; i < to; i++) {
        const int32_t free = block->free[i] += procs;
        least = free < least ? free : least;
        most = free > most ? free : most;
    }
    if (from >= to)
        return;
    least += p->more[at];
    most += p->more[at];
    if ((procs > 0 && least - procs <= p->least[at]) || (procs < 0 && most - procs >= p->most[at])) {
        measure(p, at);
        return;
    }
    p->least[at] = least < p->least[at] ? least : p->least[at];
    p->most[at] = most > p->most[at] ? most : p->most[at];
}

bool sim_profile_take_near(struct sim_profile *p, struct sim_cursor near, int64_t start, int64_t end,
                           int32_t procs) {
    if (start >= end)
        return true;
    bool done;
    struct sim_cursor from = cut(p, start, near, &done);
    const size_t blocks = p->blocks;
    const struct sim_cursor to = done ? cut(p, end, from, &done) : from;
    if (!done)
        return false;
    if (p->blocks > blocks)
        from = sim_profile_at(p, start);
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
    join(p, to);
    join(p, from);
    return true;
}

bool sim_profile_take(struct sim_profile *p, int64_t start, int64_t end, int32_t procs) {
    return sim_profile_take_near(p, sim_profile_at(p, start), start, end, procs);
}

void sim_profile_forget(struct sim_profile *p, int64_t now) {
    while (p->blocks > 1 && p->first[1] <= now) {
        p->steps -= (size_t)p->block[0]->used;
        free(p->block[0]);
        shift_blocks(p, 0, 1);
    }
    struct sim_profile_block *block = p->block[0];
    const size_t past = sim_last_of(block->time, (size_t)block->used, now);
    if (past) {
        block->used -= (int32_t)past;
        p->steps -= past;
        memmove(block->time, block->time + past, (size_t)block->used * sizeof *block->time);
        memmove(block->free, block->free + past, (size_t)block->used * sizeof *block->free);
    }
    block->time[0] = now;
    measure(p, 0);
}
