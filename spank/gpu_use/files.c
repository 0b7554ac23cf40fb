/* files.c - see files.h. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/private_folder.h"

#define OLD (24 * 3600) /* s */

void gu_files_sums(const char *folder, uint32_t job, char *path, size_t size) {
    snprintf(path, size, "%s/%" PRIu32, folder, job);
}

static void lock_name(uint32_t job, char *name, size_t size) {
    snprintf(name, size, "%" PRIu32 ".lock", job);
}

/* Trap: a lock that is taken out while a step waits for it would be held by two; no step waits for a day,
 * since each writes to its file or ends. */
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

int gu_files_lock(const char *path, uint32_t job) {
    char name[32];
    int folder = ak_private_folder(path, true);
    if (folder < 0)
        return -errno;
    sweep(folder);
    lock_name(job, name, sizeof name);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = file < 0 ? errno : 0;
    close(folder);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        error = errno;
        close(file);
    }
    return error ? -error : file;
}

/* A descriptor of the folder, and the name of the job's lock in it; -1: errno. */
static int at_lock(const char *path, uint32_t job, char *name, size_t size) {
    lock_name(job, name, size);
    return ak_private_folder(path, false);
}

void gu_files_reported(const char *path, uint32_t job) {
    char name[32];
    int folder = at_lock(path, job, name, sizeof name);
    if (folder < 0)
        return;
    utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
    close(folder);
}

int64_t gu_files_since_report(const char *path, uint32_t job) {
    char name[32];
    struct stat status;
    int folder = at_lock(path, job, name, sizeof name);
    if (folder < 0)
        return 0;
    bool known = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    close(folder);
    return known ? time(NULL) - status.st_mtime : 0;
}
