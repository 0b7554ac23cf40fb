/* watch.c - see watch.h. */
#include "watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/job_gres.h"
#include "common/job_log.h"
#include "common/slurmctld.h"
#include "common/step_thread.h"
#include "common/suspended.h"
#include "files.h"
#include "word.h"

#define SECOND 1000
#define SHARE 500      /* one part in 500 of a core */
#define ANSWER 1000    /* ms for slurmctld's answer at the end */
#define AGAIN 60       /* s after an answer that failed */
#define LAST_WORD 2500 /* ms for the word at the end */
#define RECENT 60      /* s: a step's last word is left out where another is that young */
#define STOP_SPAN 4500 /* ms: an answer, and the last word */

struct io_watch {
    struct ak_step_thread thread;
    struct io_site site;
    uint32_t job;
    bool batch;
    pthread_mutex_t lock; /* of `step` */
    struct io_step step;
    /* only the thread uses it */
    struct io_step now; /* a copy, for one look */
    struct io_task task[IO_TASKS];
    int steps;           /* the descriptor of files.h */
    struct io_sums sums; /* since they were added to the job's */
    uint64_t looks, random;
    int64_t asked;
    bool known, refused; /* known: where and when the job runs; refused: slurmd's log has it */
    struct ak_job_gres gres;
    struct ak_async_call *question, *word; /* that are on their way */
};

struct question {
    uint32_t job;
    struct ak_job_gres gres;
};

static void ask(void *arg) {
    struct question *question = arg;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    ak_job_gres_load(question->job, host, &question->gres);
}

static void put_question(struct io_watch *watch) {
    struct question *question = calloc(1, sizeof *question);
    watch->asked = ak_steady();
    if (!question)
        return;
    question->job = watch->job;
    watch->question = ak_async_start(ask, question);
    if (!watch->question)
        free(question);
}

/* Takes the answer, for which it waits `span` ms. */
static void take_answer(struct io_watch *watch, int64_t span) {
    if (!watch->question || !ak_async_done(watch->question, span))
        return;
    watch->gres = ((struct question *)ak_async_arg(watch->question))->gres;
    ak_async_release(watch->question);
    watch->question = NULL;
    watch->known = !watch->gres.error && watch->gres.found;
    if (!watch->gres.error && !watch->gres.found)
        ak_node_log("adminkit_io: job %" PRIu32
                    ": none of its nodes has this host's name; what its tasks here "
                    "wait for is not said",
                    watch->job);
}

struct report {
    uint32_t job, node;
    int64_t run;
    struct io_sums sums;
};

static void leave_word(void *arg) {
    struct report *report = arg;
    struct ak_job_info info;
    char comment[AK_COMMENT_MAX + 1];
    ak_job_load(report->job, &info);
    if (!info.error && info.state == AK_JOB_RUNNING && info.start == report->run && info.comment_whole &&
        io_word_put(comment, sizeof comment, info.comment, report->node, report->run, &report->sums) &&
        strcmp(comment, info.comment) != 0)
        ak_job_set_comment(report->job, comment);
}

/* Adds what this step saw to what is known of its job on this node. False: it cannot. */
static bool add_up(struct io_watch *watch, struct io_sums *all) {
    int error =
        io_files_add(watch->site.state, watch->job, watch->steps, watch->gres.start, &watch->sums, all);
    if (!error)
        watch->sums = (struct io_sums){0};
    return !error;
}

/* Leaves the word, in a thread of its own; of two at a time only the first. */
static void report(struct io_watch *watch, const struct io_sums *sums) {
    if (watch->word && !ak_async_done(watch->word, 0))
        return;
    ak_async_release(watch->word);
    watch->word = NULL;
    struct report *its = calloc(1, sizeof *its);
    if (!its)
        return;
    *its = (struct report){watch->job, watch->gres.node, watch->gres.start, *sums};
    watch->word = ak_async_start(leave_word, its);
    if (watch->word)
        io_files_reported(watch->site.state, watch->job);
    else
        free(its);
}

