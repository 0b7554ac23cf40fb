/* watch.c - see watch.h. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/job_gres.h"
#include "common/job_log.h"
#include "common/slurmctld.h"
#include "common/step_thread.h"
#include "files.h"
#include "sampler.h"
#include "sums.h"
#include "word.h"

#define SECOND 1000
#define ANSWER_WAIT 500 /* ms between looks for slurmctld's answer */
#define AGAIN 60        /* s after an answer that failed */
#define LAST_WORD 2500  /* ms for the word at the end */
#define RECENT 60       /* s: a step's last word is left out where another is that young */
#define STOP_SPAN 4800  /* ms: sampler, the word on its way, the last word */
#define STARTS 3        /* of a sampler that ends without a word */

struct gu_watch {
    struct gu_site site;
    uint32_t job;
    enum gu_step step;
    char file[PATH_MAX];
    struct ak_step_thread thread;
    int lock_file;
    struct gu_sampler sampler;
    struct ak_job_gres gres;
    uint32_t minor[GU_GPUS], count;
    unsigned starts;
    struct ak_async_call *word; /* that is being left */
};

/* Waits; false: the step ends. */
static bool wait_for(struct gu_watch *watch, int64_t span) {
    return ak_step_thread_wait(&watch->thread, span);
}

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

/* One question to slurmctld; false: the step ends. */
static bool ask_once(struct gu_watch *watch) {
    struct question *question = calloc(1, sizeof *question);
    watch->gres.error = ENOMEM;
    if (!question)
        return true;
    question->job = watch->job;
    struct ak_async_call *call = ak_async_start(ask, question);
    if (!call) {
        free(question);
        return true;
    }
    bool goes_on = true, done;
    while (!(done = ak_async_done(call, 0)) && (goes_on = wait_for(watch, ANSWER_WAIT)))
        ;
    if (done)
        watch->gres = ((struct question *)ak_async_arg(call))->gres;
    ak_async_release(call);
    return goes_on;
}

/* Which GPUs of this node the job has. False: none that can be measured, or the step ends. */
static bool find_gpus(struct gu_watch *watch) {
    do {
        if (!ask_once(watch))
            return false;
        if (!watch->gres.error) {
            if (!watch->gres.found)
                ak_node_log("adminkit_gpu_use: job %" PRIu32
                            ": none of its nodes has this host's name; its GPUs here "
                            "are not measured",
                            watch->job);
            watch->count = watch->gres.found ? gu_gres_gpus(watch->gres.text, watch->minor) : 0;
            return watch->count > 0;
        }
    } while (wait_for(watch, AGAIN * SECOND));
    return false;
}

struct report {
    uint32_t job;
    struct gu_sums sums;
};

static void leave_word(void *arg) {
    struct report *report = arg;
    struct ak_job_info info;
    char comment[AK_COMMENT_MAX + 1];
    ak_job_load(report->job, &info);
    if (!info.error && info.state == AK_JOB_RUNNING && info.start == report->sums.run && info.comment_whole &&
        gu_word_put(comment, sizeof comment, info.comment, &report->sums) &&
        strcmp(comment, info.comment) != 0)
        ak_job_set_comment(report->job, comment);
}

/* Leaves the word, in a thread of its own; of two at a time only the first. */
static void report(struct gu_watch *watch) {
    if (watch->word && !ak_async_done(watch->word, 0))
        return;
    ak_async_release(watch->word);
    watch->word = NULL;
    struct report *its = calloc(1, sizeof *its);
    if (!its)
        return;
    its->job = watch->job;
    if (gu_sums_read(watch->file, &its->sums))
        watch->word = ak_async_start(leave_word, its);
    if (!watch->word)
        free(its);
    else
        gu_files_reported(watch->site.state, watch->job);
}

/* Whether this step leaves a word when it ends. */
static bool has_last_word(const struct gu_watch *watch) {
    struct gu_sums sums;
    if (watch->step == GU_EXTERN || !gu_sums_read(watch->file, &sums))
        return false;
    return watch->step == GU_BATCH ||
           (sums.node != 0 && gu_files_since_report(watch->site.state, watch->job) >= RECENT);
}

/* Starts the sampler, or sees that it runs. False: it cannot. */
static bool keep_sampler(struct gu_watch *watch) {
    char why[200];
    if (gu_sampler_runs(&watch->sampler, why, sizeof why))
        return true;
    int error = 0;
    if (!*why && watch->starts++ < STARTS) {
        struct gu_order order = {.job = watch->job,
                                 .node = watch->gres.node,
                                 .count = watch->count,
                                 .run = watch->gres.start,
                                 .minor = watch->minor,
                                 .file = watch->file};
        error = gu_sampler_start(&watch->sampler, &watch->site, &order);
        if (!error)
            return true;
    }
    ak_node_log("adminkit_gpu_use: job %" PRIu32 ": its GPUs are not measured: %s", watch->job,
                *why    ? why
                : error ? strerror(error)
                        : "the sampler was killed");
    return false;
}

static void measure(struct gu_watch *watch) {
    int64_t next = ak_steady() + watch->site.report * SECOND;
    while (keep_sampler(watch) && wait_for(watch, watch->site.period * SECOND))
        if (ak_steady() >= next) {
            report(watch);
            next = ak_steady() + watch->site.report * SECOND;
        }
    gu_sampler_stop(&watch->sampler);
}

static void free_watch(void *it) {
    struct gu_watch *watch = it;
    if (watch->lock_file >= 0)
        close(watch->lock_file);
    free(watch);
}

/* The word of a step that ends. An earlier word that is still on its way to slurmctld stands in its place. */
static void leave_last_word(struct gu_watch *watch) {
    if (watch->word && !ak_async_done(watch->word, SECOND))
        return;
    report(watch);
    if (watch->word)
        ak_async_done(watch->word, LAST_WORD);
}

static void work(void *it) {
    struct gu_watch *watch = it;
    bool goes_on = wait_for(watch, watch->site.period * SECOND);
    while (goes_on && (watch->lock_file = gu_files_lock(watch->site.state, watch->job)) == -EWOULDBLOCK)
        goes_on = wait_for(watch, watch->site.period * SECOND);
    if (goes_on && watch->lock_file < 0)
        ak_node_log("adminkit_gpu_use: job %" PRIu32 ": its GPUs are not measured: couldn't use %s: %s",
                    watch->job, watch->site.state, strerror(-watch->lock_file));
    if (goes_on && watch->lock_file >= 0 && find_gpus(watch))
        measure(watch);
    while (wait_for(watch, AGAIN * SECOND))
        ;
    if (has_last_word(watch))
        leave_last_word(watch);
    ak_async_release(watch->word);
}

struct gu_watch *gu_watch_start(const struct gu_site *site, uint32_t job, enum gu_step step) {
    static const struct ak_step_life life = {.work = work, .release = free_watch};
    struct gu_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->site = *site;
    watch->job = job;
    watch->step = step;
    watch->lock_file = watch->sampler.socket = -1;
    gu_files_sums(site->state, job, watch->file, sizeof watch->file);
    if (ak_step_thread_start(&watch->thread, &life, watch) == 0)
        return watch;
    free(watch);
    return NULL;
}

void gu_watch_stop(struct gu_watch *watch) {
    if (watch)
        ak_step_thread_stop(&watch->thread, STOP_SPAN);
}
