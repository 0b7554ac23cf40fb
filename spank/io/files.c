/* files.c - see files.h. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/private_folder.h"

#define OLD (24 * 3600) /* s */
#define TEXT 2048
#define TRIES 20 /* for the lock, TRY ms each: it is held while a small file is written */
#define TRY 25

static void name_of(uint32_t job, const char *end, char *name, size_t size) {
    snprintf(name, size, "%" PRIu32 "%s", job, end);
}

/* Trap: steps that hold a file which is swept would not be seen; each touches it with every sum that it adds.
 */
static void sweep(int folder) {
    int copy = dup(folder);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    struct stat status;
    time_t now = time(NULL);
    for (struct dirent *one; entries && (one = readdir(entries));)
        if (one->d_name[0] != '.' && fstatat(folder, one->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_mtime + OLD < now)
            unlinkat(folder, one->d_name, 0);
    if (entries)
        closedir(entries);
    else if (copy >= 0)
        close(copy);
}

int io_files_open(const char *path, uint32_t job) {
    char name[32];
    int folder = ak_private_folder(path, true);
    if (folder < 0)
        return -errno;
    sweep(folder);
    name_of(job, ".steps", name, sizeof name);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = file < 0 ? errno : 0;
    close(folder);
    return error ? -error : file;
}

void io_files_hold(int steps) {
    for (int i = 0; i < TRIES && flock(steps, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        ak_sleep(TRY);
}

bool io_files_alone(int steps) {
    if (flock(steps, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    flock(steps, LOCK_UN);
    return true;
}

/* A descriptor that holds the lock of the job's sums until it is closed, or a negative errno. */
static int lock(int folder, uint32_t job) {
    char name[32];
    name_of(job, ".lock", name, sizeof name);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return file;
        ak_sleep(TRY);
    }
    close(file);
    return -EWOULDBLOCK;
}

/* Reads the sums of this run; those of another, or a file that is not whole, are none. */
static void read_sums(int folder, const char *name, int64_t run, struct io_sums *sums) {
    char text[TEXT];
    int64_t its;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    if (!io_sums_parse(text, &its, sums) || its != run)
        *sums = (struct io_sums){0};
}

static int write_sums(int folder, const char *name, int64_t run, const struct io_sums *sums) {
    char aside[40], text[TEXT];
    if (!io_sums_print(text, sizeof text, run, sums))
        return ENOSPC;
    snprintf(aside, sizeof aside, "%s.new", name);
    int file = openat(folder, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    FILE *stream = fdopen(file, "w");
    if (!stream) {
        close(file);
        return ENOMEM;
    }
    int error = fputs(text, stream) < 0 ? EIO : 0;
    if (fclose(stream) != 0 && !error)
        error = errno;
    if (!error && renameat(folder, aside, folder, name) != 0)
        error = errno;
    if (error)
        unlinkat(folder, aside, 0);
    return error;
}

int io_files_add(const char *path, uint32_t job, int steps, int64_t run, const struct io_sums *more,
                 struct io_sums *sums) {
    char name[32];
    int folder = ak_private_folder(path, true);
    if (folder < 0)
        return errno;
    int held = lock(folder, job), error = held < 0 ? -held : 0;
    if (!error) {
        name_of(job, "", name, sizeof name);
        read_sums(folder, name, run, sums);
        io_sums_merge(sums, more);
        error = write_sums(folder, name, run, sums);
        close(held);
    }
    futimens(steps, NULL);
    close(folder);
    return error;
}

void io_files_reported(const char *path, uint32_t job) {
    char name[32];
    int folder = ak_private_folder(path, false);
    if (folder < 0)
        return;
    name_of(job, ".lock", name, sizeof name);
    utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
    close(folder);
}

int64_t io_files_since_report(const char *path, uint32_t job) {
    char name[32];
    struct stat status;
    int folder = ak_private_folder(path, false);
    if (folder < 0)
        return 0;
    name_of(job, ".lock", name, sizeof name);
    bool known = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    close(folder);
    return known ? time(NULL) - status.st_mtime : 0;
}
