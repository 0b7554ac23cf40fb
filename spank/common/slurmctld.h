/* slurmctld.h - every RPC to slurmctld, and what it answers in types that need none of Slurm's headers.
 *
 * Each RPC blocks, for MessageTimeout and longer where slurmctld is not responding: call it through
 * async_call.h. */
#ifndef ADMINKIT_SLURMCTLD_H
#define ADMINKIT_SLURMCTLD_H

#include <stdbool.h>
#include <stdint.h>

/* slurmctld's own bound for a comment at submission. */
#define AK_COMMENT_MAX 1024

enum ak_job_state {
    AK_JOB_RUNNING,
    AK_JOB_SUSPENDED,
    AK_JOB_PENDING,
    AK_JOB_FINISHED, /* COMPLETED or FAILED, by its exit code */
    AK_JOB_TIMEOUT,
    AK_JOB_CANCELLED,
    AK_JOB_ENDED /* in any other way: preempted, a node failed, out of memory */
};

struct ak_job_info {
    int error; /* 0, or Slurm's errno; then nothing else is set */
    enum ak_job_state state;
    int64_t start, end;    /* epoch seconds */
    bool may_requeue;      /* JobRequeue, --requeue, --no-requeue */
    bool expedited;        /* --requeue=expedite: Slurm puts it back when its script fails, and holds it */
    bool held;             /* it has done so */
    uint32_t derived_exit; /* the highest exit code of the steps on all nodes, a status of wait() */
    uint32_t restarts;
    char tres_per_node[64]; /* what it asks for on each node, such as gres:gpu:2; "": nothing, or a longer
                               text */
    bool comment_whole;     /* false: AdminComment is longer than AK_COMMENT_MAX, and cut here */
    char comment[AK_COMMENT_MAX + 1];
};

/* Trap: slurm_get_end_time() would answer from a cache for 60 s, and does not say that a job is suspended. */
void ak_job_load(uint32_t job, struct ak_job_info *info);

/* Puts the job back into the queue, where `held` says so not to start before it is released. 0, also where it
 * is pending already, or Slurm's errno. Trap: --no-requeue is answered with ESLURM_DISABLED (2037). */
int ak_job_requeue(uint32_t job, bool held);

/* Lets a held job start. 0 or Slurm's errno. */
int ak_job_release(uint32_t job);

/* Makes `comment` the job's AdminComment, which root and SlurmUser may. 0 or Slurm's errno. */
int ak_job_set_comment(uint32_t job, char *comment);

/* Whether a job that runs again appends to its output (JobFileAppend); true where slurmctld is not
 * responding.
 */
bool ak_appends_output(void);

#endif
