/* slurm_compat.h - what differs between the releases of Slurm, 22.05 to 26.05. Nothing else includes slurm.h.
 *
 * slurm_load_job(), slurm_requeue() and others take a slurm_step_id_t from 26.05 on. Its header has macros
 * that take a job id as before, but they are generic selections of inline functions; a call by name is
 * plainer. slurm_kill_job_step() has flags from 23.11 on; nothing here calls it. slurm_free_ctl_conf() is
 * slurm_free_conf() from 26.05 on. */
#ifndef ADMINKIT_CK_SLURM_COMPAT_H
#define ADMINKIT_CK_SLURM_COMPAT_H

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm 22.05 or newer is needed"
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define slurm_free_ctl_conf slurm_free_conf
#endif

/* Whether sbatch has SLURM_OPEN_MODE in its own environment once its options are read: 22.05 has, 24.11
 * and 26.05 have not (tried), and those between are not asked to. */
#define CK_SBATCH_SAYS_MODE (SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0))

/* 0 or an errno of Slurm's. Without SHOW_LOCAL libslurm asks for the federation first, each time. */
static inline int ck_slurm_load_job(job_info_msg_t **answer, uint32_t job) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = job;
    return (slurm_load_job)(answer, id, SHOW_ALL | SHOW_LOCAL) == SLURM_SUCCESS ? 0 : errno;
#else
    return slurm_load_job(answer, job, SHOW_ALL | SHOW_LOCAL) == SLURM_SUCCESS ? 0 : errno;
#endif
}

static inline void ck_slurm_name_job(job_desc_msg_t *message, uint32_t job) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    message->step_id.job_id = job;
#else
    message->job_id = job;
#endif
}

static inline int ck_slurm_requeue(uint32_t job) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = job;
    return (slurm_requeue)(id, 0) == SLURM_SUCCESS ? 0 : errno;
#else
    return slurm_requeue(job, 0) == SLURM_SUCCESS ? 0 : errno;
#endif
}

#endif
