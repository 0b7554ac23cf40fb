/* cache.c - see cache.h. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

#define OLD (24 * 3600) /* s */
#define BOOT_SIZE 64

static const char *const FOLDERS[] = {"store", "state", "jobs"};

/* Opens a folder below `above`, made with the mode where `make` says so. -1: errno. */
static int open_folder(int above, const char *name, mode_t mode, bool make) {
    struct stat status;
    if (make && mkdirat(above, name, mode) == 0)
        fchmodat(above, name, mode, 0); /* the umask may have taken away from it */
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 07777 & ~mode) == 0)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

int da_cache_lock(const struct da_cache *cache) {
    int fd = openat(cache->root, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            int error = errno;
            close(fd);
            return -error;
        }
    return fd;
}

/* The first line of a small file, "" where there is none. */
static void read_line(int folder, const char *name, char *text, size_t size) {
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Writes the file beside the one of that name, and puts it in its place. 0 or an errno. */
static int replace_line(int folder, const char *name, const char *text) {
    char aside[32];
    snprintf(aside, sizeof aside, "%s.new", name);
    int fd = openat(folder, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    errno = ENOSPC; /* of a write that is cut */
    int error = dprintf(fd, "%s\n", text) == (int)strlen(text) + 1 ? 0 : errno;
    if (close(fd) != 0 && !error)
        error = errno;
    return error || renameat(folder, aside, folder, name) == 0 ? error : errno;
}

static void put_aside(const struct da_cache *cache) {
    char aside[80];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        snprintf(aside, sizeof aside, "gone.%" PRId64 ".%ld.%s", (int64_t)now.tv_sec, now.tv_nsec,
                 FOLDERS[i]);
        if (renameat(cache->root, FOLDERS[i], cache->root, aside) == 0)
            fchmodat(cache->root, aside, 0700, 0);
    }
}

/* Puts the folders of an earlier boot aside: a copy may have lost bytes, and device numbers name other
 * things. A rename, as the step that is starting should not wait until they are removed. Trap: where the boot
 * cannot be noted, as on a full disk, the next step would take away what this one's job reads. */
static int renew(const struct da_cache *cache) {
    char boot[BOOT_SIZE], before[BOOT_SIZE];
    read_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    int lock = da_cache_lock(cache), error = 0;
    if (lock < 0)
        return -lock;
    read_line(cache->root, "boot", before, sizeof before);
    if (*boot && strcmp(boot, before) != 0) {
        put_aside(cache);
        error = replace_line(cache->root, "boot", boot);
    }
    close(lock);
    return error;
}

int da_cache_open(struct da_cache *cache, const char *path, bool make) {
    *cache = (struct da_cache){-1, -1, -1, -1};
    if ((cache->root = open_folder(AT_FDCWD, path, 0711, make)) < 0)
        return errno;
    int error = make ? renew(cache) : 0;
    if (error) {
        da_cache_close(cache);
        return error;
    }
    if ((cache->store = open_folder(cache->root, FOLDERS[0], 0700, make)) >= 0 &&
        (cache->state = open_folder(cache->root, FOLDERS[1], 0700, make)) >= 0 &&
        (cache->jobs = open_folder(cache->root, FOLDERS[2], 0711, make)) >= 0)
        return 0;
    error = errno;
    da_cache_close(cache);
    return error;
}

void da_cache_close(struct da_cache *cache) {
    int *fds[] = {&cache->root, &cache->store, &cache->state, &cache->jobs};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Calls each(folder, name, arg) for the entries of a folder. */
static void for_each(int folder, void (*each)(int folder, const char *name, void *arg), void *arg) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *one; entries && (one = readdir(entries));)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            each(folder, one->d_name, arg);
    if (entries)
        closedir(entries);
    else if (fd >= 0)
        close(fd);
}

static void remove_file(int folder, const char *name, void *arg) {
    (void)arg;
    unlinkat(folder, name, 0);
}

static void remove_folder(int above, const char *name, void *arg);

static void remove_entry(int folder, const char *name, void *arg) {
    if (unlinkat(folder, name, 0) != 0 && (errno == EISDIR || errno == EPERM))
        remove_folder(folder, name, arg);
}

/* A folder of the cache: of files or, where `arg` says so, of folders of files too. */
static void remove_folder(int above, const char *name, void *arg) {
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        for_each(fd, arg ? remove_entry : remove_file, NULL);
        close(fd);
    }
    unlinkat(above, name, AT_REMOVEDIR);
}

void da_cache_remove_job(const struct da_cache *cache, uint32_t job) {
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, job);
    remove_folder(cache->jobs, name, NULL);
}

/* Trap: the lock is of the file, so whoever gets it has to see that the name is still that file's. */
static void remove_part(int store, const char *name, void *arg) {
    struct stat here, named;
    size_t n = strlen(name);
    (void)arg;
    if (n < 5 || strcmp(name + n - 5, ".part") != 0)
        return;
    int fd = openat(store, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &here) == 0 &&
        fstatat(store, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == named.st_ino)
        unlinkat(store, name, 0);
    close(fd);
}

void da_cache_remove_parts(const struct da_cache *cache) {
    for_each(cache->store, remove_part, NULL);
}

static bool read_job(const char *name, uint32_t *job) {
    char *end;
    unsigned long long number = strtoull(name, &end, 10);
    *job = (uint32_t)number;
    return *name >= '0' && *name <= '9' && *end == '\0' && number <= UINT32_MAX;
}

static void sweep_state(int state, const char *name, void *arg) {
    struct stat status;
    uint32_t job;
    if (!read_job(name, &job) || fstatat(state, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_mtime + OLD >= time(NULL))
        return;
    int fd = openat(state, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && !da_state_is_locked(fd, DA_USE) && !da_state_is_locked(fd, DA_HELPER)) {
        unlinkat(state, name, 0);
        da_cache_remove_job(arg, job);
    }
    if (fd >= 0)
        close(fd);
}

/* A job's folder without a state: whoever removed that was killed before it removed this. */
static void sweep_job(int jobs, const char *name, void *arg) {
    const struct da_cache *cache = arg;
    struct stat status;
    uint32_t job;
    (void)jobs;
    if (read_job(name, &job) && fstatat(cache->state, name, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT)
        da_cache_remove_job(cache, job);
}

static void sweep_from(int store, const char *name, void *arg) {
    char copy[80];
    size_t n = strlen(name);
    (void)arg;
    if (n < 6 || n >= sizeof copy || strcmp(name + n - 5, ".from") != 0)
        return;
    snprintf(copy, sizeof copy, "%.*s", (int)n - 5, name);
    if (faccessat(store, copy, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        unlinkat(store, name, 0);
}

static void sweep_gone(int root, const char *name, void *arg) {
    if (strncmp(name, "gone.", 5) == 0)
        remove_folder(root, name, arg);
}

void da_cache_sweep(const struct da_cache *cache) {
    bool with_folders = true;
    for_each(cache->state, sweep_state, (void *)cache);
    for_each(cache->jobs, sweep_job, (void *)cache);
    da_cache_remove_parts(cache);
    int lock = da_cache_lock(cache);
    if (lock >= 0) {
        for_each(cache->store, sweep_from, NULL);
        close(lock);
    }
    for_each(cache->root, sweep_gone, &with_folders);
}
