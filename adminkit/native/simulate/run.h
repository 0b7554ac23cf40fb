/* run.h - what every model shares. */
#ifndef ADMINKIT_SIMULATE_RUN_H
#define ADMINKIT_SIMULATE_RUN_H

#include "workload.h"

/* Whether it would run for a second at all. */
static inline bool sim_can_run(const struct sim_job *job) {
    return job->run > 0 && job->limit != 0;
}

/* Puts the jobs that may run into sim->turn, by submit, then id; plans and limits of queues that are 0
 * become 1. False: sim->error. */
bool sim_prepare(struct sim *sim);
/* Gives the job its start; its end, outcome and order follow. Returns the end; a model that keeps it calls
 * sim_ended (follow.h). */
int64_t sim_start(struct sim *sim, struct sim_job *job, int64_t at);
/* Where promises are asked for, makes room for them: nobody has one yet. False: no memory. */
bool sim_promises_new(struct sim *sim);
/* Writes down what a run counted; for the caller's reader: nothing depends on it. `name` stays the caller's.
 */
void sim_fact(struct sim *sim, const char *name, int64_t value);
/* Says on standard error how many jobs have started, at most five times a second; always when `done`. */
void sim_say_progress(const struct sim *sim, bool done);

/* Cheap enough for every start. */
static inline void sim_progress(const struct sim *sim) {
    if (sim->progress && (sim->started & 1023) == 0)
        sim_say_progress(sim, false);
}

#endif
