/* process.h - what /proc has of one process, in two steps, so that those outside of the step cost one small
 * file each. */
#ifndef ADMINKIT_CK_PROCESS_H
#define ADMINKIT_CK_PROCESS_H

#include <dirent.h>

#include "snapshot.h"

/* False: errno. ck_arena_close() takes what there is, NULL too. */
bool ck_arena_open(struct ck_snapshot *snapshot);
void ck_arena_close(struct ck_arena *arena);
int ck_arena_proc(const struct ck_snapshot *snapshot);

/* NULL: errno. */
DIR *ck_open_folder(int folder, const char *name);

/* From /proc/PID/stat alone, which has the sets of signals 1 to 31: most of those that die or ignore need no
 * more. The ear of the others is CK_EAR_UNREAD or CK_EAR_SLEEPS. False: it is gone. */
bool ck_read_little(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process);

/* Whatever else it takes to know the ear, and of one that may hear uid, caught, exe and argv. */
void ck_read_rest(struct ck_snapshot *snapshot, int signal, struct ck_process *process);

#endif
