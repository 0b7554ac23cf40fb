/* The signal before the kill: glue between Slurm and the parts. docs/checkpoint.md says what users and
 * operators see of it.
 *
 * Every callback returns 0 in every release: whatever goes wrong here costs the signal, never the job or the
 * node. */
#include <inttypes.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "batch_end.h"
#include "common/async_call.h"
#include "common/clock.h"
#include "common/job_log.h"
#include "common/slurm_compat.h"

SPANK_PLUGIN(adminkit_ckpt, 1)

#define VARIABLE "ADMINKIT_CKPT"
#define EXIT_SPAN 3700 /* ms for slurmctld when a run has ended; with all other waits below 5 s */
#define FEW 8          /* nodes of a step that may each say so where nothing hears the signal on them */

enum { SIGNAL = 1, REQUEUE, TARGET, OFF };

/* One process is one step on one node, or one sbatch. */
static struct {
    bool disabled;
    struct ck_site site;
    char text[TARGET + 1][CK_WORD]; /* of the options given */
    struct ck_said said;
    bool looked; /* at the first task already */
    struct ck_wish wish;
    struct ck_watch *watch;
    struct ck_batch batch; /* job and wish in every step; the rest in the batch step only */
    bool is_batch, empty;
    int script;           /* exit code of the batch script */
    uint32_t node, nodes; /* of the step */
    struct ck_call *note;
    bool codes[256]; /* left already */
} ck;

/* An option longer than a word of ours is kept cut, and so not understood. */
static int on_option(int which, const char *text, int remote) {
    (void)remote;
    if (which == OFF) {
        ck.said.off = true;
        return 0;
    }
    if (which < SIGNAL || which > TARGET)
        return 0;
    snprintf(ck.text[which], CK_WORD, "%s", text ? text : "");
    const char **place[] = {
        [SIGNAL] = &ck.said.signal, [REQUEUE] = &ck.said.requeue, [TARGET] = &ck.said.target};
    *place[which] = ck.text[which];
    return 0;
}

static struct spank_option OPTIONS[] = {
    {"ckpt-signal", "SIG@SECONDS",
     "adminkit: send SIG (HUP INT QUIT USR1 USR2 TERM XCPU) to the processes that catch it, SECONDS before "
     "the job's end",
     1, SIGNAL, on_option},
    {"ckpt-requeue", "[MAX]",
     "adminkit: put the batch job back into the queue when it was signalled and left with work to do, MAX "
     "times at most",
     2, REQUEUE, on_option},
    {"ckpt-target", "shell|jvm", "adminkit: let a shell's trap, or Java, be what is signalled", 1, TARGET,
     on_option},
    {"ckpt-off", NULL, "adminkit: no signal and no requeue, whatever this site's default is", 0, OFF,
     on_option},
};

int slurm_spank_init(spank_t spank, int words, char **word) {
    char why[160];
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        spank_option_register(spank, &OPTIONS[i]);
    if (!ck_site_read(&ck.site, words, word, why, sizeof why)) {
        ck.disabled = true;
        slurm_error("adminkit_ckpt: in plugstack.conf %s; the plugin does nothing", why);
    }
    return 0;
}

/* In sbatch, salloc and srun: what the user should know before the job waits for hours. */
int slurm_spank_init_post_opt(spank_t spank, int words, char **word) {
    (void)spank, (void)words, (void)word;
    spank_context_t context = spank_context();
    if (ck.disabled || (context != S_CTX_ALLOCATOR && context != S_CTX_LOCAL))
        return 0;
    char why[256];
    ck.said.variable = getenv(VARIABLE);
    ck_wish_read(&ck.wish, &ck.said, &ck.site, why, sizeof why);
    if (*why)
        ck_say("%s", why);
    return 0;
}

/* In sbatch, when all options are read. Where that does not know the mode, the second run tells: on_fired().
 */
static void hint_at_output(void) {
    const char *mode = getenv("SLURM_OPEN_MODE");
    bool sbatch = strcmp(program_invocation_short_name, "sbatch") == 0,
         said = ck.said.requeue || ck.said.variable;
    if (CK_SBATCH_SAYS_MODE && sbatch && said && ck.wish.on && ck.wish.requeue && (!mode || *mode != 'a') &&
        !ck_ask_appends())
        ck_say("its output file is emptied each time the job runs again; keep it with --open-mode=append");
}

static void say_moment(const struct ck_moment *moment) {
    char line[256], clock[32];
    time_t at = (time_t)(moment->at / CK_SECOND);
    struct tm local;
    localtime_r(&at, &local);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", &local);
    ck_heard_line(moment->heard, line, sizeof line);
    ck_say("%s, at %s, %" PRId64 " s before the end", line, clock,
           (moment->end - moment->at + CK_SECOND / 2) / CK_SECOND);
}

/* A batch script that waits for its srun: the step has a watch of its own. */
static bool waits_for_srun(const struct ck_heard *heard) {
    for (size_t i = 0; heard->chosen == 0 && i < heard->told_count; i++)
        if (heard->told[i].why == CK_LAUNCHER && strcmp(heard->told[i].comm, "srun") == 0)
            return true;
    return false;
}

