/* watch.h - the thread that waits for the moment of the signal, on one node, for one step.
 *
 *   struct ck_watch *watch = ck_watch_start(&plan);
 *   ck_watch_stop(watch);           within a second; frees it
 *
 * Start it when all tasks are forked. It asks slurmctld through call.h, so that nothing slurmctld does or
 * fails to do holds up the signal or the end of the step; it holds no lock of Slurm's and touches nothing of
 * the user's but by the signal. Where nothing hears the signal it tries again, every five seconds at most,
 * until the end. */
#ifndef ADMINKIT_CK_WATCH_H
#define ADMINKIT_CK_WATCH_H

#include <limits.h>

#include "common/slurmctld.h"
#include "deadline.h"
#include "signal_send.h"

struct ck_moment {
    int64_t at, end; /* ms since the epoch */
    bool first;      /* false: an earlier attempt reached nobody */
    const struct ck_heard *heard;
    const struct ck_answer *answer; /* slurmctld's last one; NULL: there was none */
};

struct ck_plan {
    uint32_t job;
    struct ck_terms terms;
    pid_t task; /* one of the step's */
    uid_t uid;
    int signal;
    bool shells, jvms;
    char cgroup[PATH_MAX]; /* "": none */
    /* In the watch's thread, after the first attempt and after the one that reaches somebody; not once
     * ck_watch_stop() has returned. False: let it be. */
    bool (*fired)(const struct ck_moment *moment, void *subject);
    void *subject;
};

struct ck_watch;

/* NULL: no thread or no memory. */
struct ck_watch *ck_watch_start(const struct ck_plan *plan);
/* NULL is no watch. A thread that is stuck (its stderr is full and nobody reads it) is left behind and the
 * plugin pinned. */
void ck_watch_stop(struct ck_watch *watch);

#endif
