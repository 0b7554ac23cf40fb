#include "batch_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/job_log.h"
#include "common/slurm_compat.h"

#define SETTLE 700     /* ms, for the steps' records */
#define LAST_WAIT 4000 /* ms */
#define PATIENCE 60000 /* ms */
#define AGAIN 500      /* ms, to the next try where slurmctld does not answer */

struct ending {
    struct ck_batch batch;
    struct ck_run run;
    struct ck_steps steps;
    struct ck_answer answer;
    bool answered;
    struct ck_call *before; /* its note comes first */
};

/* Not done when the last callback returned, and whose it is. */
static struct ck_call *late;
static pid_t late_of;

static struct ending *new_ending(const struct ck_batch *batch, struct ck_call *before) {
    struct ending *ending = calloc(1, sizeof *ending);
    if (ending) {
        ending->batch = *batch;
        ending->before = before;
    }
    return ending;
}

static void let_pass(struct ending *ending) {
    while (ending->before && !ck_call_done(ending->before, PATIENCE))
        ;
    ck_call_end(ending->before);
    ending->before = NULL;
}

/* Adds up what the steps left and what slurmctld said. */
static void fill(struct ending *ending) {
    const struct ck_batch *batch = &ending->batch;
    const struct ck_answer *answer = &ending->answer;
    struct ak_note note;
    ak_note_find(answer->comment, &note);
    ending->run = (struct ck_run){.wanted = batch->wish.requeue,
                                  .most = (uint32_t)batch->wish.requeues,
                                  .ours = note.requeues,
                                  .code = batch->code,
                                  .signalled = batch->at != 0 || ending->steps.heard > 0,
                                  .heard = batch->heard + ending->steps.heard,
                                  .script = batch->script,
                                  .steps = &ending->steps,
                                  .derived = answer->derived,
                                  .state = answer->state,
                                  .allowed = answer->allowed,
                                  .ran = ck_now() / 1000 - answer->start,
                                  .lead = batch->wish.lead};
}

/* 0, or why the note could not be left. */
static int leave_note(const struct ending *ending, enum ak_note_end end, uint32_t requeues) {
    const struct ck_run *run = &ending->run;
    struct ak_note note = {.at = ending->batch.at ? ending->batch.at : ending->steps.at,
                           .heard = run->heard,
                           .requeues = requeues,
                           .end = end};
    char comment[AK_COMMENT_MAX + 1];
    if (!ending->answer.comment_whole || !ak_note_put(comment, sizeof comment, ending->answer.comment, &note))
        return E2BIG;
    return ak_note_leave(ending->batch.job, comment);
}

/* What is clear at the signal: past its limit a job's record cannot be written any more. */
static enum ak_note_end foreseen(const struct ending *ending) {
    const struct ck_run *run = &ending->run;
    int64_t most = ending->answer.end - ending->answer.start;
    if (!run->wanted)
        return AK_NOTE_GOES_ON;
    if (run->ours >= run->most)
        return AK_NOTE_MAX;
    return most < 2 * run->lead ? AK_NOTE_SHORT : AK_NOTE_GOES_ON;
}

/* Where no note is kept, a site's job_submit script refuses them perhaps, Slurm's own count is what ends a
 * chain. For a job that is running still, `unkept` tells; for another, whether the one of its signal is
 * there. */
static bool exhausted(const struct ending *ending, bool running, int unkept) {
    int64_t at = ending->batch.at ? ending->batch.at : ending->steps.at;
    struct ak_note note;
    bool kept = running ? unkept == 0 : ak_note_find(ending->answer.comment, &note) && note.at >= at;
    return !kept && ending->answer.restarts >= ending->run.most;
}

static void note_signal(void *subject) {
    struct ending *ending = subject;
    ck_sleep(SETTLE);
    let_pass(ending);
    if (!ending->answered)
        ck_ask(ending->batch.job, &ending->answer);
    if (ending->answer.error)
        return;
    ck_records_read(ending->batch.state, ending->batch.job, &ending->steps);
    fill(ending);
    leave_note(ending, foreseen(ending), ending->run.ours);
}