/* In the watch's thread. */
static bool on_fired(const struct ck_moment *moment, void *subject) {
    (void)subject;
    uint32_t heard = (uint32_t)moment->heard->sent;
    int64_t at = moment->at / CK_SECOND;
    bool by_step = ck.is_batch && waits_for_srun(moment->heard);
    ck.batch.heard = heard;
    if (ck.is_batch) {
        if (moment->first)
            ck.batch.at = at;
        if (moment->first && ck.empty && moment->answer && moment->answer->restarts > 0)
            ck_say("the output of the run before was overwritten; keep it with sbatch --open-mode=append");
        ck.note = ck_note_signal(&ck.batch, moment->answer, ck.note);
    } else {
        ck_records_heard(ck.site.state, ck.batch.job, heard, at);
    }
    if ((ck.node == 0 || (heard == 0 && ck.nodes <= FEW)) && !by_step)
        say_moment(moment);
    return heard == 0 && !by_step;
}

static void start_watch(spank_t spank, pid_t task, uint32_t step) {
    struct ck_plan plan = {.job = ck.batch.job,
                           .task = task,
                           .signal = ck.wish.signal,
                           .shells = ck.wish.shells,
                           .jvms = ck.wish.jvms,
                           .fired = on_fired};
    plan.terms = (struct ck_terms){.began = ck_now(),
                                   .lead = ck.wish.lead * CK_SECOND,
                                   .quiet = ck.site.quiet * CK_SECOND,
                                   .poll = ck.site.poll * CK_SECOND,
                                   .nodes = 1,
                                   .seed = ck.batch.job * 2654435761u ^ step};
    if (spank_get_item(spank, S_JOB_UID, &plan.uid) != ESPANK_SUCCESS)
        return;
    if (!ck.is_batch) { /* whose job may have many nodes, but it has one */
        spank_get_item(spank, S_JOB_NNODES, &plan.terms.nodes);
        spank_get_item(spank, S_JOB_NODEID, &plan.terms.node);
    }
    ck.node = plan.terms.node;
    ck.nodes = plan.terms.nodes;
    if (!ck_step_cgroup(task, plan.cgroup, sizeof plan.cgroup))
        *plan.cgroup = '\0';
    ck.watch = ck_watch_start(&plan);
    if (!ck.watch)
        ck_say("no signal will be sent: there is no thread to wait for its moment");
}

/* Whether the output begins empty: a run before this one left at least the line that announced this one. Its
 * number is not to be had here without a question (S_SLURM_RESTART_COUNT is 0 in a batch step). */
static bool output_is_empty(void) {
    struct stat output;
    return fstat(STDERR_FILENO, &output) == 0 && S_ISREG(output.st_mode) && output.st_size == 0;
}

static void begin(spank_t spank) {
    static char variable[CK_WORD];
    char why[256];
    pid_t task;
    uint32_t step;
    if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step == SLURM_EXTERN_CONT ||
        step == SLURM_INTERACTIVE_STEP || spank_get_item(spank, S_JOB_ID, &ck.batch.job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_PID, &task) != ESPANK_SUCCESS)
        return;
    ck.is_batch = step == SLURM_BATCH_SCRIPT;
    spank_err_t got = spank_getenv(spank, VARIABLE, variable, sizeof variable);
    if (got == ESPANK_SUCCESS || got == ESPANK_NOSPACE)
        ck.said.variable = variable;
    ck_wish_read(&ck.wish, &ck.said, &ck.site, why, sizeof why);
    if (*why && ck.is_batch)
        ck_say("%s", why);
    if (!ck.wish.on)
        return;
    ck.batch.wish = ck.wish;
    ck.batch.code = ck.site.code;
    snprintf(ck.batch.state, sizeof ck.batch.state, "%s", ck.site.state);
    if (ck.is_batch) {
        int error = ck_records_begin(ck.site.state, ck.batch.job);
        if (error)
            slurm_error("adminkit_ckpt: no records of steps in %s: %s", ck.site.state, strerror(error));
        ck.empty = ck.wish.requeue && output_is_empty();
    }
    start_watch(spank, task, step);
}

/* All tasks are forked when the first of these comes. */
int slurm_spank_task_post_fork(spank_t spank, int words, char **word) {
    (void)words, (void)word;
    if (!ck.disabled && !ck.looked && spank_remote(spank) == 1) {
        ck.looked = true;
        begin(spank);
    }
    return 0;
}

int slurm_spank_task_exit(spank_t spank, int words, char **word) {
    (void)words, (void)word;
    int status;
    if (!ck.wish.on || spank_remote(spank) != 1 ||
        spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
        return 0;
    int code = ck_exit_code(status) & 255;
    if (ck.is_batch)
        ck.script = code;
    else if (!ck.codes[code])
        ck_records_code(ck.site.state, ck.batch.job, code);
    ck.codes[code] = true;
    return 0;
}

int slurm_spank_exit(spank_t spank, int words, char **word) {
    (void)words, (void)word;
    if (spank_context() == S_CTX_ALLOCATOR)
        hint_at_output();
    if (!ck.wish.on || spank_remote(spank) != 1)
        return 0;
    ck_watch_stop(ck.watch);
    ck.watch = NULL;
    if (!ck.is_batch)
        return 0;
    ck.batch.script = ck.script;
    ck_end_run(&ck.batch, ck.note, EXIT_SPAN);
    ck.note = NULL;
    ck_records_end(ck.site.state, ck.batch.job);
    return 0;
}
