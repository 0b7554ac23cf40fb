/* profile.h - how many processors are free, over time, by plan. Private to the models. */
#ifndef ADMINKIT_PROFILE_H
#define ADMINKIT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_profile_block;

/* A step function of time in blocks of steps; its last step lasts for ever. */
struct sim_profile {
    struct sim_profile_block **block;
    int64_t *first;        /* the time of each block's first step */
    int32_t *least, *most; /* free in each block */
    int32_t *more;         /* to be added to all of a block */
    size_t blocks, size, steps;
};

/* `procs` are free from `start` on. False: no memory. sim_profile_free takes a zeroed one, too. */
bool sim_profile_new(struct sim_profile *profile, int64_t start, int32_t procs);
void sim_profile_free(struct sim_profile *profile);

/* A step of a profile; nothing may be taken or forgotten between its making and its use. */
struct sim_cursor {
    uint32_t block;
    int32_t step;
};
struct sim_cursor sim_profile_at(const struct sim_profile *profile, int64_t time);

/* Takes `procs` from start to end; below 0 gives back. False: no memory. */
bool sim_profile_take(struct sim_profile *profile, int64_t start, int64_t end, int32_t procs);
/* The same, sooner done where the step in force at `start` is at this place or near it. */
bool sim_profile_take_near(struct sim_profile *profile, struct sim_cursor near, int64_t start, int64_t end,
                           int32_t procs);

/* A search for room. Given: what a job wants, and since when. */
struct sim_search {
    int32_t procs;
    int64_t seconds, stop;   /* all are free from `stop` on */
    int64_t at;              /* not before this; after the search the first moment, `stop` at the latest */
    struct sim_cursor start; /* at it, before and after */
    struct sim_cursor end;   /* where the search ended: at `stop`, if it went as far */
    int32_t least;           /* at least as many are free until the job would end, or `stop` */
};
/* The fewest that are free from start to end. */
int32_t sim_profile_least(const struct sim_profile *profile, int64_t start, int64_t end);
/* The first moment from `now` on at which fewer than `procs` are free; INT64_MAX: none. */
int64_t sim_profile_below(const struct sim_profile *profile, int64_t now, int32_t procs);
/* What was before `now` is not asked for again. */
void sim_profile_forget(struct sim_profile *profile, int64_t now);

#endif
