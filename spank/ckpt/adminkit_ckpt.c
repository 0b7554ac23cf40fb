/* adminkit_ckpt.c - the signal before the kill: glue between Slurm and the parts. docs/checkpoint.md has what
 * users and operators see of it.
 *
 * Every callback returns 0: whatever fails here costs the signal, never the job or the node. */
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
#include "common/cgroup.h"
#include "common/clock.h"
#include "common/job_log.h"
#include "common/slurm_compat.h"
#include "common/slurmctld.h"
#include "step_records.h"

SPANK_PLUGIN(adminkit_ckpt, 1)

#define VARIABLE "ADMINKIT_CKPT"
#define ELASTIC "ADMINKIT_ELASTIC"
#define GPUS "ADMINKIT_GPUS"
#define ORDER_POLL 60  /* s: how long an order waits at most to be seen */
#define EXIT_SPAN 3700 /* ms for slurmctld when a run has ended; with all other waits below 5 s */
#define FEW_NODES 8    /* of a step up to this size each node without a target logs that */

enum { SIGNAL = 1, REQUEUE, TARGET, OFF };

/* A process is one step on one node, or one sbatch, salloc or srun. */
static struct {
    bool disabled;
    struct ck_site site;
    char text[TARGET + 1][CK_WORD_SIZE]; /* what `options` points to */
    struct ck_job_options options;
    bool begun; /* the first task was seen */
    struct ck_request request;
    struct ck_watch *watch;
    struct ck_batch batch; /* job and request in every step; the rest in the batch step only */
    bool is_batch, output_empty;
    uint32_t node, nodes; /* of the step */
    struct ak_async_call *note;
    bool codes[256]; /* exit codes that are recorded already */
} ck;

/* A text that is too long is cut, and then not understood. */
static int on_option(int which, const char *text, int remote) {
    (void)remote;
    if (which == OFF) {
        ck.options.off = true;
        return 0;
    }
    if (which < SIGNAL || which > TARGET)
        return 0;
    snprintf(ck.text[which], CK_WORD_SIZE, "%s", text ? text : "");
    const char **option[] = {
        [SIGNAL] = &ck.options.signal, [REQUEUE] = &ck.options.requeue, [TARGET] = &ck.options.target};
    *option[which] = ck.text[which];
    return 0;
}

static struct spank_option OPTIONS[] = {
    {"ckpt-signal", "SIG@SECONDS",
     "adminkit: send SIG (HUP INT QUIT USR1 USR2 TERM XCPU) to the processes that catch it, SECONDS before "
     "the job's end",
     1, SIGNAL, on_option},
    {"ckpt-requeue", "[MAX]",
     "adminkit: requeue the batch job if it was signalled and exited with work left to do, at most MAX times",
     2, REQUEUE, on_option},
    {"ckpt-target", "shell|jvm", "adminkit: send the signal to a shell with a trap, or to Java", 1, TARGET,
     on_option},
    {"ckpt-off", NULL, "adminkit: no signal and no requeue, whatever the site's default", 0, OFF, on_option},
};

int slurm_spank_init(spank_t spank, int argc, char **argv) {
    char why[160];
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        spank_option_register(spank, &OPTIONS[i]);
    if (!ck_site_read(&ck.site, argc, argv, why, sizeof why)) {
        ck.disabled = true;
        slurm_error("adminkit_ckpt: error in plugstack.conf: %s; the plugin does nothing", why);
    }
    return 0;
}

/* In sbatch, salloc and srun: what the user has to know before the job waits for hours. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv) {
    (void)spank, (void)argc, (void)argv;
    spank_context_t context = spank_context();
    if (ck.disabled || (context != S_CTX_ALLOCATOR && context != S_CTX_LOCAL))
        return 0;
    char why[256];
    ck.options.variable = getenv(VARIABLE);
    ck_request_read(&ck.request, &ck.options, &ck.site, why, sizeof why);
    if (*why)
        ak_job_log("%s", why);
    const char *elastic = getenv(ELASTIC);
    struct ck_range range;
    if (elastic && *elastic && !ck_range_read(&range, elastic))
        ak_job_log(ELASTIC
                   "=%.60s is not understood: it must be LEAST-MOST, such as 1-8; the job keeps its GPUs",
                   elastic);
    else if (elastic && *elastic && !(ck.request.on && ck.request.requeue))
        ak_job_log(ELASTIC " needs a checkpoint and a requeue, such as " VARIABLE
                           "=TERM@300,requeue=10; the job keeps its GPUs");
    return 0;
}

/* In sbatch, when all options are read. Where sbatch does not know the open mode, on_fired() of the second
 * run logs that. */
static void hint_at_open_mode(void) {
    const char *mode = getenv("SLURM_OPEN_MODE");
    bool sbatch = strcmp(program_invocation_short_name, "sbatch") == 0,
         asked = ck.options.requeue || ck.options.variable;
    if (AK_SBATCH_HAS_OPEN_MODE && sbatch && asked && ck.request.on && ck.request.requeue &&
        (!mode || *mode != 'a') && !ak_appends_output())
        ak_job_log("the job's output file is emptied each time it runs again; keep the output with "
                   "--open-mode=append");
}

