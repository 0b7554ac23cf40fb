/* suspended.h - whether a step is suspended, as its node shows it; no RPC. */
#ifndef ADMINKIT_SUSPENDED_H
#define ADMINKIT_SUSPENDED_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether `task` is stopped (state T of /proc/PID/stat), or the step's cgroup is frozen. cgroup: its folder,
 * see cgroup.h, or NULL. */
bool ak_step_suspended(pid_t task, const char *cgroup);

#endif
