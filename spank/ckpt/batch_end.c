/* batch_end.c - see batch_end.h. */
#include "batch_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/job_log.h"
#include "common/slurm_compat.h"
#include "extension.h"
#include "requeue.h"
#include "step_records.h"

#define RECORDS_WAIT 700 /* ms, for the records of the steps */
#define LATE_WAIT 4000   /* ms, when slurmstepd ends */
#define NOTE_WAIT 60000  /* ms, and again */
#define RETRY 500        /* ms, where slurmctld is not responding */

/* What a call works on, in its thread. */
struct work {
    struct ck_batch batch;
    struct ck_run run;
    struct ck_steps steps;
    struct ak_job_info info;
    bool answered;
    struct ak_async_call *previous; /* waited for: its note comes first */
};

/* The call that had not returned when the last callback did, and the process that has its thread. */
static struct ak_async_call *late;
static pid_t late_pid;

static struct work *new_work(const struct ck_batch *batch, struct ak_async_call *previous) {
    struct work *work = calloc(1, sizeof *work);
    if (work) {
        work->batch = *batch;
        work->previous = previous;
    }
    return work;
}

static void wait_for_previous(struct work *work) {
    while (work->previous && !ak_async_done(work->previous, NOTE_WAIT))
        ;
    ak_async_release(work->previous);
    work->previous = NULL;
}

/* Sets the run, from the batch, the records of the steps and slurmctld's answer. */
static void fill(struct work *work) {
    const struct ck_batch *batch = &work->batch;
    const struct ak_job_info *info = &work->info;
    struct ck_note note;
    ck_note_find(info->comment, &note);
    work->run = (struct ck_run){.wanted = batch->request.requeue,
                                .most = (uint32_t)batch->request.requeues,
                                .ours = note.requeues,
                                .code = batch->code,
                                .signalled = batch->at != 0 || work->steps.heard > 0,
                                .heard = batch->heard + work->steps.heard,
                                .script = batch->script,
                                .exited = batch->exited,
                                .steps = &work->steps,
                                .derived = info->derived_exit,
                                .state = info->state,
                                .allowed = info->may_requeue,
                                .expedited = info->expedited,
                                .held = info->held,
                                .ran = ak_now() / 1000 - info->start,
                                .lead = batch->request.lead};
}

/* 0, or the errno why the note could not be left. */
static int leave_note(const struct work *work, enum ck_note_end end, uint32_t requeues) {
    const struct ck_run *run = &work->run;
    struct ck_note note = {.at = work->batch.at ? work->batch.at : work->steps.at,
                           .heard = run->heard,
                           .requeues = requeues,
                           .end = end};
    char noted[AK_COMMENT_MAX + 1], comment[AK_COMMENT_MAX + 1];
    if (!work->info.comment_whole || !ck_note_put(noted, sizeof noted, work->info.comment, &note))
        return E2BIG;
    bool fits =
        ck_progress_put(comment, sizeof comment, noted, work->batch.iterations); /* the note goes first */
    return ak_job_set_comment(work->batch.job, fits ? comment : noted);
}

/* Leaves only the run's progress, in the place of an earlier run's; of a job that still runs. */
static void leave_progress(const struct work *work) {
    char comment[AK_COMMENT_MAX + 1];
    if (work->info.state == AK_JOB_RUNNING && work->info.comment_whole &&
        ck_progress_put(comment, sizeof comment, work->info.comment, work->batch.iterations) &&
        strcmp(comment, work->info.comment) != 0)
        ak_job_set_comment(work->batch.job, comment);
}

/* The end that is certain at the signal. Trap: past its limit the job's row cannot be changed any more. */
static enum ck_note_end certain_end(const struct work *work) {
    const struct ck_run *run = &work->run;
    int64_t most = work->info.end - work->info.start;
    if (!run->wanted)
        return CK_NOTE_GOES_ON;
    if (run->ours >= run->most)
        return CK_NOTE_MAX;
    return most < 2 * run->lead ? CK_NOTE_SHORT : CK_NOTE_GOES_ON;
}

/* Whether the job was restarted too often to be requeued without a count of our own: a site's job_submit
 * script may refuse our updates, and without notes only Slurm's count of restarts ends a chain. note_error:
 * of the note that was left just now, while the job runs; of a job that has ended, the note of its signal
 * shows whether notes are kept. */
static bool exhausted(const struct work *work, bool running, int note_error) {
    int64_t at = work->batch.at ? work->batch.at : work->steps.at;
    struct ck_note note;
    bool kept = running ? note_error == 0 : ck_note_find(work->info.comment, &note) && note.at >= at;
    return !kept && work->info.restarts >= work->run.most;
}

static void note_signal(void *arg) {
    struct work *work = arg;
    ak_sleep(RECORDS_WAIT);
    wait_for_previous(work);
    if (!work->answered)
        ak_job_load(work->batch.job, &work->info);
    if (work->info.error)
        return;
    ck_step_records_read(work->batch.state, work->batch.job, &work->steps);
    fill(work);
    leave_note(work, certain_end(work), work->run.ours);
}

struct ak_async_call *ck_batch_signalled(const struct ck_batch *batch, const struct ak_job_info *info,
                                         struct ak_async_call *previous) {
    struct work *work = new_work(batch, previous);
    if (!work) {
        ak_async_release(previous);
        return NULL;
    }
    if (info) {
        work->info = *info;
        work->answered = !ck_extension_possible(info->comment); /* else its comment may be another by now */
    }
    struct ak_async_call *call = ak_async_start(note_signal, work);
    if (!call) {
        ak_async_release(previous);
        free(work);
    }
    return call;
}

