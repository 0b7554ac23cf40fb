/* requeue.h - whether a run that has ended goes back into the queue. Pure: what is known of the run in, a
 * verdict out. */
#ifndef ADMINKIT_CKPT_REQUEUE_H
#define ADMINKIT_CKPT_REQUEUE_H

#include <stddef.h>

#include "common/slurmctld.h"
#include "note.h"
#include "step_records.h"

struct ck_run {
    bool wanted;         /* the job asked for a requeue */
    uint32_t most, ours; /* how often the plugin may requeue it, and did */
    int code;            /* the exit code for "there is more to do" */
    bool signalled;      /* the signal's time has come */
    uint32_t heard;      /* processes on the batch host that were sent the signal */
    int script;          /* exit code of the batch script */
    bool exited;         /* the script ended by itself, not by a signal */
    const struct ck_steps *steps;
    uint32_t derived; /* see struct ak_job_info */
    enum ak_job_state state;
    bool allowed;         /* slurmctld may requeue it */
    bool expedited, held; /* see struct ak_job_info */
    int64_t ran, lead;    /* seconds */
};

enum ck_verdict {
    CK_NOT_WANTED,
    /* requeue it */
    CK_MORE,  /* it ended with the code */
    CK_LIMIT, /* it reached its limit after the signal */
    /* do not */
    CK_DONE,
    CK_FAILED,
    CK_UNSIGNALLED, /* it ended with the code, but before the signal */
    CK_UNHEARD,     /* it reached its limit, and no process was sent the signal */
    CK_GIVEN_UP,    /* it was cancelled, preempted or lost its node: Slurm decides */
    CK_ALREADY,     /* it is pending already, and not held for its exit code */
    CK_FORBIDDEN,   /* --no-requeue, or JobRequeue=0 */
    CK_MAX,         /* the plugin requeued it as often as it may */
    CK_SHORT,       /* it ran for less than twice the lead: no progress */
    CK_VERDICTS
};

enum ck_verdict ck_requeue_decide(const struct ck_run *run);

/* One line for the job's stderr, or "". */
void ck_requeue_line(enum ck_verdict verdict, const struct ck_run *run, char *text, size_t size);

/* Whether Slurm puts a run that is not requeued here back for its script's exit code, and holds it. Tried on
 * 26.05: not where a signal or the limit ended the script, and not for a step's code. */
bool ck_ends_held(const struct ck_run *run);

/* The end for the job's note; CK_NOTE_GOES_ON: no note is left. */
enum ck_note_end ck_requeue_note(enum ck_verdict verdict);

#endif
