/* cgroup.h - the folder of a step's cgroup, and the processes in it. */
#ifndef ADMINKIT_CGROUP_H
#define ADMINKIT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes to `folder` where the cgroup of the task's step is mounted: of /proc/TASK/cgroup the path up to
 * …/JOB/step_X (v2, or v1's freezer, as proctrack/cgroup makes them). False: the step has no cgroup of its
 * own, and `folder` is ""; or its name is unknown or nothing mounts it, and `folder` is its line of
 * /proc/TASK/cgroup. Trap: call it when the tasks are forked; later the task may have ended. */
bool ak_step_cgroup(pid_t task, char *folder, size_t size);

/* The pids in cgroup.procs of the folder and of those below it (tasks' own, containers'), `max` at most; a
 * pid may occur twice. *more: there are others. Free *pids. Returns the count, or -1 with errno. */
ssize_t ak_cgroup_pids(const char *folder, size_t max, pid_t **pids, bool *more);

#endif
