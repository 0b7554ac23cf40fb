/* pool.c - one pool of processors, and what happens to it in the order of time. */
#include "pool.h"
#include "follow.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

#define AHEAD 8 /* jobs that are brought into the cache before their turn */

bool sim_no_memory(struct sim *sim) {
    snprintf(sim->error, sizeof sim->error, "out of memory for %zu jobs", sim->jobs);
    return false;
}

static int32_t plan_of(const struct sim_job *job) {
    return job->plan != SIM_NONE ? job->plan : job->limit != SIM_NONE ? job->limit : job->run;
}

static bool add(struct sim_pool *pool, int32_t number) {
    const struct sim_job *job = &pool->sim->job[number];
    if (job->procs <= 0 || job->procs > pool->free)
        return false;
    pool->task[pool->tasks++] = (struct sim_task){job->submit, job->procs, plan_of(job), number};
    return true;
}

bool sim_pool_new(struct sim_pool *pool, struct sim *sim) {
    *pool = (struct sim_pool){.sim = sim};
    if (sim->set.procs >= INT32_MAX) {
        snprintf(sim->error, sizeof sim->error, "procs must be below %d", INT32_MAX);
        return false;
    }
    pool->free = (int32_t)sim->set.procs;
    const size_t most = sim->followers ? sim->jobs : sim->turns;
    pool->task = malloc((most + 1) * sizeof *pool->task);
    pool->place_of = sim->followers ? malloc(sim->jobs * sizeof *pool->place_of) : NULL;
    if (!pool->task || (sim->followers && !pool->place_of))
        return sim_no_memory(sim);
    for (size_t i = 0; i < sim->turns; i++)
        add(pool, sim->turn[i]);
    pool->firsts = pool->tasks;
    for (size_t i = 0; pool->place_of && i < sim->jobs; i++) {
        pool->place_of[i] = SIM_NONE;
        if (sim->job[i].after != SIM_NONE && add(pool, (int32_t)i))
            pool->place_of[i] = pool->tasks - 1;
    }
    return true;
}

void sim_pool_free(struct sim_pool *pool) {
    free(pool->task);
    free(pool->place_of);
    sim_ends_free(&pool->ends);
    *pool = (struct sim_pool){0};
}

/* What the order goes by, the least first. */
static uint32_t key(const struct sim_pool *pool, int32_t place, enum sim_order order) {
    if (order == SIM_BY_NEED)
        return (uint32_t)pool->task[place].plan;
    return (uint32_t)INT32_MAX - (uint32_t)pool->sim->job[pool->task[place].job].priority;
}

/* Jobs with equal keys share ranks. */
static bool share_ranks(struct sim_ranks *ranks, const struct sim_pool *pool, enum sim_order order) {
    const size_t n = (size_t)pool->tasks;
    ranks->equal = malloc((n + 1) * sizeof *ranks->equal);
    ranks->came = calloc(n + 1, sizeof *ranks->came);
    if (!ranks->equal || !ranks->came)
        return false;
    int32_t least = 0;
    for (int32_t rank = 0; rank < pool->tasks; rank++) {
        const int32_t place = ranks->place[rank], first = ranks->place[least];
        if (order != SIM_BY_SUBMIT && key(pool, place, order) != key(pool, first, order))
            least = rank;
        ranks->equal[place] = least;
    }
    return true;
}

bool sim_ranks_new(struct sim_ranks *ranks, const struct sim_pool *pool, enum sim_order order) {
    const int32_t n = pool->tasks;
    int32_t *place = malloc(((size_t)n + 1) * sizeof *place),
            *other = malloc(((size_t)n + 1) * sizeof *other);
    *ranks = (struct sim_ranks){.place = place, .rank = other};
    if (!place || !other)
        return false;
    for (int32_t i = 0; i < n; i++)
        place[i] = i;
    /* By counting, eleven bits at a time, the lowest first: equal keys stay in the order of their places. */
    for (int shift = 0; order != SIM_BY_SUBMIT && shift < 33; shift += 11) {
        int32_t first[2048 + 1] = {0};
        for (int32_t i = 0; i < n; i++)
            first[(key(pool, i, order) >> shift & 2047) + 1]++;
        for (int i = 0; i < 2048; i++)
            first[i + 1] += first[i];
        for (int32_t i = 0; i < n; i++)
            other[first[key(pool, place[i], order) >> shift & 2047]++] = place[i];
        int32_t *swap = place;
        place = other;
        other = swap;
    }
    *ranks = (struct sim_ranks){.place = place, .rank = other};
    for (int32_t i = 0; i < n; i++)
        other[place[i]] = i;
    return !pool->place_of || share_ranks(ranks, pool, order);
}

