/* clang-format off */
/* note.h - what the plugin leaves in a job, for the trace and for the job's own next run.
 *
 * It is one word of the job's AdminComment, which only operators can write and slurmctld keeps over a requeue:
 *
 *     ck1:at=1790000000,heard=3,rq=1,end=more
 *
 *     at     epoch seconds: when the signal was sent, or when nothing was found that catches it
 *     heard  how many processes of the watched steps got it; 0: nothing caught it
 *     rq     how often adminkit itself has put this job back into the queue, counting the one that `end` announces
 *     end    what became of the run; absent while it goes on, and for a job that did not ask for a requeue
 *
 * Keys come in this order. A note belongs to the run during which `at` lies: a run that leaves none shows that of an
 * earlier one, whose `rq` still holds. docs/adr/0009-the-note.md has the reasons.
 *
 * WHEN TO LEAVE IT (tried with 22.05.8)
 * Two RPCs per run at most, of jobs that asked for checkpoints only:
 *   1. after the signal, while the run goes on; with `end=max` or `end=short` where it is clear by then that it will
 *      not be put back. Past the limit a job counts as finished, its row is written, and an update is answered with
 *      ESLURM_JOB_FINISHED;
 *   2. at the batch step's exit. A job that is still RUNNING gets its `end` (`more` with rq one higher) before
 *      slurm_requeue(), so that it stands in the row of the run that ends. A job past its limit gets `limit` after
 *      slurm_requeue(), when it is pending again; its own row then says so by what it is, REQUEUED at its limit.
 * A run that ended before the signal leaves none. Where slurmctld refuses after `more` was left, the note is taken back
 * with `refused` and the old rq: the one third RPC there is.
 *
 * Traps: S_SLURM_RESTART_COUNT was 0 in slurm_spank_exit of a batch step's thirteenth run; what counts our requeues is
 * the job's own AdminComment, read with slurm_load_job(…, SHOW_LOCAL) - without that flag each question is two.
 * slurm_requeue() answers --no-requeue with ESLURM_DISABLED (2037).
 */
/* clang-format on */
#ifndef ADMINKIT_NOTE_H
#define ADMINKIT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* slurmctld's own bound for a comment at submission. */
#define AK_COMMENT_MAX 1024

enum ak_note_end {
    AK_NOTE_GOES_ON,
    AK_NOTE_MORE,    /* more: left with the code for "more to do", put back */
    AK_NOTE_LIMIT,   /* limit: ran into its limit after the signal, put back */
    AK_NOTE_DONE,    /* done: every watched step ended with 0 */
    AK_NOTE_FAILED,  /* failed: ended with another code */
    AK_NOTE_MAX,     /* max: was put back as often as it asked for */
    AK_NOTE_SHORT,   /* short: ran less than twice the lead, which is no progress */
    AK_NOTE_REFUSED, /* refused: slurmctld would not put it back */
    AK_NOTE_ENDS
};

struct ak_note {
    int64_t at;
    uint32_t heard, requeues;
    enum ak_note_end end;
};

/* Finds the note in an AdminComment (NULL is an empty one): its first word that is wholly one. False, and
 * `note` all zeros, without one. An `end` of another release reads as AK_NOTE_GOES_ON; the count is what
 * matters. */
bool ak_note_find(const char *comment, struct ak_note *note);

/* Writes into out[size] the comment with `note` in place of the note it had, else behind the policy's record
 * ("ak1:…"), else in front. All other words stay as they are. False, and out is "", where that would be
 * longer than size - 1 or AK_COMMENT_MAX. */
bool ak_note_put(char *out, size_t size, const char *comment, const struct ak_note *note);

/* Asks slurmctld to make `comment` the job's AdminComment; as root or SlurmUser. Slurm's errno, 0 for done.
 * Blocks for one RPC. In note_leave.c, apart from the rest, which needs no Slurm. */
int ak_note_leave(uint32_t job_id, char *comment);

#endif
