/* proc_files.c - see proc_files.h. */
#include "proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_SIZE 8192

int io_open_proc(void) {
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void io_close_proc(int proc) {
    if (proc >= 0)
        close(proc);
}

/* The file's text from `from` on, as much as fits; -1: errno. */
static ssize_t read_from(int proc, const char *name, off_t from, char *text, size_t room) {
    int file = openat(proc, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t size = 0;
    ssize_t got = 0;
    if (file < 0)
        return -1;
    while (size < room && (got = pread(file, text + size, room - size, from + (off_t)size)) > 0)
        size += (size_t)got;
    int why = errno;
    close(file);
    errno = why;
    return got < 0 ? -1 : (ssize_t)size;
}

/* The text of a file that the kernel gives in one read. */
static ssize_t read_once(int proc, const char *name, char *text, size_t room) {
    int file = openat(proc, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return -1;
    ssize_t got = read(file, text, room);
    int why = errno;
    close(file);
    errno = why;
    return got;
}

ssize_t io_all_pids(int proc, size_t max, pid_t **pids) {
    int again = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    size_t count = 0;
    *pids = NULL;
    if (!entries) {
        if (again >= 0)
            close(again);
        return -1;
    }
    *pids = malloc(max * sizeof **pids);
    for (struct dirent *one; *pids && count < max && (one = readdir(entries));)
        if (one->d_name[0] >= '1' && one->d_name[0] <= '9')
            (*pids)[count++] = (pid_t)strtol(one->d_name, NULL, 10);
    closedir(entries);
    errno = ENOMEM;
    return *pids ? (ssize_t)count : -1;
}

bool io_read_stat(int proc, pid_t pid, pid_t thread, struct ak_proc_stat *stat) {
    char name[64], text[1024];
    if (thread)
        snprintf(name, sizeof name, "%d/task/%d/stat", (int)pid, (int)thread);
    else
        snprintf(name, sizeof name, "%d/stat", (int)pid);
    ssize_t got = read_once(proc, name, text, sizeof text);
    return got > 0 && ak_parse_stat(text, (size_t)got, stat);
}

int io_read_syscall(int proc, pid_t pid, pid_t thread, struct io_thread *its) {
    char name[64], text[256];
    snprintf(name, sizeof name, "%d/task/%d/syscall", (int)pid, (int)thread);
    ssize_t got = read_once(proc, name, text, sizeof text);
    if (got < 0)
        return errno;
    io_parse_syscall(text, (size_t)got, its);
    return 0;
}

bool io_in_pipe(int proc, pid_t pid, pid_t thread) {
    char name[64], text[128];
    snprintf(name, sizeof name, "%d/task/%d/wchan", (int)pid, (int)thread);
    ssize_t got = read_once(proc, name, text, sizeof text);
    return got > 0 && io_is_pipe(text, (size_t)got);
}

int64_t io_read_mount_id(int proc, pid_t pid, int file) {
    char name[64], text[512];
    snprintf(name, sizeof name, "%d/fdinfo/%d", (int)pid, file);
    ssize_t got = file < 0 ? -1 : read_once(proc, name, text, sizeof text);
    return got > 0 ? io_parse_mount_id(text, (size_t)got) : -1;
}

size_t io_read_mounts(int proc, pid_t pid, char text[IO_MOUNTS_SIZE]) {
    char name[64];
    snprintf(name, sizeof name, "%d/mountinfo", (int)pid);
    ssize_t got = read_from(proc, name, 0, text, IO_MOUNTS_SIZE);
    return got > 0 ? (size_t)got : 0;
}

/* The line is behind that of the groups, which may have tens of thousands: the text is read in two pieces
 * that overlap by more than the line is long. */
void io_read_cpus(int proc, pid_t pid, uint32_t *count, uint64_t *which) {
    char name[64], text[STATUS_SIZE];
    uint32_t cpus;
    uint64_t mask;
    snprintf(name, sizeof name, "%d/status", (int)pid);
    for (off_t from = 0; from < 64 * STATUS_SIZE; from += STATUS_SIZE / 2) {
        ssize_t got = read_from(proc, name, from, text, sizeof text);
        if (got <= 0)
            return;
        if (io_parse_cpus(text, (size_t)got, &cpus, &mask)) {
            *count = cpus;
            *which = mask;
            return;
        }
        if (got < (ssize_t)sizeof text)
            return;
    }
}

uid_t io_owner_of(int proc, pid_t pid) {
    char name[32];
    struct stat status;
    snprintf(name, sizeof name, "%d", (int)pid);
    return fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_uid : (uid_t)-1;
}

DIR *io_open_threads(int proc, pid_t pid) {
    char name[32];
    snprintf(name, sizeof name, "%d/task", (int)pid);
    int folder = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *threads = folder < 0 ? NULL : fdopendir(folder);
    if (!threads && folder >= 0)
        close(folder);
    return threads;
}

pid_t io_next_thread(DIR *threads) {
    for (struct dirent *one; (one = readdir(threads));)
        if (one->d_name[0] >= '1' && one->d_name[0] <= '9')
            return (pid_t)strtol(one->d_name, NULL, 10);
    return 0;
}
