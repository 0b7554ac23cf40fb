/* slurm_compat.h - what differs between the releases of Slurm, 22.05 to 26.05. No other file includes slurm.h
 * (tests/test_layers_c.py).
 *
 * Since 26.05 slurm_load_job(), slurm_requeue() and others take a slurm_step_id_t. Slurm's header then has
 * macros that still take a job id; they are generic selections of inline functions, so the functions are
 * called by name here. slurm_kill_job_step() has flags since 23.11; nothing here calls it.
 * slurm_free_ctl_conf() is slurm_free_conf() since 26.05. A job may ask for an expedited requeue since
 * 25.11. */
#ifndef ADMINKIT_SLURM_COMPAT_H
#define ADMINKIT_SLURM_COMPAT_H

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdbool.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm 22.05 or newer is needed"
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define slurm_free_ctl_conf slurm_free_conf
#endif

/* hostlist_t is a pointer up to 23.02. */
typedef __typeof__(slurm_hostlist_create("")) ak_hostlist;

/* Whether sbatch has SLURM_OPEN_MODE in its own environment once its options are read. Tried: 22.05 has,
 * 24.11 and 26.05 have not; the releases between count as those that have not. */
#define AK_SBATCH_HAS_OPEN_MODE (SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0))

/* Whether jobs may ask for --requeue=expedite, since 25.11. */
#ifdef EXPEDITED_REQUEUE
#define AK_SLURM_EXPEDITES true
#else
#define AK_SLURM_EXPEDITES false
#endif

/* Whether a job asked for --requeue=expedite. Slurm then puts it back when its script fails, and holds it. */
static inline bool ak_slurm_is_expedited(const job_info_t *job) {
#ifdef EXPEDITED_REQUEUE
    return (job->bitflags & EXPEDITED_REQUEUE) != 0;
#else
    (void)job;
    return false;
#endif
}

/* 0 or Slurm's errno. `more`: flags such as SHOW_DETAIL, without which an answer has no gres_detail_str.
 * Trap: without SHOW_LOCAL libslurm asks for the federation first, each time. */
static inline int ak_slurm_load_job(job_info_msg_t **jobs, uint32_t job, uint16_t more) {
    uint16_t flags = SHOW_ALL | SHOW_LOCAL | more;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = job;
    return (slurm_load_job)(jobs, id, flags) == SLURM_SUCCESS ? 0 : errno;
#else
    return slurm_load_job(jobs, job, flags) == SLURM_SUCCESS ? 0 : errno;
#endif
}

static inline void ak_slurm_name_job(job_desc_msg_t *message, uint32_t job) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    message->step_id.job_id = job;
#else
    message->job_id = job;
#endif
}

static inline int ak_slurm_requeue(uint32_t job, uint32_t flags) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
    id.job_id = job;
    return (slurm_requeue)(id, flags) == SLURM_SUCCESS ? 0 : errno;
#else
    return slurm_requeue(job, flags) == SLURM_SUCCESS ? 0 : errno;
#endif
}

#endif
