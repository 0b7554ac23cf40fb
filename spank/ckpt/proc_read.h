/* proc_read.h - what /proc has of one process, read in two steps, so that a process outside of the step costs
 * one small file. */
#ifndef ADMINKIT_CKPT_PROC_READ_H
#define ADMINKIT_CKPT_PROC_READ_H

#include <dirent.h>

#include "snapshot.h"

/* False: errno. After that too, ck_arena_close() frees what there is; NULL does nothing. */
bool ck_arena_open(struct ck_snapshot *snapshot);
void ck_arena_close(struct ck_arena *arena);

/* A descriptor of /proc, the arena's. */
int ck_arena_proc(const struct ck_snapshot *snapshot);

/* NULL: errno. */
DIR *ck_open_folder(int folder, const char *name);

/* Reads /proc/PID/stat, which has the sets of signals 1 to 31: most processes that would die of the signal or
 * ignore it need no other file. The disposition of the others is CK_SIG_UNREAD or CK_SIG_UNREAD_SLEEPS.
 * False: the process is gone. */
bool ck_read_stat(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process);

/* Completes what ck_read_stat() began: the disposition, and where the process may take the signal uid,
 * caught, exe and argv. */
void ck_read_rest(struct ck_snapshot *snapshot, int signal, struct ck_process *process);

#endif