struct ck_call *ck_note_signal(const struct ck_batch *batch, const struct ck_answer *answer,
                               struct ck_call *before) {
    struct ending *ending = new_ending(batch, before);
    if (!ending) {
        ck_call_end(before);
        return NULL;
    }
    if (answer) {
        ending->answer = *answer;
        ending->answered = true;
    }
    struct ck_call *call = ck_call_start(note_signal, ending);
    if (!call) {
        ck_call_end(before);
        free(ending);
    }
    return call;
}

/* The job may be running still, or have ended for slurmctld: then that takes a note only once the job is
 * pending again. */
static void put_back(const struct ending *ending) {
    const struct ck_run *run = &ending->run;
    bool running = run->state == CK_RUNNING;
    int unkept = running ? leave_note(ending, AK_NOTE_MORE, run->ours + 1) : 0;
    if (exhausted(ending, running, unkept)) {
        ck_say("not requeued: that could not be counted, and the job was restarted %" PRIu32 " times already",
               ending->answer.restarts);
        return;
    }
    int error = ck_put_back(ending->batch.job);
    if (error) {
        ck_say("not requeued: %s", slurm_strerror(error));
        if (running)
            leave_note(ending, AK_NOTE_REFUSED, run->ours);
        return;
    }
    if (!running)
        unkept = leave_note(ending, run->state == CK_TIMEOUT ? AK_NOTE_LIMIT : AK_NOTE_MORE, run->ours + 1);
    if (unkept)
        ck_say("this requeue could not be counted: %s", slurm_strerror(unkept));
}

static void end_run(void *subject) {
    struct ending *ending = subject;
    char line[256];
    let_pass(ending);
    for (;;) {
        ck_ask(ending->batch.job, &ending->answer);
        if (ending->answer.error == 0)
            break;
        if (ending->answer.error == ESLURM_INVALID_JOB_ID)
            return;
        ck_sleep(AGAIN);
    }
    fill(ending);
    enum ck_verdict verdict = ck_requeue_decide(&ending->run);
    ck_requeue_line(verdict, &ending->run, line, sizeof line);
    if (*line)
        ck_say("%s", line);
    enum ak_note_end end = ck_requeue_note(verdict);
    if (verdict == CK_MORE || verdict == CK_LIMIT)
        put_back(ending);
    else if (end != AK_NOTE_GOES_ON && ending->run.state == CK_RUNNING)
        leave_note(ending, end, ending->run.ours);
}

/* Without asking anybody: the signal's moment never came. */
static void end_early(struct ending *ending) {
    char line[256];
    ending->answer = (struct ck_answer){.state = CK_RUNNING};
    fill(ending);
    ck_requeue_line(ck_requeue_decide(&ending->run), &ending->run, line, sizeof line);
    if (*line)
        ck_say("%s", line);
}

void ck_end_run(const struct ck_batch *batch, struct ck_call *before, int64_t span) {
    struct ending *ending = batch->wish.requeue ? new_ending(batch, before) : NULL;
    struct ck_call *call = NULL;
    if (ending)
        ck_records_read(batch->state, batch->job, &ending->steps);
    if (ending && batch->at == 0 && ending->steps.heard == 0)
        end_early(ending);
    else if (ending)
        call = ck_call_start(end_run, ending);
    if (!call) {
        if (before)
            ck_call_done(before, span);
        ck_call_end(before);
        free(ending);
        return;
    }
    if (ck_call_done(call, span)) {
        ck_call_end(call);
        return;
    }
    ck_say("slurmctld does not answer; the job is put back if it does before slurmstepd has ended");
    ck_pin();
    late = call;
    late_of = getpid();
}

/* When slurmstepd ends, which it does once slurmctld has heard that the job has. Not in a child of it that
 * ends: it has the call, but not the thread. */
__attribute__((destructor)) static void wait_for_late(void) {
    if (late && late_of == getpid())
        ck_call_done(late, LAST_WAIT);
}
