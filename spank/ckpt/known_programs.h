/* names.h - programs that are known by their names, and why each is not to be signalled. */
#ifndef ADMINKIT_CK_NAMES_H
#define ADMINKIT_CK_NAMES_H

#include "targets.h"

/* Whether the words of the command line say more than the program's file does (python runs torchrun, busybox
 * is a shell). They are read for these only: the kernel takes the lock of the process' memory for it, which a
 * process that hangs in a dead file system may hold. */
bool ck_needs_words(const char *exe);

/* CK_SHELL, CK_INTERACTIVE, CK_LAUNCHER, CK_WRAPPER, CK_CONTAINER, CK_SERVICE, CK_TOOL or CK_JVM; CK_OUTSIDE:
 * a program like any other. Goes by the program's file, not by comm, which is the script's name for a script.
 */
enum ck_why ck_kind(const struct ck_process *process);

#endif
