/* files.h - root's folder in which the steps of a node add up what they saw of their job: JOB, the sums;
 * JOB.lock, which has the time of the last word too; and JOB.steps, which the steps beside the batch step
 * hold. */
#ifndef ADMINKIT_IO_FILES_H
#define ADMINKIT_IO_FILES_H

#include "sums.h"

/* Opens JOB.steps, and makes it and the folder where they are missing. A descriptor, or a negative errno.
 * Files that nothing has written to for a day go. */
int io_files_open(const char *folder, uint32_t job);

/* Says with that descriptor that a step other than the batch step runs, until it is closed. */
void io_files_hold(int steps);

/* Whether no such step of the job runs on this node. */
bool io_files_alone(int steps);

/* Adds `more` to the job's sums, which it reads into *sums: what an earlier run, which did not begin at
 * `run`, left there goes. 0 or an errno. */
int io_files_add(const char *folder, uint32_t job, int steps, int64_t run, const struct io_sums *more,
                 struct io_sums *sums);

/* Says that a word was left now. */
void io_files_reported(const char *folder, uint32_t job);

/* Seconds since that, or since the job's first sums were added; 0 where it is not known. */
int64_t io_files_since_report(const char *folder, uint32_t job);

#endif
