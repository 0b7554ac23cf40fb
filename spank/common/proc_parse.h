/* procfs.h - texts of /proc into values. Pure; every text may be cut anywhere and need not end with a NUL. */
#ifndef ADMINKIT_CK_PROCFS_H
#define ADMINKIT_CK_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CK_COMM 64

#define CK_BIT(signal) (UINT64_C(1) << ((signal)-1))

/* The C library's own signals (cancellation, setuid). Only the library blocks them, for the moment of a fork
 * or a posix_spawn; a mask that has them says nothing about what the program wants. */
#define CK_LIBRARY (CK_BIT(32) | CK_BIT(33))

/* /proc/PID/stat */
struct ck_stat {
    pid_t pid, parent;
    char comm[CK_COMM]; /* printable: other bytes are '?' */
    char state;
    bool terminal;
    uint64_t start;                    /* ticks since boot */
    uint64_t blocked, ignored, caught; /* of signals 1 to 31 only; blocked by the first thread */
};
bool ck_parse_stat(const char *text, size_t size, struct ck_stat *stat);

/* /proc/PID/status, or that of a thread */
struct ck_status {
    uid_t uid; /* (uid_t)-1 where real, effective and saved differ */
    uint64_t blocked, ignored, caught;
};
bool ck_parse_status(const char *text, size_t size, struct ck_status *status);

/* The hexadecimal number behind "name:" at the start of a line. */
bool ck_parse_hex(const char *text, size_t size, const char *name, uint64_t *value);

/* The number behind "name=" in /proc/PID/environ. */
bool ck_parse_variable(const char *text, size_t size, const char *name, uint64_t *value);

/* The path of a step's cgroup in /proc/PID/cgroup: "freezer" (or another of v1's controllers) or "" (v2) into
 * kind, and the path up to …/job_N/step_X into path. The freezer is preferred, then v2, then any other. */
bool ck_parse_cgroup(const char *text, size_t size, char *kind, size_t kind_size, char *path,
                     size_t path_size);

/* Where in the file system a path of that kind is, by one line of /proc/self/mountinfo. False: not by this
 * mount. */
bool ck_parse_mount(const char *line, size_t size, const char *kind, const char *path, char *folder,
                    size_t folder_size);

#endif
