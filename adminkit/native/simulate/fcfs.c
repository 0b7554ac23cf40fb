/* fcfs.c - the first of the queue starts when it fits; nobody passes it. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

/* Running jobs by their ends: a binary heap, the earliest first. */
struct ends {
    struct sim_job **job;
    size_t n;
};

static void push(struct ends *ends, struct sim_job *job) {
    size_t at = ends->n++;
    for (; at > 0 && ends->job[(at - 1) / 2]->end > job->end; at = (at - 1) / 2)
        ends->job[at] = ends->job[(at - 1) / 2];
    ends->job[at] = job;
}

static struct sim_job *pop(struct ends *ends) {
    struct sim_job *first = ends->job[0], *last = ends->job[--ends->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < ends->n; at = child) {
        if (child + 1 < ends->n && ends->job[child + 1]->end < ends->job[child]->end)
            child++;
        if (ends->job[child]->end >= last->end)
            break;
        ends->job[at] = ends->job[child];
    }
    ends->job[at] = last;
    return first;
}

bool sim_fcfs(struct sim *sim) {
    struct ends ends = {malloc((sim->turns + 1) * sizeof *ends.job), 0};
    int64_t free_procs = sim->set.procs, at = INT64_MIN;
    if (!ends.job) {
        snprintf(sim->error, sizeof sim->error, "out of memory for %zu jobs", sim->turns);
        return false;
    }
    for (size_t i = 0; i < sim->turns; i++) {
        struct sim_job *job = &sim->job[sim->turn[i]];
        if (job->procs <= 0 || job->procs > sim->set.procs)
            continue;
        at = job->submit > at ? job->submit : at;
        while (ends.n > 0 && (ends.job[0]->end <= at || free_procs < job->procs)) {
            struct sim_job *ended = pop(&ends);
            at = ended->end > at ? ended->end : at;
            free_procs += ended->procs;
        }
        free_procs -= job->procs;
        sim_start(sim, job, at);
        push(&ends, job);
    }
    free(ends.job);
    return true;
}
