/* pause.h - whether a step stands still: seen on its node, without asking anybody. */
#ifndef ADMINKIT_CK_PAUSE_H
#define ADMINKIT_CK_PAUSE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether `task` is stopped, or the step's cgroup (NULL: none) is frozen. */
bool ck_paused(pid_t task, const char *cgroup);

#endif
