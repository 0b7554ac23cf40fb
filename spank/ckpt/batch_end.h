/* ending.h - what the batch step does about the whole run: the note while it goes on, the requeue when it has
 * ended. */
#ifndef ADMINKIT_CK_ENDING_H
#define ADMINKIT_CK_ENDING_H

#include "options.h"
#include "watch.h"

/* What the batch step knows of its run. at is 0 until the signal's moment has come. */
struct ck_batch {
    uint32_t job;
    struct ck_wish wish;
    int code;
    char state[CK_WORD]; /* the folder of records.h */
    int64_t at;          /* epoch seconds */
    uint32_t heard;      /* by processes of the batch step itself */
    int script;          /* its exit code, once it has ended */
};

struct ck_call;

/* Leaves the note, a second after the signal, when the job's steps on this host have told what they did.
 * answer: what slurmctld said last, or NULL. before: the note before, which is waited for, so that it cannot
 * undo this one, and ended; or NULL. NULL where nothing could be started. */
struct ck_call *ck_note_signal(const struct ck_batch *batch, const struct ck_answer *answer,
                               struct ck_call *before);

/* The run has ended: puts the job back if that is due, and says so. before: as above. Returns within `span`
 * ms; where slurmctld does not answer by then it goes on while slurmstepd lives, and that waits some seconds
 * for it. */
void ck_end_run(const struct ck_batch *batch, struct ck_call *before, int64_t span);

#endif