static void log_firing(const struct ck_firing *firing) {
    char line[256], clock[32];
    time_t at = (time_t)(firing->at / CK_SECOND);
    struct tm local;
    localtime_r(&at, &local);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", &local);
    ck_delivery_line(firing->delivery, line, sizeof line);
    if (firing->gpus == CK_SAME_GPUS)
        ak_job_log("%s, at %s, because the job does not use its GPUs", line, clock);
    else if (firing->gpus)
        ak_job_log("%s, at %s, to continue with %" PRIu32 " GPUs", line, clock, firing->gpus);
    else
        ak_job_log("%s, at %s, %" PRId64 " s before the end", line, clock,
                   (firing->end - firing->at + CK_SECOND / 2) / CK_SECOND);
}

/* Whether a batch script waits for its srun: the step of that has a watch of its own. */
static bool waits_for_srun(const struct ck_delivery *delivery) {
    for (size_t i = 0; delivery->targets == 0 && i < delivery->recipient_count; i++)
        if (delivery->recipient[i].role == CK_ROLE_LAUNCHER &&
            strcmp(delivery->recipient[i].comm, "srun") == 0)
            return true;
    return false;
}

/* See struct ck_plan; in the watch's thread. */
static bool on_fired(const struct ck_firing *firing, void *arg) {
    (void)arg;
    uint32_t heard = (uint32_t)firing->delivery->sent;
    int64_t at = firing->at / CK_SECOND;
    bool by_step = ck.is_batch && waits_for_srun(firing->delivery);
    ck.batch.heard = heard;
    if (ck.is_batch) {
        ck_progress_read(&ck.batch.progress, ck.batch.iterations);
        if (firing->first)
            ck.batch.at = at;
        if (firing->first && ck.output_empty && firing->info && firing->info->restarts > 0)
            ak_job_log(
                "the output of the previous run was overwritten; keep it with sbatch --open-mode=append");
        ck.note = ck_batch_signalled(&ck.batch, firing->info, ck.note);
    } else {
        ck_step_records_add_signal(ck.site.state, ck.batch.job, heard, at);
    }
    if ((ck.node == 0 || (heard == 0 && ck.nodes <= FEW_NODES)) && !by_step)
        log_firing(firing);
    return heard == 0 && !by_step;
}

/* How often to ask for the job, in seconds; 0: as deadline.h has it. */
static long poll_of(const struct ck_elastic *elastic) {
    bool sooner = elastic->range.most && (ck.site.poll == 0 || ck.site.poll > ORDER_POLL);
    return sooner ? ORDER_POLL : ck.site.poll;
}

static void start_watch(spank_t spank, pid_t task, uint32_t step) {
    struct ck_plan plan = {.job = ck.batch.job,
                           .task = task,
                           .signal = ck.request.signal,
                           .shells = ck.request.shells,
                           .jvms = ck.request.jvms,
                           .fired = on_fired,
                           .elastic = ck.batch.elastic};
    plan.terms = (struct ck_terms){.began = ak_now(),
                                   .lead = ck.request.lead * CK_SECOND,
                                   .quiet = ck.site.quiet * CK_SECOND,
                                   .poll = poll_of(&ck.batch.elastic) * CK_SECOND,
                                   .nodes = 1,
                                   .seed = ck.batch.job * 2654435761u ^ step};
    if (spank_get_item(spank, S_JOB_UID, &plan.uid) != ESPANK_SUCCESS)
        return;
    if (!ck.is_batch) { /* Trap: of a batch step these are the job's, and it runs on one node */
        spank_get_item(spank, S_JOB_NNODES, &plan.terms.nodes);
        spank_get_item(spank, S_JOB_NODEID, &plan.terms.node);
    }
    ck.node = plan.terms.node;
    ck.nodes = plan.terms.nodes;
    if (!ak_step_cgroup(task, plan.cgroup, sizeof plan.cgroup)) {
        if (*plan.cgroup) /* to slurmd's log: an error would be in the user's output too */
            slurm_info("adminkit_ckpt: job %" PRIu32
                       ": the step's cgroup %s has an unknown name or place: processes are found by their "
                       "parents, and those without a parent are not signalled",
                       ck.batch.job, plan.cgroup);
        *plan.cgroup = '\0';
    }
    ck.watch = ck_watch_start(&plan);
    if (!ck.watch)
        ak_job_log("no signal will be sent: couldn't start the thread that waits for the time to send it");
}

/* Whether the output is an empty file: an earlier run left at least the line that announced this one. Trap:
 * only an RPC tells here whether there was one, as S_SLURM_RESTART_COUNT is 0 in a batch step. */
static bool output_is_empty(void) {
    struct stat output;
    return fstat(STDERR_FILENO, &output) == 0 && S_ISREG(output.st_mode) && output.st_size == 0;
}

/* What orders the job will take: one to be put back, if it asked for a requeue; of another number of GPUs
 * none where the variable is missing or wrong. */
