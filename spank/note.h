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
 * Keys come in this order. A note belongs to the run during which `at` lies: a run that leaves none shows that of
 * an earlier one, whose `rq` still holds. docs/checkpoint-note.md has the rest.
 *
 * It costs at most two RPCs per run, of jobs that asked for checkpoints only: one after the signal, so that a
 * run killed at its limit has it (its row is written before the exit callback), one where `end` is known. A run
 * without a signal costs none.
 */
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
    AK_NOTE_LIMIT,   /* limit: killed at its limit after the signal, put back */
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
 * `note` all zeros, without one. */
bool ak_note_find(const char *comment, struct ak_note *note);

/* Writes into out[size] the comment with `note` in place of the note it had, else behind the policy's record
 * ("ak1:…"), else in front. All other words stay as they are. False, and out is "", where that would be
 * longer than size - 1 or AK_COMMENT_MAX. */
bool ak_note_put(char *out, size_t size, const char *comment, const struct ak_note *note);

/* Asks slurmctld to make `comment` the job's AdminComment; as root or SlurmUser. Slurm's errno, 0 for done.
 * `job_id` is the task's own, never its array's. Blocks for one RPC. */
int ak_note_leave(uint32_t job_id, char *comment);

#endif
