/* adminkit_data.c - training data on the nodes before a job's tasks read it: glue between Slurm and the
 * parts. docs/staging.md has what users and operators see of it.
 *
 * Every callback returns 0: whatever fails here costs the copy, never the job or the node; the job then reads
 * the shared folder. */
#include <inttypes.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/async_call.h"
#include "common/clock.h"
#include "common/job_log.h"
#include "common/slurm_compat.h"
#include "common/slurmctld.h"
#include "helper.h"
#include "state.h"
#include "word.h"

SPANK_PLUGIN(adminkit_data, 1)

#define VARIABLE "ADMINKIT_DATA"
#define WORD_SPAN 2500 /* ms for slurmctld at the end of a step */
#define TURNS 3        /* of leaving the word, where other nodes leave theirs */
#define BETWEEN 150    /* ms between them, and between nodes */
#define FEW_NODES 8    /* of a step up to this size each node says what is missing on it */

enum { DATA = 1 };

/* A process is one step on one node, or one sbatch, salloc or srun. */
static struct {
    struct da_site site;
    bool disabled, asked, is_batch;
    char text[PATH_MAX + 16];
    struct da_step step;
    int state; /* -1: nothing is staged */
} da = {.state = -1};

/* A text that is too long is cut, and the folder then not found. */
static int on_option(int which, const char *text, int remote) {
    (void)which, (void)remote;
    da.asked = text && *text;
    snprintf(da.text, sizeof da.text, "%s", text ? text : "");
    return 0;
}

static struct spank_option OPTION = {"data",
                                     "DIR[:first|behind|off]",
                                     "adminkit: copy the packed data of DIR to each node's cache before the "
                                     "tasks start (first) or while they run "
                                     "(behind); they find it in $" VARIABLE,
                                     1,
                                     DATA,
                                     on_option};

/* Reads plugstack.conf's words; false: the plugin does nothing. */
static bool read_site(int argc, char **argv) {
    char why[160], node[256] = "";
    const char *name = getenv("SLURMD_NODENAME");
    gethostname(node, sizeof node - 1);
    if (!name)
        node[strcspn(node, ".")] = '\0';
    if (da_site_read(&da.site, argc, argv, name ? name : node, why, sizeof why))
        return true;
    slurm_error("adminkit_data: error in plugstack.conf: %s; the plugin does nothing", why);
    return false;
}

int slurm_spank_init(spank_t spank, int argc, char **argv) {
    spank_option_register(spank, &OPTION);
    da.disabled = !read_site(argc, argv);
    return 0;
}

/* The folder from which a relative one is meant: that of the submission. */
static void read_here(spank_t spank, char *here, size_t size) {
    const char *submitted = getenv("SLURM_SUBMIT_DIR");
    here[0] = '\0';
    if (spank_context() == S_CTX_REMOTE)
        spank_getenv(spank, "SLURM_SUBMIT_DIR", here, (int)size);
    else if (spank_context() == S_CTX_LOCAL && submitted && strlen(submitted) < size)
        strcpy(here, submitted);
    else if (!getcwd(here, size))
        here[0] = '\0';
}

static bool read_request(spank_t spank) {
    char here[PATH_MAX];
    const char *why;
    read_here(spank, here, sizeof here);
    if (da_request_read(&da.step.request, da.text, here, &why))
        return true;
    if (spank_context() != S_CTX_REMOTE)
        ak_job_log("--data=%.80s is not understood: %s; write --data=/DIR, or :behind or :off after it",
                   da.text, why);
    return false;
}

/* In sbatch, salloc and srun: the variable names the shared folder until a node has a better one, so that a
 * script is the same where there is no plugin. */
static void begin_here(void) {
    char index[PATH_MAX + 16];
    const char *folder = da.step.request.folder;
    setenv(VARIABLE, folder, 1);
    snprintf(index, sizeof index, "%s/" DA_INDEX, folder);
    if (da.step.request.mode != DA_OFF && access(index, R_OK) != 0)
        ak_job_log(
            "data: %.200s has no index that can be read here, so nothing is copied from it; pack it first: "
            "adminkit data pack %.100s OUT",
            folder, folder);
}

/* The place of this node, and how many there are. Trap: before it has tasks, a batch step has no number of
 * nodes; its node is the first of the job's. */
static void read_place(spank_t spank, struct da_step *step) {
    char nodes[16];
    if (!da.is_batch) {
        spank_get_item(spank, S_JOB_NNODES, &step->nodes);
        spank_get_item(spank, S_JOB_NODEID, &step->node);
    } else if (spank_getenv(spank, "SLURM_JOB_NUM_NODES", nodes, sizeof nodes) == ESPANK_SUCCESS) {
        step->nodes = (uint32_t)strtoul(nodes, NULL, 10);
    }
    if (step->nodes == 0 || step->node >= step->nodes) {
        step->nodes = 1;
        step->node = 0;
    }
}

