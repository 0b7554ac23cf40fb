/* proc_files.h - the files of /proc that threads.c reads. `proc` is a descriptor of /proc. */
#ifndef ADMINKIT_IO_PROC_FILES_H
#define ADMINKIT_IO_PROC_FILES_H

#include <dirent.h>
#include <sys/types.h>

#include "common/proc_parse.h"
#include "proc_texts.h"

#define IO_MOUNTS_SIZE 262144 /* a process with more text of mounts has the rest on unknown file systems */

int io_open_proc(void); /* -1: errno */
void io_close_proc(int proc);

/* All pids; free *pids. -1: errno. */
ssize_t io_all_pids(int proc, size_t max, pid_t **pids);

/* Reads the stat of the thread, or of the process where `thread` is 0. False: it is gone. */
bool io_read_stat(int proc, pid_t pid, pid_t thread, struct ak_proc_stat *stat);

/* 0 or an errno. */
int io_read_syscall(int proc, pid_t pid, pid_t thread, struct io_thread *its);

/* Whether the thread sleeps in a pipe; false also where the kernel does not say where it sleeps. */
bool io_in_pipe(int proc, pid_t pid, pid_t thread);

/* The mount that the descriptor is on; -1: not known. */
int64_t io_read_mount_id(int proc, pid_t pid, int file);

/* Reads mountinfo; its size, 0 where it cannot be read. */
size_t io_read_mounts(int proc, pid_t pid, char text[IO_MOUNTS_SIZE]);

/* Leaves both as they are where they are not known. */
void io_read_cpus(int proc, pid_t pid, uint32_t *count, uint64_t *which);

/* The owner of the process; (uid_t)-1: it is gone. */
uid_t io_owner_of(int proc, pid_t pid);

/* NULL: it is gone. */
DIR *io_open_threads(int proc, pid_t pid);
pid_t io_next_thread(DIR *threads); /* 0: no more */

#endif
