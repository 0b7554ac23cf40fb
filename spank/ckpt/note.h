/* clang-format off */
/* note.h - the note that the plugin leaves in a job, for the trace and for the next run of the job.
 *
 * It is one word of the job's AdminComment, which only operators can write and slurmctld keeps over a requeue:
 *
 *     ck1:at=1790000000,heard=3,rq=1,end=more
 *
 *     at     epoch seconds: when the signal was sent, or when no process was found that would take it
 *     heard  how many processes of the watched steps were sent it
 *     rq     how often adminkit itself has requeued this job, with the requeue that `end` announces
 *     end    what became of the run; absent while it runs, and where the job did not ask for a requeue
 *
 * Keys come in this order. A note is of the run during which `at` is: a run that leaves none shows the note of an
 * earlier run, whose `rq` still holds. docs/comment-words.md has the other words of AdminComment,
 * docs/adr/0009-the-note.md the reasons.
 *
 * WHEN TO LEAVE IT (tried with 22.05.8)
 * Only for jobs that asked for checkpoints, in at most two RPCs per run:
 *   1. after the signal, while the run continues; with `end=max` or `end=short` where it is clear by then that the job will
 *      not be requeued. Trap: past its limit a job counts as finished, slurmctld has written its row, and answers an
 *      update with ESLURM_JOB_FINISHED. Trap: `adminkit extend` writes into the comment at any time, so where it may the
 *      comment is read just before;
 *   2. at the batch step's exit. A job that is still RUNNING gets its `end` (`more` with rq one higher) before
 *      slurm_requeue(), so that the row of the run that ends has it. A job past its limit gets `limit` after
 *      slurm_requeue(), when it is pending again; the row of that run shows the state REQUEUED at its limit.
 * A run that ended before the signal leaves none. Where slurmctld refuses the requeue after `more` was left, a third RPC
 * replaces it with `refused` and the old rq.
 *
 * Trap: SLURM_RESTART_COUNT does not count our requeues: other requeues raise it too, and S_SLURM_RESTART_COUNT was 0 in
 * slurm_spank_exit of a batch step's thirteenth run. The note in AdminComment is the count.
 */
/* clang-format on */
#ifndef ADMINKIT_CKPT_NOTE_H
#define ADMINKIT_CKPT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ck_note_end {
    CK_NOTE_GOES_ON,
    CK_NOTE_MORE,    /* more: ended with the code for "more to do", requeued */
    CK_NOTE_LIMIT,   /* limit: reached its limit after the signal, requeued */
    CK_NOTE_DONE,    /* done: every watched step ended with 0 */
    CK_NOTE_FAILED,  /* failed: ended with another code */
    CK_NOTE_MAX,     /* max: was requeued as many times as it asked for */
    CK_NOTE_SHORT,   /* short: ran for less than twice the lead: no progress */
    CK_NOTE_REFUSED, /* refused: slurmctld would not requeue it */
    CK_NOTE_ENDS
};

struct ck_note {
    int64_t at;
    uint32_t heard, requeues;
    enum ck_note_end end;
};

/* Reads the note of an AdminComment (NULL is an empty one): its first word that is wholly a note. False: it
 * has none, and `note` is all zeros. An `end` of another release reads as CK_NOTE_GOES_ON, since the count
 * matters more. */
bool ck_note_find(const char *comment, struct ck_note *note);

/* Writes to out[size] the comment with `note` in place of its note; without one, after the policy's record
 * ("ak1:…"), or else in front. All other words stay as they are. False: that would be longer than size - 1 or
 * AK_COMMENT_MAX, and out is "". */
bool ck_note_put(char *out, size_t size, const char *comment, const struct ck_note *note);

#endif