static void begin_on_node(spank_t spank) {
    uint32_t number;
    struct da_step *step = &da.step;
    step->site = &da.site;
    spank_setenv(spank, VARIABLE, step->request.folder, 1);
    if (step->request.mode == DA_OFF || spank_get_item(spank, S_JOB_STEPID, &number) != ESPANK_SUCCESS ||
        number == SLURM_EXTERN_CONT || spank_get_item(spank, S_JOB_ID, &step->job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &step->uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &step->gid) != ESPANK_SUCCESS)
        return;
    da.is_batch = number == SLURM_BATCH_SCRIPT;
    read_place(spank, step);
    if (spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &step->groups, &step->group_count) != ESPANK_SUCCESS)
        step->group_count = 0;
    da.state = da_helper_start(step);
    if (da.state < 0)
        ak_node_log("adminkit_data: job %" PRIu32 ": nothing is copied to %s: %s", step->job, da.site.cache,
                    strerror(-da.state));
}

/* As root, before the step has tasks. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    spank_context_t context = spank_context();
    if (da.disabled || !da.asked || !read_request(spank))
        return 0;
    if (context == S_CTX_REMOTE)
        begin_on_node(spank);
    else if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR)
        begin_here();
    return 0;
}

static void say(const struct da_record *record, bool impatient) {
    char line[400];
    if ((da.step.node == 0 || da.step.nodes <= FEW_NODES) &&
        da_record_line(record, da.step.request.folder, impatient, line, sizeof line))
        ak_job_log("data: %s", line);
}

/* In the task, as the user: here it may wait for as long as it takes. Trap: before, in init or user_init,
 * srun would give up after 600 s. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    char folder[PATH_MAX];
    bool impatient;
    int task = 0;
    if (da.state < 0 || spank_remote(spank) != 1)
        return 0;
    struct da_record record = da_helper_wait(da.state, &da.site, da.step.request.mode, &impatient);
    snprintf(folder, sizeof folder, "%s/jobs/%" PRIu32, da.site.cache, da.step.job);
    if (record.phase >= DA_READY && record.phase != DA_FAILED && access(folder, R_OK | X_OK) == 0)
        spank_setenv(spank, VARIABLE, folder, 1);
    spank_get_item(spank, S_TASK_ID, &task);
    if (task == 0 && da.step.request.mode == DA_FIRST)
        say(&record, impatient);
    return 0;
}

struct report {
    uint32_t job, node, nodes;
    struct da_record record;
};

/* Trap: nodes whose steps end at the same time read the same comment, and the last one that writes takes the
 * others' words away. So each looks again, a little later than the one before it. */
static void leave_word(void *arg) {
    struct report *report = arg;
    struct ak_job_info info;
    char comment[AK_COMMENT_MAX + 1];
    for (int turn = 0; turn < TURNS; turn++) {
        ak_job_load(report->job, &info);
        if (info.error || !info.comment_whole ||
            !da_word_put(comment, sizeof comment, info.comment, &report->record, report->node, info.start) ||
            strcmp(comment, info.comment) == 0)
            return;
        ak_job_set_comment(report->job, comment);
        if (report->nodes == 1)
            return;
        ak_sleep(BETWEEN + BETWEEN * (int64_t)report->node);
    }
}

/* Leaves the word, unless it has been left, or the batch step will leave it when it ends; waits for that up
 * to WORD_SPAN. */
static void report(const struct da_record *record) {
    uint64_t bytes = record->copied + record->hit;
    bool others_say = !da.is_batch && da.step.node == 0 && da_state_is_locked(da.state, DA_USE);
    if (bytes == 0 || bytes == da_state_said(da.state) || da.step.node >= DA_WORD_NODES || others_say)
        return;
    struct report *its = calloc(1, sizeof *its);
    if (!its)
        return;
    *its =
        (struct report){.job = da.step.job, .node = da.step.node, .nodes = da.step.nodes, .record = *record};
    struct ak_async_call *call = ak_async_start(leave_word, its);
    if (!call) {
        free(its);
        return;
    }
    if (ak_async_done(call, WORD_SPAN))
        da_state_set_said(da.state, bytes);
    ak_async_release(call);
}

int slurm_spank_exit(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    struct da_record record;
    if (da.state < 0 || spank_remote(spank) != 1)
        return 0;
    if (da_state_read(da.state, &record)) {
        if (da.step.request.mode == DA_BEHIND && (da.is_batch || da.step.nodes > 1))
            say(&record, false);
        report(&record);
    }
    close(da.state);
    da.state = -1;
    return 0;
}

/* By slurmd, as root, when the job has ended on this node. */
int slurm_spank_job_epilog(spank_t spank, int argc, char **argv) {
    uint32_t job;
    if (read_site(argc, argv) && spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS)
        da_helper_end(&da.site, job);
    return 0;
}
