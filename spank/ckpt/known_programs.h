/* known_programs.h - programs that are known by their names, and the role that each name means. Pure. */
#ifndef ADMINKIT_CKPT_KNOWN_PROGRAMS_H
#define ADMINKIT_CKPT_KNOWN_PROGRAMS_H

#include "targets.h"

/* Whether the role depends on the command line too (python runs torchrun, busybox is a shell). Trap: to read
 * /proc/PID/cmdline the kernel takes the lock of the process' memory, which a process that hangs in a dead
 * file system may hold; so it is read only of these. */
bool ck_needs_argv(const char *exe);

/* CK_ROLE_SHELL, _INTERACTIVE, _LAUNCHER, _WRAPPER, _CONTAINER, _SERVICE, _TOOL or _JVM; CK_ROLE_OUTSIDE: a
 * program of another name. Goes by the program's file, not by comm, which of a script is the script's name.
 */
enum ck_role ck_program_role(const struct ck_process *process);

#endif
