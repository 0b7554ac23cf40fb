/* requeue.h - whether a run that has ended goes back into the queue. Pure: what is known of it in, the
 * verdict out. */
#ifndef ADMINKIT_CK_REQUEUE_H
#define ADMINKIT_CK_REQUEUE_H

#include <stddef.h>

#include "note.h"
#include "step_records.h"

/* What slurmctld says of the job when its batch script has ended. */
enum ck_state {
    CK_RUNNING,
    CK_SUSPENDED,
    CK_PENDING,  /* somebody has requeued it already */
    CK_FINISHED, /* completed or failed, by its exit code */
    CK_TIMEOUT,
    CK_CANCELLED,
    CK_ENDED /* in another way: preempted, a node failed, out of memory */
};

struct ck_run {
    bool wanted;         /* it asked for a requeue */
    uint32_t most, ours; /* how often it may be requeued by us, and was */
    int code;            /* the exit code for "there is more to do" */
    bool signalled;      /* the moment of the signal has come */
    uint32_t heard;      /* how many processes got it, on the batch host */
    int script;          /* exit code of the batch script */
    const struct ck_steps *steps;
    uint32_t derived; /* slurmctld's highest exit code of the steps, of all nodes: a status of wait() */
    enum ck_state state;
    bool allowed;      /* JobRequeue, --requeue, --no-requeue */
    int64_t ran, lead; /* seconds */
};

enum ck_verdict {
    CK_NOT_WANTED,
    CK_MORE,  /* put it back: it left with the code */
    CK_LIMIT, /* put it back: it reached its limit after the signal */
    /* all others: leave it */
    CK_DONE,
    CK_FAILED,
    CK_UNSIGNALLED, /* the code, but before the signal */
    CK_UNHEARD,     /* reached its limit, and nothing had caught the signal */
    CK_GIVEN_UP,    /* cancelled, or ended in a way that is not ours to judge */
    CK_ALREADY,     /* is back in the queue */
    CK_FORBIDDEN,
    CK_MAX,
    CK_SHORT,
    CK_VERDICTS
};

enum ck_verdict ck_requeue_decide(const struct ck_run *run);

/* One line for the job's stderr; "" where there is nothing to say. */
void ck_requeue_line(enum ck_verdict verdict, const struct ck_run *run, char *text, size_t size);

/* What the note says of it; AK_NOTE_GOES_ON: nothing. */
enum ak_note_end ck_requeue_note(enum ck_verdict verdict);

#endif
