/* proc_parse.h - texts of /proc into values. Pure. A text may be cut at any byte and need not end with a NUL.
 */
#ifndef ADMINKIT_PROC_PARSE_H
#define ADMINKIT_PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define AK_COMM_SIZE 64

#define AK_SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))

/* The C library's own signals (cancellation, setuid). It blocks them only during a fork or posix_spawn, so a
 * mask that has them is not the program's own. */
#define AK_LIBC_SIGNALS (AK_SIGNAL_BIT(32) | AK_SIGNAL_BIT(33))

/* /proc/PID/stat */
struct ak_proc_stat {
    pid_t pid, ppid;
    char comm[AK_COMM_SIZE]; /* a byte that is not printable ASCII is '?' */
    char state;
    bool terminal;                     /* it has a controlling terminal */
    uint64_t start;                    /* ticks since boot */
    uint64_t blocked, ignored, caught; /* of signals 1 to 31 only; blocked by the first thread */
};
bool ak_parse_stat(const char *text, size_t size, struct ak_proc_stat *stat);

/* /proc/PID/status, or that of a thread */
struct ak_proc_status {
    uid_t uid; /* (uid_t)-1 where real, effective and saved uid differ */
    uint64_t blocked, ignored, caught;
};
bool ak_parse_status(const char *text, size_t size, struct ak_proc_status *status);

/* The hexadecimal number after "name:" at the start of a line. */
bool ak_parse_hex(const char *text, size_t size, const char *name, uint64_t *value);

/* The number after "name=" in /proc/PID/environ. */
bool ak_parse_variable(const char *text, size_t size, const char *name, uint64_t *value);

/* The cgroup of a step in /proc/PID/cgroup. kind: "freezer" or another controller of v1, or "" for v2; path:
 * up to …/JOB/step_X, where JOB is job_N or a SLUID. The freezer is preferred, then v2, then any other. */
bool ak_parse_cgroup(const char *text, size_t size, char *kind, size_t kind_size, char *path,
                     size_t path_size);

/* The first line of a task's /proc/PID/cgroup that another process's, `other`, does not have, as printable
 * ASCII. False: they are in the same cgroups. */
bool ak_parse_apart(const char *text, size_t size, const char *other, size_t other_size, char *line,
                    size_t line_size);

/* The folder in the file system where a line of /proc/self/mountinfo mounts that path of that kind. False:
 * the line mounts something else. */
bool ak_parse_mount(const char *line, size_t size, const char *kind, const char *path, char *folder,
                    size_t folder_size);

#endif
