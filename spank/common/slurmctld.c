/* slurmctld.c - see slurmctld.h. */
#include "slurmctld.h"

#include <stdio.h>
#include <string.h>

#include "slurm_compat.h"

static enum ak_job_state state_of(uint32_t state) {
    switch (state & JOB_STATE_BASE) {
    case JOB_RUNNING:
        return AK_JOB_RUNNING;
    case JOB_SUSPENDED:
        return AK_JOB_SUSPENDED;
    case JOB_PENDING:
        return AK_JOB_PENDING;
    case JOB_COMPLETE:
    case JOB_FAILED:
        return AK_JOB_FINISHED;
    case JOB_TIMEOUT:
        return AK_JOB_TIMEOUT;
    case JOB_CANCELLED:
        return AK_JOB_CANCELLED;
    default:
        return AK_JOB_ENDED;
    }
}

static void fill(struct ak_job_info *info, const job_info_t *job) {
    info->error = 0;
    info->state = state_of(job->job_state);
    info->start = job->start_time;
    info->end = job->end_time;
    info->may_requeue = job->requeue != 0;
    info->expedited = ak_slurm_is_expedited(job);
    info->held = info->expedited && info->state == AK_JOB_PENDING && (job->job_state & JOB_REQUEUE_HOLD);
    info->derived_exit = job->derived_ec == NO_VAL ? 0 : job->derived_ec;
    info->restarts = job->restart_cnt;
    const char *tres = job->tres_per_node ? job->tres_per_node : "";
    if (snprintf(info->tres_per_node, sizeof info->tres_per_node, "%s", tres) >=
        (int)sizeof info->tres_per_node)
        info->tres_per_node[0] = '\0';
    const char *comment = job->admin_comment ? job->admin_comment : "";
    info->comment_whole =
        snprintf(info->comment, sizeof info->comment, "%s", comment) < (int)sizeof info->comment;
}

void ak_job_load(uint32_t job, struct ak_job_info *info) {
    job_info_msg_t *jobs = NULL;
    memset(info, 0, sizeof *info);
    info->error = ak_slurm_load_job(&jobs, job, 0);
    if (info->error)
        return;
    info->error = ESLURM_INVALID_JOB_ID;
    /* Trap: the last task of an array has the array's own id, and slurmctld answers with all of the array. */
    for (uint32_t i = 0; i < jobs->record_count; i++)
        if (jobs->job_array[i].job_id == job)
            fill(info, &jobs->job_array[i]);
    slurm_free_job_info_msg(jobs);
}

int ak_job_requeue(uint32_t job, bool held) {
    int error = ak_slurm_requeue(job, held ? JOB_REQUEUE_HOLD : 0);
    return error == ESLURM_JOB_PENDING ? 0 : error;
}

int ak_job_release(uint32_t job) {
    job_desc_msg_t message;
    slurm_init_job_desc_msg(&message);
    ak_slurm_name_job(&message, job);
    message.priority = INFINITE;
    return slurm_update_job(&message) ? errno : 0;
}

int ak_job_set_comment(uint32_t job, char *comment) {
    job_desc_msg_t message;
    slurm_init_job_desc_msg(&message);
    /* Trap: job_id_str of an array's last task would name the whole array. */
    ak_slurm_name_job(&message, job);
    message.admin_comment = comment;
    return slurm_update_job(&message) ? errno : 0;
}

bool ak_appends_output(void) {
    slurm_conf_t *conf = NULL;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || !conf)
        return true;
    bool appends = conf->job_file_append != 0;
    slurm_free_ctl_conf(conf);
    return appends;
}
