/* watch.c - see watch.h. */
#include "watch.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/step_thread.h"
#include "common/suspended.h"
#include "common/task_env.h"
#include "extension.h"

#define LONGEST_SLEEP (60 * CK_SECOND) /* an operator may set the clock meanwhile */
#define ANSWER_SLEEP 50                /* while an answer is awaited */
#define RETRY (5 * CK_SECOND)
#define LATE_ANSWER (2 * CK_SECOND) /* how long the signal waits for an answer */
#define STOP_SPAN CK_SECOND
#define ENV_AGE (CK_SECOND / 4) /* a task's environment is read at that age, twice that, four times … */
#define ENV_READS 9

struct ck_watch {
    struct ck_plan plan;
    struct ak_step_thread thread;
    /* only the thread uses what follows */
    struct ck_known known;
    struct ak_async_call *question;
    bool stopped, over; /* stopped: its node shows the step suspended; over: the job is ending */
    bool sent;          /* the signal before the known end was, or is not to be tried again */
    bool answered;
    struct ak_job_info info; /* the last answer without an error */
    int env_reads, attempts;
    int64_t attempted;
    struct ck_order order; /* of the last answer; gpus 0: none that is due */
    int64_t obeyed;        /* `until` of the order that was obeyed last: orders are known by it */
};

struct question {
    uint32_t job;
    struct ak_job_info info;
};

static void ask(void *arg) {
    struct question *question = arg;
    ak_job_load(question->job, &question->info);
}

static void take_answer(struct ck_watch *watch, const struct ak_job_info *info) {
    if (info->error)
        return;
    watch->known.failures = 0;
    watch->known.suspended = info->state == AK_JOB_SUSPENDED;
    watch->over = info->state != AK_JOB_RUNNING && info->state != AK_JOB_SUSPENDED;
    if (info->state == AK_JOB_RUNNING && info->end > 0) {
        int64_t end = info->end * CK_SECOND;
        if (watch->sent && end > watch->known.end) {
            watch->sent = false;
            watch->attempts = 0;
        }
        watch->known.end = end;
        watch->known.confirmed = true;
    }
    watch->known.extended = ck_extension_stands(info->comment);
    watch->known.doubt = 0;
    watch->answered = true;
    watch->info = *info;
    struct ck_order order;
    bool due = !watch->over && ck_order_find(info->comment, &order) && order.until != watch->obeyed &&
               ck_order_due(&order, &watch->plan.elastic, info, ak_now() / CK_SECOND);
    watch->order = due ? order : (struct ck_order){0, 0};
}

static void put_question(struct ck_watch *watch, int64_t now) {
    watch->known.asked = now;
    watch->known.failures++;
    if (watch->question)
        return; /* the one before has no answer yet */
    struct question *question = calloc(1, sizeof *question);
    if (!question)
        return;
    question->job = watch->plan.job;
    watch->question = ak_async_start(ask, question);
    if (!watch->question)
        free(question);
}

static void look_for_answer(struct ck_watch *watch) {
    if (!watch->question || !ak_async_done(watch->question, 0))
        return;
    const struct question *question = ak_async_arg(watch->question);
    take_answer(watch, &question->info);
    ak_async_release(watch->question);
    watch->question = NULL;
}

/* A step that is stopped or frozen is not signalled: its job is suspended, and the end moves meanwhile. */
static void look_for_stop(struct ck_watch *watch, int64_t now) {
    bool stopped = ak_step_suspended(watch->plan.task, *watch->plan.cgroup ? watch->plan.cgroup : NULL);
    if (watch->stopped && !stopped) {
        watch->known.suspended = false;
        watch->known.doubt = now;
    }
    watch->stopped = stopped;
}

/* Signals the step, for an order or, with gpus 0, before the end. True: a process took it, or `fired` says
 * that it is not to be tried again. Trap: reading the processes may take longer than the step lives. */
static bool deliver(struct ck_watch *watch, int64_t now, uint32_t gpus) {
    const struct ck_plan *plan = &watch->plan;
    struct ck_scope scope = {.uid = plan->uid,
                             .signal = plan->signal,
                             .cgroup = *plan->cgroup ? plan->cgroup : NULL,
                             .stepd = getpid(),
                             .shells = plan->shells,
                             .jvms = plan->jvms};
    struct ck_delivery delivery;
    ck_signal_send(&scope, &delivery);
    bool taken = delivery.sent > 0, again = true;
    struct ck_firing firing = {.at = now,
                               .end = watch->known.end,
                               .first = gpus > 0 || watch->attempts == 0,
                               .delivery = &delivery,
                               .info = watch->answered ? &watch->info : NULL,
                               .gpus = gpus};
    if ((firing.first || taken) && !ak_step_thread_is_left(&watch->thread))
        again = plan->fired(&firing, plan->arg);
    ck_delivery_free(&delivery);
    return taken || !again;
}