static void look(struct io_watch *watch) {
    pthread_mutex_lock(&watch->lock);
    watch->now = watch->step;
    pthread_mutex_unlock(&watch->lock);
    const struct io_step *step = &watch->now;
    if (ak_step_suspended(step->task[0], *step->cgroup ? step->cgroup : NULL))
        return;
    enum io_look found = io_threads_look(step, watch->task, &watch->sums);
    bool idle = !watch->batch || io_files_alone(watch->steps);
    if (found == IO_SEEN) {
        watch->looks++;
        io_sums_add(&watch->sums, ak_now() / SECOND, watch->task, step->count, idle);
    } else if (found == IO_REFUSED && !watch->refused) {
        watch->refused = true;
        ak_node_log("adminkit_io: job %" PRIu32 ": the kernel does not say what its threads wait for: "
                    "permission denied",
                    watch->job);
    }
}

/* CPU time of this thread, ms. */
static int64_t cost(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * SECOND + used.tv_nsec / 1000000 + 1;
}

/* The span to the next look: the period, give or take a fifth, so that a program whose rhythm is the same is
 * not seen at one beat only; longer where this thread would take more than its share of a core. */
static int64_t next_span(struct io_watch *watch, int64_t began) {
    int64_t period = watch->site.period * SECOND;
    watch->random = watch->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t span = period * 4 / 5 + (int64_t)((watch->random >> 33) % (uint64_t)(period * 2 / 5));
    int64_t least = began + cost() * SHARE - ak_steady();
    return span > least ? span : least;
}

/* What is due beside the look. */
static void turn(struct io_watch *watch, int64_t *reported) {
    struct io_sums all;
    take_answer(watch, 0);
    if (!watch->known && !watch->question && watch->looks >= IO_FIRST &&
        (!watch->asked || ak_steady() - watch->asked >= AGAIN * SECOND))
        put_question(watch);
    if (!watch->known || ak_steady() - *reported < watch->site.report * SECOND)
        return;
    *reported = ak_steady();
    if (add_up(watch, &all) && io_files_since_report(watch->site.state, watch->job) >= watch->site.report / 2)
        report(watch, &all);
}

/* Adds up what was seen since, and leaves the word of a step that ends. An earlier word that is still on its
 * way to slurmctld stands in its place. */
static void finish(struct io_watch *watch) {
    struct io_sums all;
    take_answer(watch, ANSWER);
    if (!watch->known || ak_step_thread_is_left(&watch->thread) || !add_up(watch, &all))
        return;
    bool due = watch->batch || io_files_since_report(watch->site.state, watch->job) >= RECENT;
    if (!due || (watch->word && !ak_async_done(watch->word, 0)))
        return;
    report(watch, &all);
    if (watch->word)
        ak_async_done(watch->word, LAST_WORD);
}

static void work(void *it) {
    struct io_watch *watch = it;
    int64_t began = ak_steady(), reported = began;
    watch->random = (uint64_t)ak_now() ^ (uint64_t)watch->job << 32;
    watch->steps = io_files_open(watch->site.state, watch->job);
    if (watch->steps < 0) {
        ak_node_log("adminkit_io: job %" PRIu32 ": couldn't use %s: %s", watch->job, watch->site.state,
                    strerror(-watch->steps));
        return;
    }
    if (!watch->batch)
        io_files_hold(watch->steps);
    while (ak_step_thread_wait(&watch->thread, next_span(watch, began))) {
        look(watch);
        turn(watch, &reported);
    }
    finish(watch);
}

static void release(void *it) {
    struct io_watch *watch = it;
    ak_async_release(watch->question);
    ak_async_release(watch->word);
    if (watch->steps >= 0)
        close(watch->steps);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

struct io_watch *io_watch_start(const struct io_site *site, const struct io_step *step, uint32_t job,
                                bool batch) {
    static const struct ak_step_life life = {work, release};
    struct io_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->site = *site;
    watch->step = *step;
    watch->job = job;
    watch->batch = batch;
    watch->steps = -1;
    pthread_mutex_init(&watch->lock, NULL);
    if (ak_step_thread_start(&watch->thread, &life, watch) == 0)
        return watch;
    pthread_mutex_destroy(&watch->lock);
    free(watch);
    return NULL;
}

void io_watch_add_task(struct io_watch *watch, pid_t task) {
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    if (watch->step.count < IO_TASKS)
        watch->step.task[watch->step.count++] = task;
    pthread_mutex_unlock(&watch->lock);
}

void io_watch_stop(struct io_watch *watch) {
    if (watch)
        ak_step_thread_stop(&watch->thread, STOP_SPAN);
}
