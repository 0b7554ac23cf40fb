/* pool.h - what the plain models share: jobs that take processors of one pool, and the order of their queue.
 */
#ifndef ADMINKIT_SIMULATE_POOL_H
#define ADMINKIT_SIMULATE_POOL_H

#include "ends.h"
#include "workload.h"

/* A job that fits the pool. Its place is its number by (submit, id); behind them are those that follow
 * others. */
struct sim_task {
    int64_t submit;
    int32_t procs;
    int32_t plan; /* what its start plans with, seconds, > 0 */
    int32_t job;  /* of sim->job */
};

/* An order of all jobs: a job's rank is its number in it. Where jobs follow others, it is known once the job
 * has come: jobs that are equal share ranks until then. */
struct sim_ranks {
    int32_t *place; /* of a rank */
    int32_t *rank;  /* of a place */
    int32_t *
        equal; /* of a place: the least rank of the jobs that are equal to it; NULL: no job follows another */
    int32_t *came; /* of such a rank: how many of them have come */
};

struct sim_pool {
    struct sim *sim;
    struct sim_task *task; /* by place */
    int32_t tasks;
    int32_t firsts;    /* places of jobs that follow no other */
    int32_t *place_of; /* of a job that follows another; NULL: none does */
    int32_t next;      /* the place of the next submission among the firsts */
    int32_t free;      /* processors that no plan holds now: the model counts them */
    struct sim_ends ends;
    int64_t outlived; /* how many jobs outlived their plan */
};

/* False: sim->error. sim_pool_free takes a zeroed pool, too. */
bool sim_pool_new(struct sim_pool *pool, struct sim *sim);
void sim_pool_free(struct sim_pool *pool);
/* Says that there was no memory; always false. */
bool sim_no_memory(struct sim *sim);

/* Ranks by an order of the queue; by need is by (plan, submit, id). False: no memory. */
bool sim_ranks_new(struct sim_ranks *ranks, const struct sim_pool *pool, enum sim_order order);
void sim_ranks_free(struct sim_ranks *ranks);
/* The job of this place has come. */
static inline void sim_ranks_come(struct sim_ranks *ranks, int32_t place) {
    if (ranks->equal) {
        const int32_t least = ranks->equal[place];
        ranks->rank[place] = least + ranks->came[least]++;
        ranks->place[ranks->rank[place]] = place;
    }
}

/* Starts the job: it takes its processors, and its end, or the moment at which it outlives its plan, is
 * noted. False: no memory. */
bool sim_pool_start(struct sim_pool *pool, int32_t place, int64_t now);

enum sim_event_kind { SIM_NO_EVENT, SIM_SUBMITTED, SIM_ENDED, SIM_OUTLIVED };

struct sim_event {
    enum sim_event_kind kind;
    int32_t place;
    int64_t time;
};

/* What happens next. At the same time jobs outlive their plans first, then submissions come, by place, then
 * ends, by the order of starts. SIM_NO_EVENT: all is done. */
struct sim_event sim_pool_event(struct sim_pool *pool);
/* When that is; INT64_MAX: all is done. */
int64_t sim_pool_next(struct sim_pool *pool);

/* When the plan of a job's start ends it; when its limit does, with which one plans once it outlived the
 * plan; and the one that was in force when it ended. */
int64_t sim_planned_end(const struct sim_pool *pool, int32_t place);
int64_t sim_corrected_end(const struct sim_pool *pool, int32_t place);
int64_t sim_expected_end(const struct sim_pool *pool, int32_t place);

#endif
