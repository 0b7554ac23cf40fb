/* proc_texts.h - what /proc says of a thread that waits, and of file systems, into values. Pure. A text may
 * be cut at any byte, need not end with a NUL, and parts of it are a program's or a user's. */
#ifndef ADMINKIT_IO_PROC_TEXTS_H
#define ADMINKIT_IO_PROC_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IO_NAME 41 /* bytes of a file system's name, with its NUL */

/* /proc/PID/task/TID/syscall */
enum io_state {
    IO_UNKNOWN, /* another text */
    IO_RUNS,    /* "running": it runs, or would run if there were a CPU */
    IO_OUTSIDE, /* it waits outside of a system call, as for a page of a file */
    IO_CALLS    /* it waits in a system call */
};
struct io_thread {
    enum io_state state;
    long call;            /* the number of the system call */
    uint64_t argument[6]; /* of it */
};
void io_parse_syscall(const char *text, size_t size, struct io_thread *thread);

/* What a system call waits for, if it waits for long. */
enum io_waits {
    IO_ELSE,  /* anything else: a lock, a socket, time, a device */
    IO_READ,  /* the content of `file`, a descriptor, which may be a pipe or a socket too */
    IO_NAMED, /* a name, size or list of names, below `file` where that is a descriptor, not negative */
    IO_FILE   /* a file that is not known */
};
struct io_wait {
    enum io_waits what;
    int file; /* -1: not known */
};
struct io_wait io_wait_of(long call, const uint64_t *argument);

/* Whether the kernel's function in which a thread sleeps (wchan) is that of a pipe, named or not. */
bool io_is_pipe(const char *text, size_t size);

/* The mount in /proc/PID/fdinfo/N; -1: it does not say. */
int64_t io_parse_mount_id(const char *text, size_t size);

/* The mount `id` in /proc/PID/mountinfo, as a name: "nfs4-home" for /home of type nfs4, "ext4" for /. Bytes
 * other than [a-z0-9._-] are '-'. False: it has no such mount, or one that waits for no disk and no server,
 * such as tmpfs or devpts. */
bool io_find_mount(const char *text, size_t size, int64_t id, char name[IO_NAME]);

/* The number of CPUs in the line Cpus_allowed of /proc/PID/status, and a number that is the same for the same
 * CPUs; false: it has none. */
bool io_parse_cpus(const char *text, size_t size, uint32_t *count, uint64_t *which);

#endif