/* The signal before the end. */
static void fire(struct ck_watch *watch, int64_t now) {
    watch->sent = deliver(watch, now, 0);
    watch->attempts++;
    watch->attempted = now;
}

/* The signal for an order; that before the end is due all the same, should the step continue. */
static void obey(struct ck_watch *watch, int64_t now) {
    watch->obeyed = watch->order.until;
    deliver(watch, now, watch->order.gpus);
    watch->order.gpus = 0;
}

/* The signal was sent, or no process took it, and the known end has come. A step that outlives it was given
 * more time: slurmctld is asked once more, and the signal comes before the new end. Returns as turn() does.
 */
static int64_t outlive(struct ck_watch *watch) {
    if (watch->question)
        return CK_SECOND;
    if (watch->known.asked > watch->known.end)
        return -1;
    watch->known.doubt = watch->known.end + CK_AGAIN;
    return 0;
}

/* Reads the end from the task's environment, which the task has since its exec; a prolog may delay that.
 * Returns the span to the next reading. Trap: an end within the lead of the step's begin may be an outer
 * job's, and such a step has nothing to save. */
static int64_t read_env(struct ck_watch *watch, int64_t now) {
    const struct ck_terms *terms = &watch->plan.terms;
    if (watch->known.end || watch->known.asked || watch->env_reads >= ENV_READS)
        return LONGEST_SLEEP;
    int64_t wait = terms->began + (ENV_AGE << watch->env_reads) - now;
    if (wait > 0)
        return wait;
    int64_t end = ak_task_job_end(watch->plan.task) * CK_SECOND;
    if (end - terms->lead > terms->began)
        watch->known.end = end;
    watch->env_reads++;
    return 0;
}

/* Does what is due. Returns how long to sleep then; -1: nothing is left to do. */
static int64_t turn(struct ck_watch *watch) {
    int64_t now = ak_now();
    look_for_answer(watch);
    if (watch->over)
        return -1;
    if (watch->sent && now < watch->known.end) {
        int64_t rest = watch->known.end - now, most = watch->question ? ANSWER_SLEEP : LONGEST_SLEEP;
        return rest < most ? rest : most;
    }
    if (watch->known.suspended || watch->stopped)
        look_for_stop(watch, now);
    if (watch->order.gpus && !watch->known.suspended && !watch->stopped) {
        look_for_stop(watch, now);
        if (!watch->stopped)
            obey(watch, now);
    }
    int64_t longest = read_env(watch, now);
    struct ck_next next = ck_deadline_next(&watch->plan.terms, &watch->known, now);
    if (next.act == CK_FIRE && watch->attempts > 0) {
        if (watch->sent || now + RETRY > watch->known.end)
            return outlive(watch);
        if (next.at < watch->attempted + RETRY)
            next.at = watch->attempted + RETRY;
    }
    if (next.at <= now && next.act == CK_ASK) {
        put_question(watch, now);
        return ANSWER_SLEEP;
    }
    if (next.at <= now) {
        look_for_stop(watch, now);
        if (watch->stopped)
            return CK_SECOND;
        if (watch->known.doubt > watch->known.asked)
            return 0;
        if (watch->known.doubt && watch->question && now < watch->known.asked + LATE_ANSWER)
            return ANSWER_SLEEP;
        fire(watch, now);
        return watch->sent ? 0 : RETRY;
    }
    int64_t span = next.at - now;
    if (watch->question)
        return span < ANSWER_SLEEP ? span : ANSWER_SLEEP;
    if (watch->known.suspended || watch->stopped)
        return span < CK_SECOND ? span : CK_SECOND;
    return span < longest ? span : longest;
}

static void work(void *it) {
    struct ck_watch *watch = it;
    int64_t span = 0;
    while (span >= 0 && ak_step_thread_wait(&watch->thread, span))
        span = turn(watch);
    ak_async_release(watch->question);
}

struct ck_watch *ck_watch_start(const struct ck_plan *plan) {
    static const struct ak_step_life life = {.work = work, .release = free};
    struct ck_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->plan = *plan;
    if (ak_step_thread_start(&watch->thread, &life, watch) == 0)
        return watch;
    free(watch);
    return NULL;
}

void ck_watch_stop(struct ck_watch *watch) {
    if (watch)
        ak_step_thread_stop(&watch->thread, STOP_SPAN);
}