static void say_held(const struct ck_run *run) {
    if (ck_ends_held(run))
        ak_job_log("Slurm holds the job, which exited with code %d and asked for --requeue=expedite: "
                   "scontrol release continues it, scancel ends it",
                   run->script);
}

/* Whether it is in the queue again. Trap: a job that still runs takes a note before the requeue; one that has
 * ended for slurmctld takes it only after the requeue, when it is pending again. */
static bool requeue(struct work *work) {
    const struct ck_run *run = &work->run;
    bool running = run->state == AK_JOB_RUNNING;
    struct ck_order order;
    bool held = ck_order_find(work->info.comment, &order) &&
                ck_order_holds(&order, &work->batch.elastic, &work->info, ak_now() / 1000);
    int note_error = running ? leave_note(work, CK_NOTE_MORE, run->ours + 1) : 0;
    if (exhausted(work, running, note_error)) {
        ak_job_log("not requeued: the requeue could not be counted, and the job has been restarted %" PRIu32
                   " times already",
                   work->info.restarts);
        return false;
    }
    int error = ak_job_requeue(work->batch.job, held);
    if (!error && work->info.held && !held)
        error = ak_job_release(work->batch.job);
    if (error) {
        ak_job_log("not requeued: %s", slurm_strerror(error));
        if (running)
            leave_note(work, CK_NOTE_REFUSED, run->ours);
        return false;
    }
    if (held && order.gpus == CK_SAME_GPUS)
        ak_job_log("the job is held, because it did not use its GPUs: scontrol release continues it");
    else if (held)
        ak_job_log("the job is held until it has %" PRIu32 " GPUs", order.gpus);
    bool said = *work->batch.iterations;
    *work->batch.iterations = '\0'; /* the comment is now the next run's */
    if (!running)
        note_error =
            leave_note(work, run->state == AK_JOB_TIMEOUT ? CK_NOTE_LIMIT : CK_NOTE_MORE, run->ours + 1);
    else if (said)
        leave_note(work, CK_NOTE_MORE, run->ours + 1);
    if (note_error)
        ak_job_log("this requeue could not be counted: %s", slurm_strerror(note_error));
    return true;
}

static void end_run(void *arg) {
    struct work *work = arg;
    char line[256];
    wait_for_previous(work);
    for (;;) {
        ak_job_load(work->batch.job, &work->info);
        if (work->info.error == 0)
            break;
        if (work->info.error == ESLURM_INVALID_JOB_ID)
            return;
        ak_sleep(RETRY);
    }
    fill(work);
    enum ck_verdict verdict = ck_requeue_decide(&work->run);
    ck_requeue_line(verdict, &work->run, line, sizeof line);
    if (*line)
        ak_job_log("%s", line);
    enum ck_note_end end = ck_requeue_note(verdict);
    bool more = verdict == CK_MORE || verdict == CK_LIMIT;
    if (!more || !requeue(work))
        say_held(&work->run);
    if (more)
        return;
    if (end != CK_NOTE_GOES_ON && work->run.state == AK_JOB_RUNNING)
        leave_note(work, end, work->run.ours);
    else
        leave_progress(work);
}

static void only_progress(void *arg) {
    struct work *work = arg;
    wait_for_previous(work);
    ak_job_load(work->batch.job, &work->info);
    if (work->info.error == 0)
        leave_progress(work);
}

/* The run ended before the signal's time; no RPC. */
static void end_early(struct work *work) {
    char line[256];
    work->info = (struct ak_job_info){.state = AK_JOB_RUNNING};
    fill(work);
    ck_requeue_line(ck_requeue_decide(&work->run), &work->run, line, sizeof line);
    if (*line)
        ak_job_log("%s", line);
}

/* Whether slurmctld has to say what Slurm does with a run that is not requeued. */
static bool may_end_held(const struct ck_batch *batch) {
    return AK_SLURM_EXPEDITES && batch->exited && batch->script != 0;
}

/* One question, after end_early. */
static void look_whether_held(void *arg) {
    struct work *work = arg;
    wait_for_previous(work);
    ak_job_load(work->batch.job, &work->info);
    if (work->info.error)
        return;
    fill(work);
    say_held(&work->run);
    if (*work->batch.iterations)
        leave_progress(work);
}

void ck_batch_end(const struct ck_batch *batch, struct ak_async_call *previous, int64_t span) {
    bool says = *batch->iterations, requeue = batch->request.on && batch->request.requeue;
    struct work *work = requeue || says ? new_work(batch, previous) : NULL;
    struct ak_async_call *call = NULL;
    if (work && requeue)
        ck_step_records_read(batch->state, batch->job, &work->steps);
    bool early = work && requeue && batch->at == 0 && work->steps.heard == 0;
    if (early)
        end_early(work);
    if (work && requeue && !early)
        call = ak_async_start(end_run, work);
    else if (early && may_end_held(batch))
        call = ak_async_start(look_whether_held, work);
    else if (work && says)
        call = ak_async_start(only_progress, work);
    if (!call) {
        if (previous)
            ak_async_done(previous, span);
        ak_async_release(previous);
        free(work);
        return;
    }
    if (ak_async_done(call, span)) {
        ak_async_release(call);
        return;
    }
    if (requeue && !early)
        ak_job_log("slurmctld does not respond; the job is requeued if it responds before slurmstepd ends");
    ak_pin_plugin();
    late = call;
    late_pid = getpid();
}

/* Runs when slurmstepd ends, which is once slurmctld knows that the job has. Trap: a child of slurmstepd that
 * ends has the call, but not its thread. */
__attribute__((destructor)) static void wait_for_late(void) {
    if (late && late_pid == getpid())
        ak_async_done(late, LATE_WAIT);
}
