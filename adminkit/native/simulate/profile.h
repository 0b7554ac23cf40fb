/* profile.h - how many processors are free, over time, by plan. Private to the models. */
#ifndef ADMINKIT_PROFILE_H
#define ADMINKIT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_profile_block;

/* A step function of time in blocks of steps; it goes on for ever as at its last step. */
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

/* Takes `procs` from start to end; below 0 gives back. False: no memory. */
bool sim_profile_take(struct sim_profile *profile, int64_t start, int64_t end, int32_t procs);
/* A step of a profile; nothing may be taken or forgotten between its making and its use. */
struct sim_cursor {
    size_t block;
    int32_t step;
};
struct sim_cursor sim_profile_at(const struct sim_profile *profile, int64_t time);

/* What a job wants: `procs` for `seconds`, where all are free from `stop` on. */
struct sim_want {
    int32_t procs;
    int64_t seconds, stop;
};

/* The first moment from `from` on at which a job may start, `stop` at the latest. The cursor is at `from`
 * before, and at the place where the search ended after, which is `stop` if it went as far. `least`: at least
 * as many are free until the job would end or `stop`. */
int64_t sim_profile_earliest(const struct sim_profile *profile, struct sim_cursor *cursor, int64_t from,
                             struct sim_want want, int32_t *least);
/* How many are free just before `time`, at which the cursor is, and which is not the first. */
int32_t sim_profile_before(const struct sim_profile *profile, struct sim_cursor cursor, int64_t time);
/* The fewest that are free from start to end. */
int32_t sim_profile_least(const struct sim_profile *profile, int64_t start, int64_t end);
/* The first moment from `now` on at which fewer than `procs` are free; INT64_MAX: none. */
int64_t sim_profile_below(const struct sim_profile *profile, int64_t now, int32_t procs);
/* What was before `now` is not asked for again. */
void sim_profile_forget(struct sim_profile *profile, int64_t now);

#endif
