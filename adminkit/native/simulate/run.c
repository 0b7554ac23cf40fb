/* run.c - what every model shares: the jobs in their turn, a start, what is counted. */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow.h"
#include "run.h"

static int by_submit(const void *a, const void *b, void *jobs) {
    const struct sim_job *one = (struct sim_job *)jobs + *(const int32_t *)a;
    const struct sim_job *two = (struct sim_job *)jobs + *(const int32_t *)b;
    if (one->submit != two->submit)
        return one->submit < two->submit ? -1 : 1;
    if (one->id != two->id)
        return one->id < two->id ? -1 : 1;
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : 1;
}

/* Whoever starts may run for a second, and is planned to. */
static int64_t at_least_a_second(int64_t seconds) {
    return seconds ? seconds : 1;
}

bool sim_prepare(struct sim *sim) {
    for (size_t i = 0; i < sim->queues; i++) {
        sim->queue[i].max_limit = at_least_a_second(sim->queue[i].max_limit);
        sim->queue[i].default_limit = at_least_a_second(sim->queue[i].default_limit);
    }
    bool sorted = true;
    size_t following = 0;
    sim->turn = malloc((sim->jobs + 1) * sizeof *sim->turn);
    for (size_t i = 0; sim->turn && i < sim->jobs; i++) {
        struct sim_job *job = &sim->job[i];
        job->start = job->end = job->order = SIM_NONE;
        job->outcome = SIM_NOT_RUN;
        job->plan = (int32_t)at_least_a_second(job->plan);
        following += job->after != SIM_NONE;
        if (!sim_can_run(job) || job->after != SIM_NONE)
            continue;
        sim->turn[sim->turns++] = (int32_t)i;
        sorted = sorted && (sim->turns < 2 ||
                            by_submit(&sim->turn[sim->turns - 2], &sim->turn[sim->turns - 1], sim->job) < 0);
    }
    if (!sim->turn || (following && !sim_follow_new(sim, following))) {
        snprintf(sim->error, sizeof sim->error, "out of memory for %zu jobs", sim->jobs);
        return false;
    }
    if (!sorted)
        qsort_r(sim->turn, sim->turns, sizeof *sim->turn, by_submit, sim->job);
    return true;
}

int64_t sim_start(struct sim *sim, struct sim_job *job, int64_t at) {
    bool killed = job->limit != SIM_NONE && job->run > job->limit;
    job->start = at;
    job->end = at + (killed ? job->limit : job->run);
    job->outcome = killed ? SIM_KILLED : SIM_DONE;
    job->order = (int32_t)sim->started++;
    sim_progress(sim);
    return job->end;
}

bool sim_promises_new(struct sim *sim) {
    if (!sim->set.promises)
        return true;
    sim->promised = malloc((sim->jobs + 1) * sizeof *sim->promised);
    for (size_t i = 0; sim->promised && i < sim->jobs; i++)
        sim->promised[i] = SIM_NONE;
    return sim->promised != NULL;
}

void sim_fact(struct sim *sim, const char *name, int64_t value) {
    if (sim->facts < SIM_MAX_FACTS)
        sim->fact[sim->facts++] = (struct sim_fact){name, value};
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sim_say_progress(const struct sim *sim, bool done) {
    static double said;
    double at = now();
    if (!sim->progress || (!done && at - said < 0.2))
        return;
    said = at;
    fprintf(stderr, "{\"done\": %s, \"started\": %zu}\n", done ? "true" : "false", sim->started);
}
