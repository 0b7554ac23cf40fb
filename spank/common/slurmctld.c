#include "slurmctld.h"

#include <stdio.h>
#include <string.h>

#include "slurm_compat.h"

static enum ck_state state_of(uint32_t state) {
    switch (state & JOB_STATE_BASE) {
    case JOB_RUNNING:
        return CK_RUNNING;
    case JOB_SUSPENDED:
        return CK_SUSPENDED;
    case JOB_PENDING:
        return CK_PENDING;
    case JOB_COMPLETE:
    case JOB_FAILED:
        return CK_FINISHED;
    case JOB_TIMEOUT:
        return CK_TIMEOUT;
    case JOB_CANCELLED:
        return CK_CANCELLED;
    default:
        return CK_ENDED;
    }
}

static void take(const job_info_t *job, struct ck_answer *answer) {
    answer->error = 0;
    answer->state = state_of(job->job_state);
    answer->start = job->start_time;
    answer->end = job->end_time;
    answer->allowed = job->requeue != 0;
    answer->derived = job->derived_ec == NO_VAL ? 0 : job->derived_ec;
    answer->restarts = job->restart_cnt;
    const char *comment = job->admin_comment ? job->admin_comment : "";
    answer->comment_whole =
        snprintf(answer->comment, sizeof answer->comment, "%s", comment) < (int)sizeof answer->comment;
}

void ck_ask(uint32_t job, struct ck_answer *answer) {
    job_info_msg_t *found = NULL;
    memset(answer, 0, sizeof *answer);
    answer->error = ck_slurm_load_job(&found, job);
    if (answer->error)
        return;
    answer->error = ESLURM_INVALID_JOB_ID;
    /* The last task of an array has the array's own id, and the answer is all of the array. */
    for (uint32_t i = 0; i < found->record_count; i++)
        if (found->job_array[i].job_id == job)
            take(&found->job_array[i], answer);
    slurm_free_job_info_msg(found);
}

bool ck_ask_appends(void) {
    slurm_conf_t *conf = NULL;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || !conf)
        return true;
    bool appends = conf->job_file_append != 0;
    slurm_free_ctl_conf(conf);
    return appends;
}

int ck_put_back(uint32_t job) {
    int error = ck_slurm_requeue(job);
    return error == ESLURM_JOB_PENDING ? 0 : error;
}

int ak_note_leave(uint32_t job_id, char *comment) {
    job_desc_msg_t message;
    slurm_init_job_desc_msg(&message);
    /* The number, not job_id_str: of an array's last task that text means the whole array. */
    ck_slurm_name_job(&message, job_id);
    message.admin_comment = comment;
    return slurm_update_job(&message) ? errno : 0;
}
