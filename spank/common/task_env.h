/* task_env.h - what Slurm puts into a task's environment and does not tell its plugins. */
#ifndef ADMINKIT_TASK_ENV_H
#define ADMINKIT_TASK_ENV_H

#include <stdint.h>
#include <sys/types.h>

/* SLURM_JOB_END_TIME of the task, which Slurm 23.02 and newer set: the end of the job as it was known at the
 * job's start, in epoch seconds. 0: it is not there, or not yet, as a task has it only after its exec. */
int64_t ak_task_job_end(pid_t task);

#endif
