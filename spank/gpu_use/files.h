/* files.h - the folder in which the samplers of a node leave their sums: JOB, and JOB.lock, which has the
 * time of the last word too. Only root can look into it. */
#ifndef ADMINKIT_GPU_USE_FILES_H
#define ADMINKIT_GPU_USE_FILES_H

#include <stddef.h>
#include <stdint.h>

/* The job's file of sums. */
void gu_files_sums(const char *folder, uint32_t job, char *path, size_t size);

/* Makes the folder where it is missing, and locks the job's file until the descriptor is closed. Returns it,
 * or a negative errno: -EWOULDBLOCK where another step has the lock. Files that nothing has written to for a
 * day go. */
int gu_files_lock(const char *folder, uint32_t job);

/* Says that a word was left now. */
void gu_files_reported(const char *folder, uint32_t job);

/* Seconds since that, or since the job's first step began; 0 where it is not known. */
int64_t gu_files_since_report(const char *folder, uint32_t job);

#endif
