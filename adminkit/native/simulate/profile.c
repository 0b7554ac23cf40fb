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

struct sim_cursor sim_profile_at(const struct sim_profile *p, int64_t time) {
    size_t at = search(p->first, p->blocks, time);
    return (struct sim_cursor){at, (int32_t)search(p->block[at]->time, (size_t)p->block[at]->used, time)};
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

/* Makes `time` the time of a step, which is at *place then; a step before it stays where it is unless the
 * blocks become more. False: no memory. */
static bool cut(struct sim_profile *p, int64_t time, struct sim_cursor *place) {
    *place = sim_profile_at(p, time);
    if (p->block[place->block]->time[place->step] == time)
        return true;
    if (p->block[place->block]->used == BLOCK) {
        if (!split(p, place->block))
            return false;
        *place = sim_profile_at(p, time);
    }
    struct sim_profile_block *block = p->block[place->block];
    size_t after = (size_t)(block->used++ - ++place->step);
    memmove(block->time + place->step + 1, block->time + place->step, after * sizeof *block->time);
    memmove(block->free + place->step + 1, block->free + place->step, after * sizeof *block->free);
    block->time[place->step] = time;
    block->free[place->step] = block->free[place->step - 1];
    p->steps++;
    return true;
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

/* Adds to the steps of a block from one to another, or to its end. */
static void add(struct sim_profile *p, size_t at, int32_t from, int32_t to, int32_t procs) {
    struct sim_profile_block *block = p->block[at];
    for (int32_t i = from; i < to; i++)
        block->free[i] += procs;
    measure(p, at);
}

bool sim_profile_take(struct sim_profile *p, int64_t start, int64_t end, int32_t procs) {
    if (start >= end)
        return true;
    struct sim_cursor from, to;
    if (!cut(p, start, &from))
        return false;
    const size_t blocks = p->blocks;
    if (!cut(p, end, &to))
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

int32_t sim_profile_before(const struct sim_profile *p, struct sim_cursor cursor, int64_t time) {
    const struct sim_profile_block *block = p->block[cursor.block];
    if (block->time[cursor.step] < time)
        return block->free[cursor.step] + p->more[cursor.block];
    if (cursor.step)
        return block->free[cursor.step - 1] + p->more[cursor.block];
    block = p->block[cursor.block - 1];
    return block->free[block->used - 1] + p->more[cursor.block - 1];
}

/* The step in force at `time`, which is not before the cursor's. */
static struct sim_cursor seek(const struct sim_profile *p, struct sim_cursor from, int64_t time) {
    size_t at = from.block;
    while (at + 1 < p->blocks && p->first[at + 1] <= time)
        at++;
    return (struct sim_cursor){at, (int32_t)search(p->block[at]->time, (size_t)p->block[at]->used, time)};
}

/* A search for a start, so far: from `found` on there is room, if it `fits`, and enough of it before
 * `enough`. */
struct start {
    struct sim_want want;
    int64_t found, enough, least;
    bool fits;
};

/* The first step of a block from `step` on which is not before `stop`, or at which a job that fits may end;
 * its number of steps: none. */
static int32_t scan(const struct sim_profile_block *block, int32_t step, int32_t more, struct start *start) {
    const int32_t procs = start->want.procs - more, used = block->used;
    for (;; step++) {
        if (!start->fits) {
            while (step < used && block->free[step] < procs && block->time[step] < start->want.stop)
                step++;
            if (step == used || block->time[step] >= start->want.stop)
                return step;
            start->fits = true;
            start->found = block->time[step];
            start->enough = start->found + start->want.seconds;
            start->least = INT32_MAX;
        }
        const int64_t end = start->enough < start->want.stop ? start->enough : start->want.stop;
        int64_t least = start->least - more;
        for (; step < used && block->free[step] >= procs && block->time[step] < end; step++)
            least = block->free[step] < least ? block->free[step] : least;
        start->least = least + more;
        if (step == used || block->time[step] >= end)
            return step;
        start->fits = false;
    }
}

/* Goes over a block in which all have room, or none. False: a job that fits may end in it. */
static bool pass_over(const struct sim_profile *p, struct sim_cursor at, bool room, struct start *start) {
    const int64_t time = p->block[at.block]->time[at.step];
    if (start->fits && time >= start->enough)
        return false;
    if (room && !start->fits) {
        start->found = time;
        start->enough = time + start->want.seconds;
        start->least = INT32_MAX;
    }
    start->fits = room;
    start->least = p->least[at.block] < start->least ? p->least[at.block] : start->least;
    return true;
}

int64_t sim_profile_earliest(const struct sim_profile *p, struct sim_cursor *cursor, int64_t from,
                             struct sim_want want, int32_t *least) {
    struct start start = {want, from, from + want.seconds, INT32_MAX, true};
    struct sim_cursor at = *cursor;
    if (want.stop <= start.enough) { /* whoever starts earlier is there just before `stop` */
        *cursor = seek(p, at, want.stop);
        if (want.stop <= from || sim_profile_before(p, *cursor, want.stop) < want.procs)
            return want.stop;
    }
    for (; at.block < p->blocks; at.block++, at.step = 0) {
        const struct sim_profile_block *block = p->block[at.block];
        const bool none = p->most[at.block] < want.procs, all = p->least[at.block] >= want.procs;
        if ((none || all) && at.block + 1 < p->blocks && p->first[at.block + 1] < want.stop) {
            if (pass_over(p, at, all, &start))
                continue;
            break;
        }
        at.step = scan(block, at.step, p->more[at.block], &start);
        if (at.step < block->used)
            break;
    }
    if (at.block == p->blocks) /* it goes on for ever as at its last step */
        at = (struct sim_cursor){p->blocks - 1, p->block[p->blocks - 1]->used - 1};
    else if (p->block[at.block]->time[at.step] > want.stop)
        at = at.step ? (struct sim_cursor){at.block, at.step - 1}
                     : (struct sim_cursor){at.block - 1, p->block[at.block - 1]->used - 1};
    *cursor = at;
    *least = (int32_t)start.least;
    return start.fits ? start.found : want.stop;
}

int32_t sim_profile_least(const struct sim_profile *p, int64_t start, int64_t end) {
    struct sim_cursor place = sim_profile_at(p, start);
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
    struct sim_cursor place = sim_profile_at(p, now);
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
    struct sim_profile_block *block = p->block[0];
    const size_t past = search(block->time, (size_t)block->used, now);
    if (past) {
        block->used -= (int32_t)past;
        p->steps -= past;
        memmove(block->time, block->time + past, (size_t)block->used * sizeof *block->time);
        memmove(block->free, block->free + past, (size_t)block->used * sizeof *block->free);
    }
    block->time[0] = now;
    measure(p, 0);
}
