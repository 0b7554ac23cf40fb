/* job_log.h - a line for the people who look at a job. */
#ifndef ADMINKIT_JOB_LOG_H
#define ADMINKIT_JOB_LOG_H

/* Writes "adminkit: " and the line to the job's stderr and to slurmd's log, or in sbatch, salloc and srun to
 * their stderr. A byte that is not printable ASCII becomes '?'. Where nobody reads stderr, the line is
 * dropped. */
void ak_job_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the line to slurmd's log only. */
void ak_node_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
