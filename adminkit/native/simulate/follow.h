/* follow.h - jobs that come once another one has ended: the pieces of a job that is put back into the queue.
 */
#ifndef ADMINKIT_SIMULATE_FOLLOW_H
#define ADMINKIT_SIMULATE_FOLLOW_H

#include "workload.h"

/* Notes which jobs follow which; `following` of them do, one at least. False: no memory. */
bool sim_follow_new(struct sim *sim, size_t following);
void sim_follow_free(struct sim *sim);

/* The job has its end: those that follow it get their submit, and come among sim_late. */
void sim_ended(struct sim *sim, const struct sim_job *job);
/* Whether one comes before two: by (submit, id), and by their numbers. */
static inline bool sim_earlier(const struct sim_job *one, const struct sim_job *two) {
    if (one->submit != two->submit)
        return one->submit < two->submit;
    return one->id != two->id ? one->id < two->id : one < two;
}

/* The first by (submit, id) of those that are still to come; SIM_NONE: none is. */
int32_t sim_late(const struct sim *sim);
/* It has come. There has to be one. */
void sim_late_came(struct sim *sim);

#endif
