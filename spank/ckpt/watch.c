#include "watch.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/suspended.h"
#include "common/task_env.h"

#define LONG (60 * CK_SECOND) /* the longest sleep: the machine's clock may be set meanwhile */
#define LISTEN 50             /* while an answer is awaited */
#define RETRY (5 * CK_SECOND)
#define PATIENCE (2 * CK_SECOND) /* for an answer that the signal waits for */
#define STOP CK_SECOND
#define LOOK (CK_SECOND / 4) /* a task is looked at when it is that old, twice that, four times … */
#define LOOKS 9

struct ck_watch {
    struct ck_plan plan;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, ended, left; /* left: nobody waits for the thread any more */
    /* of the thread alone */
    struct ck_known known;
    struct ck_call *question;
    bool paused, over; /* over: the job is ending, nothing is left to do */
    bool answered;
    struct ck_answer answer; /* the last one that was none of an error */
    int looks, attempts;
    int64_t attempted;
};

struct question {
    uint32_t job;
    struct ck_answer answer;
};

static void ask(void *subject) {
    struct question *question = subject;
    ck_ask(question->job, &question->answer);
}

/* The subject of a question outlives its call only until ck_call_end, so it is read before. */
static void take_answer(struct ck_watch *watch, const struct ck_answer *answer) {
    if (answer->error)
        return;
    watch->known.failures = 0;
    watch->known.suspended = answer->state == CK_SUSPENDED;
    watch->over = answer->state != CK_RUNNING && answer->state != CK_SUSPENDED;
    if (answer->state == CK_RUNNING && answer->end > 0)
        watch->known.end = answer->end * CK_SECOND;
    watch->known.doubt = 0;
    watch->answered = true;
    watch->answer = *answer;
}

static void put_question(struct ck_watch *watch, int64_t now) {
    watch->known.asked = now;
    watch->known.failures++;
    if (watch->question)
        return; /* the one before is not answered yet */
    struct question *question = calloc(1, sizeof *question);
    if (!question)
        return;
    question->job = watch->plan.job;
    watch->question = ck_call_start(ask, question);
    if (!watch->question)
        free(question);
}

static void look_for_answer(struct ck_watch *watch) {
    if (!watch->question || !ck_call_done(watch->question, 0))
        return;
    const struct question *question = ck_call_subject(watch->question);
    take_answer(watch, &question->answer);
    ck_call_end(watch->question);
    watch->question = NULL;
}

/* Stopped steps are not signalled: the job is suspended, and its end moves while it is. */
static void look_for_pause(struct ck_watch *watch, int64_t now) {
    bool paused = ck_paused(watch->plan.task, *watch->plan.cgroup ? watch->plan.cgroup : NULL);
    if (watch->paused && !paused) {
        watch->known.suspended = false;
        watch->known.doubt = now;
    }
    watch->paused = paused;
}

static bool is_left(struct ck_watch *watch) {
    pthread_mutex_lock(&watch->lock);
    bool left = watch->left;
    pthread_mutex_unlock(&watch->lock);
    return left;
}

/* Signals; true when there is nothing left to do. Reading the processes may take longer than the step lives.
 */
static bool fire(struct ck_watch *watch, int64_t now) {
    const struct ck_plan *plan = &watch->plan;
    struct ck_scope scope = {.uid = plan->uid,
                             .signal = plan->signal,
                             .cgroup = *plan->cgroup ? plan->cgroup : NULL,
                             .stepd = getpid(),
                             .shells = plan->shells,
                             .jvms = plan->jvms};
    struct ck_heard heard;
    ck_deliver(&scope, &heard);
    bool reached = heard.sent > 0, again = true;
    struct ck_moment moment = {.at = now,
                               .end = watch->known.end,
                               .first = watch->attempts == 0,
                               .heard = &heard,
                               .answer = watch->answered ? &watch->answer : NULL};
    if ((moment.first || reached) && !is_left(watch))
        again = plan->fired(&moment, plan->subject);
    ck_heard_free(&heard);
    watch->attempts++;
    watch->attempted = now;
    return reached || !again;
}

/* Nobody heard, and the end as it was known has come. A step that outlives it was given more time: slurmctld
 * is asked once more, and the signal comes before the new end. */
