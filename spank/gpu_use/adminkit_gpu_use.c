/* adminkit_gpu_use.c - how busy the GPUs of jobs are: glue between Slurm and the parts. docs/gpu-use.md has
 * what users and operators see of it.
 *
 * Every callback returns 0: whatever fails here costs a measurement, never the job or the node. */
#include <slurm/spank.h>
#include <stdbool.h>

#include "common/slurm_compat.h"
#include "watch.h"

SPANK_PLUGIN(adminkit_gpu_use, 1)

/* A process is one step on one node. */
static struct {
    bool begun; /* the first task was seen */
    struct gu_watch *watch;
} gu;

int slurm_spank_task_post_fork(spank_t spank, int argc, char **argv) {
    struct gu_site site;
    char why[160];
    uint32_t job, step;
    if (gu.begun || spank_remote(spank) != 1)
        return 0;
    gu.begun = true;
    if (!gu_site_read(&site, argc, argv, why, sizeof why)) {
        slurm_info("adminkit_gpu_use: error in plugstack.conf: %s; the plugin does nothing", why);
        return 0;
    }
    if (spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS &&
        spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS)
        gu.watch = gu_watch_start(&site, job,
                                  step == SLURM_BATCH_SCRIPT  ? GU_BATCH
                                  : step == SLURM_EXTERN_CONT ? GU_EXTERN
                                                              : GU_STEP);
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv) {
    (void)argc, (void)argv;
    if (spank_remote(spank) == 1)
        gu_watch_stop(gu.watch);
    gu.watch = NULL;
    return 0;
}
