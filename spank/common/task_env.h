/* given.h - what Slurm gives a task, and does not show to its plugins. */
#ifndef ADMINKIT_CK_GIVEN_H
#define ADMINKIT_CK_GIVEN_H

#include <stdint.h>
#include <sys/types.h>

/* The end of its job as of the job's start, ms since the epoch: SLURM_JOB_END_TIME in the task's environment,
 * of Slurm 23.02 and newer. 0: none, or not yet, as a task has it from its exec on. */
int64_t ck_given_end(pid_t task);

#endif