static void read_elastic(spank_t spank) {
    char text[16]; /* a longer one is cut, and not understood */
    struct ck_elastic *elastic = &ck.batch.elastic;
    elastic->requeue = ck.request.requeue;
    elastic->most = (uint32_t)ck.request.requeues;
    elastic->lead = ck.request.lead;
    if (spank_getenv(spank, ELASTIC, text, sizeof text) == ESPANK_SUCCESS)
        ck_range_read(&elastic->range, text);
}

static void begin(spank_t spank) {
    static char variable[CK_WORD_SIZE];
    char why[256];
    pid_t task;
    uint32_t step;
    if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step == SLURM_EXTERN_CONT ||
        step == SLURM_INTERACTIVE_STEP || spank_get_item(spank, S_JOB_ID, &ck.batch.job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_PID, &task) != ESPANK_SUCCESS)
        return;
    ck.is_batch = step == SLURM_BATCH_SCRIPT;
    if (ck.is_batch && *ck.batch.progress.path)
        ck_progress_create(&ck.batch.progress); /* Slurm lets the tasks continue only after this */
    spank_err_t got = spank_getenv(spank, VARIABLE, variable, sizeof variable);
    if (got == ESPANK_SUCCESS || got == ESPANK_NOSPACE)
        ck.options.variable = variable;
    ck_request_read(&ck.request, &ck.options, &ck.site, why, sizeof why);
    if (*why && ck.is_batch)
        ak_job_log("%s", why);
    if (!ck.request.on)
        return;
    ck.batch.request = ck.request;
    read_elastic(spank);
    ck.batch.code = ck.site.code;
    snprintf(ck.batch.state, sizeof ck.batch.state, "%s", ck.site.state);
    if (ck.is_batch) {
        int error = ck_step_records_create(ck.site.state, ck.batch.job);
        if (error)
            slurm_error("adminkit_ckpt: couldn't record steps in %s: %s", ck.site.state, strerror(error));
        ck.output_empty = ck.request.requeue && output_is_empty();
    }
    start_watch(spank, task, step);
}

/* Before the tasks are started: the name of the file in which the job may say how far it came. */
int slurm_spank_user_init(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    uint32_t step;
    int count = 0;
    char **script = NULL;
    struct ck_progress *file = &ck.batch.progress;
    if (ck.disabled || !ck.site.progress || spank_remote(spank) != 1 ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_BATCH_SCRIPT ||
        spank_get_item(spank, S_JOB_UID, &file->uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &file->gid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_ARGV, &count, &script) != ESPANK_SUCCESS || count < 1)
        return 0;
    if (ck_progress_name(file, script[0]) &&
        spank_setenv(spank, CK_PROGRESS_VARIABLE, file->path, 1) != ESPANK_SUCCESS)
        file->path[0] = '\0';
    return 0;
}

/* In the task: how many GPUs an elastic job has now. Trap: the job's environment is that of its submission,
 * and srun would ask for as many as stood there then. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    char text[64], gpus[16], type[64];
    struct ck_range range;
    uint32_t step;
    if (ck.disabled || spank_remote(spank) != 1 ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_BATCH_SCRIPT ||
        spank_getenv(spank, ELASTIC, text, sizeof text) != ESPANK_SUCCESS || !ck_range_read(&range, text) ||
        spank_getenv(spank, "SLURM_GPUS_ON_NODE", gpus, sizeof gpus) != ESPANK_SUCCESS)
        return 0;
    spank_setenv(spank, GPUS, gpus, 1);
    if (spank_getenv(spank, "SLURM_GPUS_PER_NODE", type, sizeof type) == ESPANK_SUCCESS) {
        char *colon = strrchr(type, ':');
        snprintf(text, sizeof text, "%.*s%s", colon ? (int)(colon + 1 - type) : 0, type, gpus);
        spank_setenv(spank, "SLURM_GPUS_PER_NODE", text, 1);
    }
    return 0;
}

/* When Slurm calls this for the first task, all tasks are forked. */
int slurm_spank_task_post_fork(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    if (!ck.disabled && !ck.begun && spank_remote(spank) == 1) {
        ck.begun = true;
        begin(spank);
    }
    return 0;
}

int slurm_spank_task_exit(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    int status;
    if (!ck.request.on || spank_remote(spank) != 1 ||
        spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
        return 0;
    int code = ck_exit_code(status) & 255;
    if (ck.is_batch) {
        ck.batch.script = code;
        ck.batch.exited = WIFEXITED(status);
    } else if (!ck.codes[code])
        ck_step_records_add_code(ck.site.state, ck.batch.job, code);
    ck.codes[code] = true;
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    if (spank_context() == S_CTX_ALLOCATOR)
        hint_at_open_mode();
    if (!ck.begun || spank_remote(spank) != 1)
        return 0;
    if (ck.request.on)
        ck_watch_stop(ck.watch);
    ck.watch = NULL;
    if (!ck.is_batch)
        return 0;
    ck_progress_read(&ck.batch.progress, ck.batch.iterations);
    ck_progress_remove(&ck.batch.progress);
    ck_batch_end(&ck.batch, ck.note, EXIT_SPAN);
    ck.note = NULL;
    if (ck.request.on)
        ck_step_records_remove(ck.site.state, ck.batch.job);
    return 0;
}
