/* batch_end.h - what the batch step does for the whole run: the note while it runs, the requeue when it
 * has ended. */
#ifndef ADMINKIT_CKPT_BATCH_END_H
#define ADMINKIT_CKPT_BATCH_END_H

#include "options.h"
#include "progress_file.h"
#include "watch.h"

/* What the batch step knows of its run. */
struct ck_batch {
    uint32_t job;
    struct ck_request request;
    int code;
    char state[CK_WORD_SIZE]; /* the folder of step_records.h */
    int64_t at;               /* when the signal's time came, epoch seconds; 0: not yet */
    uint32_t heard;           /* processes of the batch step itself that were sent the signal */
    int script;               /* its exit code, once it has ended */
    bool exited;              /* by itself, not by a signal */
    struct ck_elastic elastic;
    struct ck_progress progress;
    char iterations[CK_PROGRESS_DIGITS + 1]; /* what it says now; "": nothing */
};

struct ak_async_call;

/* Starts to leave the note, a second after the signal, when the job's steps on this host have left their
 * records. info: slurmctld's last answer, or NULL. previous: the call of an earlier note, or NULL; it is
 * waited for, so that it cannot undo this one, and released. NULL: nothing could be started. */
struct ak_async_call *ck_batch_signalled(const struct ck_batch *batch, const struct ak_job_info *info,
                                         struct ak_async_call *previous);

/* Requeues the job if that is due, and logs it, or leaves its progress; the run has ended. previous: as
 * above. Returns within `span` ms. Where slurmctld has not responded by then, the call continues while
 * slurmstepd lives, which waits some seconds for it. */
void ck_batch_end(const struct ck_batch *batch, struct ak_async_call *previous, int64_t span);

#endif
