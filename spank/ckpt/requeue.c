/* requeue.c - see requeue.h. */
#include "requeue.h"

#include <inttypes.h>
#include <stdio.h>

/* The verdict of only the exit codes and the state, before anything that may forbid a requeue. */
static enum ck_verdict by_end(const struct ck_run *run) {
    int derived = ck_exit_code((int)run->derived);
    bool more = run->script == run->code || run->steps->code[run->code] || derived == run->code;
    bool failed = run->script != 0 || run->steps->failed || derived != 0;
    if (!failed)
        return CK_DONE;
    if (more)
        return run->signalled ? CK_MORE : CK_UNSIGNALLED;
    if (run->state != AK_JOB_TIMEOUT)
        return CK_FAILED;
    return run->heard > 0 ? CK_LIMIT : CK_UNHEARD;
}

enum ck_verdict ck_requeue_decide(const struct ck_run *run) {
    if (!run->wanted)
        return CK_NOT_WANTED;
    if (run->state == AK_JOB_PENDING && !run->held)
        return CK_ALREADY;
    if (run->state == AK_JOB_CANCELLED || run->state == AK_JOB_ENDED)
        return CK_GIVEN_UP;
    enum ck_verdict verdict = by_end(run);
    if (verdict != CK_MORE && verdict != CK_LIMIT)
        return verdict;
    if (!run->allowed)
        return CK_FORBIDDEN;
    if (run->ours >= run->most)
        return CK_MAX;
    return run->ran < 2 * run->lead ? CK_SHORT : verdict;
}

bool ck_ends_held(const struct ck_run *run) {
    bool by_code = run->state == AK_JOB_RUNNING || run->state == AK_JOB_FINISHED || run->held;
    return run->expedited && run->allowed && by_code && run->exited && run->script != 0;
}

void ck_requeue_line(enum ck_verdict verdict, const struct ck_run *run, char *text, size_t size) {
    *text = '\0';
    switch (verdict) {
    case CK_MORE:
        snprintf(text, size,
                 "the run exited with code %d, so the job goes back into the queue (%" PRIu32 " of %" PRIu32
                 ")",
                 run->code, run->ours + 1, run->most);
        break;
    case CK_LIMIT:
        snprintf(text, size,
                 "the run reached its limit after the signal, so the job goes back into the queue (%" PRIu32
                 " of %" PRIu32 ")",
                 run->ours + 1, run->most);
        break;
    case CK_UNSIGNALLED:
        snprintf(text, size, "not requeued: the run exited with code %d before it was sent the signal",
                 run->code);
        break;
    case CK_UNHEARD:
        snprintf(text, size,
                 "not requeued: the run reached its limit, and nothing in it had caught the signal");
        break;
    case CK_FORBIDDEN:
        snprintf(text, size,
                 "not requeued: this job must not be requeued (--no-requeue, or JobRequeue=0 in slurm.conf)");
        break;
    case CK_MAX:
        snprintf(text, size,
                 "not requeued: the job has already been requeued %" PRIu32 " times, the most allowed",
                 run->ours);
        break;
    case CK_SHORT:
        snprintf(text, size,
                 "not requeued: the run took %" PRId64 " s, less than twice the %" PRId64
                 " s between the signal and its end, so it made no progress",
                 run->ran, run->lead);
        break;
    default:
        break;
    }
}

enum ck_note_end ck_requeue_note(enum ck_verdict verdict) {
    static const enum ck_note_end NOTES[CK_VERDICTS] = {
        [CK_MORE] = CK_NOTE_MORE,     [CK_LIMIT] = CK_NOTE_LIMIT,       [CK_DONE] = CK_NOTE_DONE,
        [CK_FAILED] = CK_NOTE_FAILED, [CK_FORBIDDEN] = CK_NOTE_REFUSED, [CK_MAX] = CK_NOTE_MAX,
        [CK_SHORT] = CK_NOTE_SHORT};
    return NOTES[verdict];
}
