/* job_gres.c - see job_gres.h. */
#include "job_gres.h"

#include <stdio.h>
#include <string.h>

#include "slurm_compat.h"

/* The place of the host in the job's list of nodes: by its name, whole or up to the first dot. -1: it has
 * none. */
static int place_of(const job_info_t *job, const char *host) {
    char name[256];
    ak_hostlist nodes = job->nodes ? slurm_hostlist_create(job->nodes) : NULL;
    if (!nodes)
        return -1;
    int place = slurm_hostlist_count(nodes) == 1 ? 0 : slurm_hostlist_find(nodes, host);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(host, "."), host);
    if (place < 0)
        place = slurm_hostlist_find(nodes, name);
    slurm_hostlist_destroy(nodes);
    return place;
}

void ak_job_gres_load(uint32_t job, const char *host, struct ak_job_gres *gres) {
    job_info_msg_t *jobs = NULL;
    memset(gres, 0, sizeof *gres);
    gres->error = ak_slurm_load_job(&jobs, job, SHOW_DETAIL);
    if (gres->error)
        return;
    gres->error = ESLURM_INVALID_JOB_ID;
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const job_info_t *one = &jobs->job_array[i];
        if (one->job_id != job)
            continue;
        int place = place_of(one, host);
        gres->error = 0;
        gres->start = one->start_time;
        gres->found = place >= 0;
        gres->node = place >= 0 ? (uint32_t)place : 0;
        if (place >= 0 && (uint32_t)place < one->gres_detail_cnt && one->gres_detail_str[place] &&
            snprintf(gres->text, sizeof gres->text, "%s", one->gres_detail_str[place]) >=
                (int)sizeof gres->text)
            gres->text[0] = '\0';
    }
    slurm_free_job_info_msg(jobs);
}
