/* source.c - see source.h. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* openat2(2), which older headers do not have. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define NO_MAGIC_LINKS 2

struct how {
    uint64_t flags, mode, resolve;
};

/* Back to root. Where that fails, nothing else may be done. */
static void be_root(void) {
    if (seteuid(0) != 0 || setegid(0) != 0 || setgroups(0, NULL) != 0)
        _exit(3);
}

/* False: the ids cannot be taken, and the process is root's. Trap: root's groups would open what the user may
 * not. */
static bool be_user(const struct da_user *user) {
    if (user->uid == 0)
        return true;
    if (setgroups(user->count, user->groups) == 0 && setegid(user->gid) == 0 && seteuid(user->uid) == 0)
        return true;
    be_root();
    return false;
}

/* Trap: a magic link, such as one of /proc/self/fd, leads to what this process has open. Kernels before 5.6
 * follow it; what is below is opened as the user all the same. */
static int open_folder(const char *path) {
    struct how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = NO_MAGIC_LINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    return fd < 0 && errno == ENOSYS ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
}

/* Trap: O_NONBLOCK, as a FIFO without a writer would wait for one. Some file systems take it for plain files
 * too, and refuse what is on a tape; so it goes once it is known to be one. */
static int open_file(int folder, const char *name) {
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* The file of a folder, or the folder where `name` is NULL. */
static int open_as(const struct da_user *user, int folder, const char *path, const char *name) {
    if (!be_user(user))
        return -1;
    int fd = name ? open_file(folder, name) : open_folder(path);
    int error = errno;
    if (user->uid != 0)
        be_root();
    errno = error;
    return fd;
}

int da_source_folder(const struct da_user *user, const char *folder) {
    return open_as(user, -1, folder, NULL);
}

int da_source_open(const struct da_user *user, int folder, const char *name, uint64_t size,
                   enum da_why *why) {
    struct stat status;
    *why = DA_UNREADABLE;
    int fd = open_as(user, folder, NULL, name);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *why = DA_CHANGED;
        if ((size == 0 || (uint64_t)status.st_size == size) && fcntl(fd, F_SETFL, 0) == 0)
            return fd;
    }
    close(fd);
    return -1;
}

static int64_t mount_id(int file) {
    char path[64], line[128];
    int64_t id = -1;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
    FILE *info = fopen(path, "re");
    while (info && fgets(line, sizeof line, info))
        if (strncmp(line, "mnt_id:", 7) == 0)
            id = strtoll(line + 7, NULL, 10);
    if (info)
        fclose(info);
    return id;
}

static bool find_mount(int64_t id, struct da_mount *mount) {
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    for (ssize_t n; mounts && !found && (n = getline(&line, &capacity, mounts)) > 0;)
        found = da_mount_parse(mount, line, (size_t)n - (line[n - 1] == '\n')) && mount->id == id;
    free(line);
    if (mounts)
        fclose(mounts);
    return found;
}

bool da_source_identify(int file, struct da_identity *identity, enum da_why *why) {
    static struct da_mount last; /* a folder's files are mostly of one mount */
    static bool known;
    struct stat status;
    int64_t id = mount_id(file);
    *why = DA_MOUNT;
    if (id < 0 || !((known && last.id == id) || (known = find_mount(id, &last))) || last.by_user)
        return false;
    *why = DA_UNREADABLE;
    if (fstat(file, &status) != 0)
        return false;
    identity->changed = status.st_ctim.tv_sec;
    snprintf(identity->file, sizeof identity->file, "%x-%x-%" PRIx64, major(status.st_dev),
             minor(status.st_dev), (uint64_t)status.st_ino);
    int n = snprintf(identity->text, sizeof identity->text,
                     "%u:%u %" PRIu64 " %" PRId64 " %" PRId64 ".%09ld %" PRId64 ".%09ld %s",
                     major(status.st_dev), minor(status.st_dev), (uint64_t)status.st_ino,
                     (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     (int64_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec, last.source);
    return n > 0 && n < (int)sizeof identity->text;
}