static int64_t outlive(struct ck_watch *watch) {
    if (watch->question)
        return CK_SECOND;
    if (watch->known.asked > watch->known.end)
        return -1;
    watch->known.doubt = watch->known.end + CK_AGAIN;
    return 0;
}

/* A task's prolog may hold up its exec. A step that begins in the last seconds has nothing to save, and the
 * variable may be an outer job's. How long until the next look. */
static int64_t look_for_end(struct ck_watch *watch, int64_t now) {
    const struct ck_terms *terms = &watch->plan.terms;
    if (watch->known.end || watch->known.asked || watch->looks >= LOOKS)
        return LONG;
    int64_t wait = terms->began + (LOOK << watch->looks) - now;
    if (wait > 0)
        return wait;
    int64_t end = ck_given_end(watch->plan.task);
    if (end - terms->lead > terms->began)
        watch->known.end = end;
    watch->looks++;
    return 0;
}

/* One look at everything; how long to sleep then, or -1 when there is nothing left to do. */
static int64_t turn(struct ck_watch *watch) {
    int64_t now = ck_now();
    look_for_answer(watch);
    if (watch->over)
        return -1;
    if (watch->known.suspended || watch->paused)
        look_for_pause(watch, now);
    int64_t longest = look_for_end(watch, now);
    struct ck_next next = ck_deadline_next(&watch->plan.terms, &watch->known, now);
    if (next.act == CK_FIRE && watch->attempts > 0) {
        if (now + RETRY > watch->known.end)
            return outlive(watch);
        if (next.at < watch->attempted + RETRY)
            next.at = watch->attempted + RETRY;
    }
    if (next.at <= now && next.act == CK_ASK) {
        put_question(watch, now);
        return LISTEN;
    }
    if (next.at <= now) {
        look_for_pause(watch, now);
        if (watch->paused)
            return CK_SECOND;
        if (watch->known.doubt > watch->known.asked)
            return 0;
        bool unsure = watch->known.doubt || !watch->answered;
        if (unsure && watch->question && now < watch->known.asked + PATIENCE)
            return LISTEN;
        return fire(watch, now) ? -1 : RETRY;
    }
    int64_t span = next.at - now;
    if (watch->question)
        return span < LISTEN ? span : LISTEN;
    if (watch->known.suspended || watch->paused)
        return span < CK_SECOND ? span : CK_SECOND;
    return span < longest ? span : longest;
}

static void release(struct ck_watch *watch) {
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static void *body(void *subject) {
    struct ck_watch *watch = subject;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        pthread_mutex_unlock(&watch->lock);
        int64_t span = turn(watch);
        pthread_mutex_lock(&watch->lock);
        if (span < 0)
            break;
        if (!watch->stop)
            ck_clock_wait(&watch->wake, &watch->lock, span);
    }
    pthread_mutex_unlock(&watch->lock);
    ck_call_end(watch->question);
    pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    bool left = watch->left;
    pthread_mutex_unlock(&watch->lock);
    if (left)
        release(watch);
    return NULL;
}

struct ck_watch *ck_watch_start(const struct ck_plan *plan) {
    struct ck_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->plan = *plan;
    pthread_mutex_init(&watch->lock, NULL);
    if (ck_clock_cond(&watch->wake) != 0)
        goto fail;
    if (ck_thread(&watch->thread, body, watch) == 0)
        return watch;
    pthread_cond_destroy(&watch->wake);
fail:
    pthread_mutex_destroy(&watch->lock);
    free(watch);
    return NULL;
}

/* A timed join goes by a clock that may be set meanwhile; glibc has had one with another since 2.31 only. The
 * thread mostly ends at once, and a short step should not wait. */
static bool join_in_time(pthread_t thread) {
    struct timespec span = {0, 50000};
    for (int64_t waited = 0; waited < STOP * 1000000; waited += span.tv_nsec) {
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return true;
        nanosleep(&span, NULL);
        if (span.tv_nsec < 5000000)
            span.tv_nsec *= 2;
    }
    return false;
}

void ck_watch_stop(struct ck_watch *watch) {
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    if (!join_in_time(watch->thread)) {
        pthread_mutex_lock(&watch->lock);
        watch->left = !watch->ended;
        if (watch->left) {
            pthread_detach(watch->thread);
            ck_pin();
            pthread_mutex_unlock(&watch->lock);
            return; /* it frees its memory when it ends */
        }
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    release(watch);
}