void sim_ranks_free(struct sim_ranks *ranks) {
    free(ranks->place);
    free(ranks->rank);
    free(ranks->equal);
    free(ranks->came);
    *ranks = (struct sim_ranks){0};
}

int64_t sim_planned_end(const struct sim_pool *pool, int32_t place) {
    const struct sim_task *task = &pool->task[place];
    return pool->sim->job[task->job].start + task->plan;
}

int64_t sim_corrected_end(const struct sim_pool *pool, int32_t place) {
    const struct sim_job *job = &pool->sim->job[pool->task[place].job];
    return job->limit != SIM_NONE ? job->start + job->limit : job->end;
}

int64_t sim_expected_end(const struct sim_pool *pool, int32_t place) {
    const int64_t planned = sim_planned_end(pool, place);
    return pool->sim->job[pool->task[place].job].end > planned ? sim_corrected_end(pool, place) : planned;
}

bool sim_pool_start(struct sim_pool *pool, int32_t place, int64_t now) {
    const struct sim_task *task = &pool->task[place];
    const struct sim_job *job = &pool->sim->job[task->job];
    int64_t end = sim_start(pool->sim, &pool->sim->job[task->job], now), planned = now + task->plan;
    uint32_t order = (uint32_t)job->order;
    sim_ended(pool->sim, job);
    pool->free -= task->procs;
    if (planned < end)
        return sim_ends_add(&pool->ends, (struct sim_end){planned, order, place});
    return sim_ends_add(&pool->ends, (struct sim_end){end, order | SIM_ENDS, place});
}

/* The place of the job that comes next; SIM_NONE: all have come. */
static int32_t comes_next(struct sim_pool *pool) {
    if (!pool->place_of)
        return pool->next < pool->firsts ? pool->next : SIM_NONE;
    const struct sim_job *jobs = pool->sim->job;
    int32_t late = sim_late(pool->sim);
    for (; late != SIM_NONE && pool->place_of[late] == SIM_NONE; late = sim_late(pool->sim))
        sim_late_came(pool->sim); /* it never fits */
    const int32_t first = pool->next < pool->firsts ? pool->next : SIM_NONE;
    if (late == SIM_NONE || (first != SIM_NONE && sim_earlier(&jobs[pool->task[first].job], &jobs[late])))
        return first;
    pool->task[pool->place_of[late]].submit = jobs[late].submit;
    return pool->place_of[late];
}

struct sim_event sim_pool_event(struct sim_pool *pool) {
    const struct sim_end *end = pool->ends.used ? pool->ends.heap : NULL;
    const int32_t place = comes_next(pool);
    if (place != SIM_NONE) {
        int64_t submit = pool->task[place].submit;
        if (!end || submit < end->time || (submit == end->time && end->order & SIM_ENDS)) {
            if (place < pool->firsts)
                pool->next++;
            else
                sim_late_came(pool->sim);
            if (pool->next + AHEAD < pool->firsts) {
                const struct sim_job *job = &pool->sim->job[pool->task[pool->next + AHEAD].job];
                __builtin_prefetch(&job->run, 0);
                __builtin_prefetch(&job->start, 1);
            }
            return (struct sim_event){SIM_SUBMITTED, place, submit};
        }
    }
    if (!end)
        return (struct sim_event){SIM_NO_EVENT, 0, 0};
    struct sim_end first = sim_ends_take(&pool->ends);
    if (first.order & SIM_ENDS)
        return (struct sim_event){SIM_ENDED, first.place, first.time};
    pool->outlived++;
    const struct sim_job *job = &pool->sim->job[pool->task[first.place].job];
    sim_ends_add(&pool->ends, (struct sim_end){job->end, first.order | SIM_ENDS, first.place});
    return (struct sim_event){SIM_OUTLIVED, first.place, first.time};
}

int64_t sim_pool_next(struct sim_pool *pool) {
    const int32_t place = comes_next(pool);
    int64_t submit = place != SIM_NONE ? pool->task[place].submit : INT64_MAX;
    int64_t end = pool->ends.used ? pool->ends.heap[0].time : INT64_MAX;
    return submit < end ? submit : end;
}
