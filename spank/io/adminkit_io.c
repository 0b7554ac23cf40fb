/* adminkit_io.c - how often the tasks of jobs wait for files: glue between Slurm and the parts. docs/io.md
 * has what users and operators see of it.
 *
 * Every callback returns 0: whatever fails here costs a measurement, never the job or the node. */
#include <slurm/spank.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/slurm_compat.h"
#include "watch.h"

SPANK_PLUGIN(adminkit_io, 1)

/* A process is one step on one node. */
static struct {
    bool begun; /* the first task was seen */
    struct io_watch *watch;
} io;

static void begin(spank_t spank, int argc, char **argv, pid_t task) {
    struct io_site site;
    static struct io_step step;
    char why[160];
    uint32_t job, id;
    if (!io_site_read(&site, argc, argv, why, sizeof why)) {
        slurm_info("adminkit_io: error in plugstack.conf: %s; the plugin does nothing", why);
        return;
    }
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &step.uid) != ESPANK_SUCCESS || id == SLURM_EXTERN_CONT)
        return;
    if (!ak_step_cgroup(task, step.cgroup, sizeof step.cgroup))
        step.cgroup[0] = '\0';
    step.stepd = getpid();
    step.task[0] = task;
    step.count = 1;
    io.watch = io_watch_start(&site, &step, job, id == SLURM_BATCH_SCRIPT);
}

int slurm_spank_task_post_fork(spank_t spank, int argc, char **argv) {
    pid_t task;
    if (spank_remote(spank) != 1 || spank_get_item(spank, S_TASK_PID, &task) != ESPANK_SUCCESS)
        return 0;
    if (io.begun)
        io_watch_add_task(io.watch, task);
    else
        begin(spank, argc, argv, task);
    io.begun = true;
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    if (spank_remote(spank) == 1)
        io_watch_stop(io.watch);
    io.watch = NULL;
    return 0;
}
