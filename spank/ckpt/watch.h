/* watch.h - the thread that waits for the signal's time, for one step on one node.
 *
 *   struct ck_watch *watch = ck_watch_start(&plan);
 *   ck_watch_stop(watch);           within a second; frees it
 *
 * Start it when all tasks are forked. It asks slurmctld through async_call.h, so that slurmctld never delays
 * the signal or the end of the step. It holds no lock of Slurm's, and touches nothing of the user's but by
 * the signal. Where no process takes the signal, it tries again, at most every five seconds, until the end. A
 * step that outlives its end was given more time, and is signalled again before the new one.
 */
#ifndef ADMINKIT_CKPT_WATCH_H
#define ADMINKIT_CKPT_WATCH_H

#include <limits.h>

#include "common/slurmctld.h"
#include "deadline.h"
#include "resize.h"
#include "signal_send.h"

/* An attempt to signal the step. */
struct ck_firing {
    int64_t at, end; /* ms since the epoch */
    bool first;      /* false: no process took the signal of an earlier attempt before this end */
    const struct ck_delivery *delivery;
    const struct ak_job_info *info; /* slurmctld's last answer; NULL: there was none */
    uint32_t gpus;                  /* of the order that the signal is for; 0: it is that before the end */
};

struct ck_plan {
    uint32_t job;
    struct ck_terms terms;
    pid_t task; /* one of the step's tasks */
    uid_t uid;
    int signal;
    bool shells, jvms;
    char cgroup[PATH_MAX]; /* "": none */
    /* Called in the watch's thread after the first attempt before an end and after the one that a process
     * takes; never after ck_watch_stop() has returned. False: do not try again before this end. */
    bool (*fired)(const struct ck_firing *firing, void *arg);
    void *arg;
    struct ck_elastic
        elastic; /* which orders are obeyed, each by one attempt, beside the signal before the end */
};

struct ck_watch;

/* NULL: no thread or no memory. */
struct ck_watch *ck_watch_start(const struct ck_plan *plan);
/* NULL does nothing. A thread that is stuck (stderr is full and nobody reads it) is left behind, and the
 * plugin pinned. */
void ck_watch_stop(struct ck_watch *watch);

#endif
