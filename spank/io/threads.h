/* threads.h - what the threads of a step's tasks wait for, read from /proc at one moment. */
#ifndef ADMINKIT_IO_THREADS_H
#define ADMINKIT_IO_THREADS_H

#include <limits.h>
#include <sys/types.h>

#include "sums.h"

#define IO_TASKS 1024 /* of a step on one node; others are not looked at */

struct io_step {
    pid_t stepd; /* slurmstepd, whose children the tasks are */
    uid_t uid;
    char cgroup[PATH_MAX]; /* the step's folder; "": it has none */
    size_t count;
    pid_t task[IO_TASKS];
};

enum io_look {
    IO_SEEN,
    IO_NOTHING, /* no task runs any more */
    IO_REFUSED  /* the kernel does not say what threads wait for */
};

/* Looks at all threads once: `task` gets a row for each of the step's tasks. A process belongs to the task
 * that started it, in however many steps; one in the step's cgroup that no task is seen to have started, as
 * its parent ended, belongs to the first. The names of the file systems go to `sums`.
 *
 * Opens nothing below /proc/PID/fd and asks for no file's status: either would hang where a server is dead.
 * Trap: /proc/PID/task/TID/syscall waits, killably, while the process starts a program that a dead server
 * has. */
enum io_look io_threads_look(const struct io_step *step, struct io_task *task, struct io_sums *sums);

#endif
