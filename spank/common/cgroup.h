/* cgroup.h - the folder of a step's cgroup, and who is in it. */
#ifndef ADMINKIT_CK_CGROUP_H
#define ADMINKIT_CK_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The folder of the step that a task is in: of a line of /proc/TASK/cgroup the path up to …/job_N/step_X,
 * where that is mounted (v2, or v1's freezer, as proctrack/cgroup makes them). False: the step has no cgroup
 * of its own. Ask once, when the tasks are forked: later the task may have ended. */
bool ck_step_cgroup(pid_t task, char *folder, size_t size);

/* Every pid of cgroup.procs in the folder and in those below it (tasks' own, containers'), some of them
 * perhaps twice. The count, `most` at most; *more where there are others. The array is to be freed. -1: errno
 * says why. */
ssize_t ck_cgroup_pids(const char *folder, size_t most, pid_t **pids, bool *more);

#endif
