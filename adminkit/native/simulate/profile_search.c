/* profile_search.c - questions to a profile: where there is room for a job, how much is free and when. */
#include "profile_blocks.h"

/* A search, so far: from `found` on there is room, if it `fits`, and enough of it before `enough`. */
struct start {
    int64_t seconds, stop, found, enough;
    int32_t procs, least;
    bool fits;
    struct sim_cursor place; /* of `found` */
};

/* Room begins with this step. */
static void begin(struct start *start, struct sim_cursor place, int64_t time) {
    start->fits = true;
    start->found = time;
    start->enough = time + start->seconds;
    start->least = INT32_MAX;
    start->place = place;
}

/* Moves to the first step of the block which is not before `stop`, or at which a job that fits may end;
 * false: there is none in it. */
static bool scan(const struct sim_profile *p, struct sim_cursor *at, struct start *start) {
    const struct sim_profile_block *block = p->block[at->block];
    const int32_t more = p->more[at->block], procs = start->procs - more, used = block->used;
    for (int32_t step = at->step;; step++) {
        if (!start->fits) {
            while (step < used && block->free[step] < procs && block->time[step] < start->stop)
                step++;
            at->step = step;
            if (step == used || block->time[step] >= start->stop)
                return step < used;
            begin(start, *at, block->time[step]);
        }
        const int64_t end = start->enough < start->stop ? start->enough : start->stop;
        int64_t least = (int64_t)start->least - more;
        for (; step < used && block->free[step] >= procs && block->time[step] < end; step++)
            least = block->free[step] < least ? block->free[step] : least;
        start->least = (int32_t)(least + more);
        at->step = step;
        if (step == used || block->time[step] >= end)
            return step < used;
        start->fits = false;
    }
}

/* Goes over a block in which all have room, or none. False: a job that fits may end in it. */
static bool pass_over(const struct sim_profile *p, struct sim_cursor at, bool room, struct start *start) {
    const int64_t time = p->block[at.block]->time[at.step];
    if (start->fits && time >= start->enough)
        return false;
    if (room && !start->fits)
        begin(start, at, time);
    start->fits = room;
    start->least = p->least[at.block] < start->least ? p->least[at.block] : start->least;
    return true;
}

/* Where the walk over the steps ends. */
static struct sim_cursor walk(const struct sim_profile *p, struct sim_cursor at, struct start *start) {
    for (; at.block < p->blocks; at.block++, at.step = 0) {
        const bool none = p->most[at.block] < start->procs, all = p->least[at.block] >= start->procs;
        if ((none || all) && at.block + 1 < p->blocks && p->first[at.block + 1] < start->stop) {
            if (pass_over(p, at, all, start))
                continue;
            break;
        }
        if (scan(p, &at, start))
            break;
    }
    if (at.block == p->blocks) /* its last step lasts for ever */
        return (struct sim_cursor){(uint32_t)p->blocks - 1, p->block[p->blocks - 1]->used - 1};
    if (p->block[at.block]->time[at.step] <= start->stop)
        return at;
    return at.step ? (struct sim_cursor){at.block, at.step - 1}
                   : (struct sim_cursor){at.block - 1, p->block[at.block - 1]->used - 1};
}

void sim_profile_walk(const struct sim_profile *p, struct sim_search *search) {
    const int64_t from = search->at, stop = search->stop;
    struct start start = {search->seconds, stop,      from, from + search->seconds,
                          search->procs,   INT32_MAX, true, search->start};
    search->end = walk(p, search->start, &start);
    search->at = start.fits ? start.found : stop;
    search->start = start.fits ? start.place : search->end;
    search->least = start.least;
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
