/* room.c - see room.h. */
#include "room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define SHORT_TARGET 60   /* bytes */
#define MOST_COPIES 32768 /* each copy that is made looks at all of them */

struct unused {
    char name[72];
    uint64_t size;
    struct timespec used;
};

struct look {
    uint64_t taken; /* bytes of copies and parts */
    size_t copies;
    struct unused *list;
    size_t count, capacity;
};

/* The last use: that of its .from, or where none is remembered, the copy's making. */
static struct timespec last_use(int store, const char *name, const struct stat *copy) {
    char from[80];
    struct stat status;
    snprintf(from, sizeof from, "%.70s.from", name);
    return fstatat(store, from, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mtim : copy->st_mtim;
}

static void add(struct look *look, int store, const char *name, const struct stat *status) {
    if (look->count == look->capacity) {
        size_t capacity = look->capacity ? 2 * look->capacity : 64;
        struct unused *list = realloc(look->list, capacity * sizeof *list);
        if (!list)
            return; /* what is not listed stays */
        look->list = list;
        look->capacity = capacity;
    }
    struct unused *one = &look->list[look->count++];
    snprintf(one->name, sizeof one->name, "%.70s", name);
    one->size = (uint64_t)status->st_size;
    one->used = last_use(store, name, status);
}

static void look_around(struct look *look, int store) {
    struct stat status;
    int fd = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *one; entries && (one = readdir(entries));) {
        if (fstatat(store, one->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
            continue;
        const char *dot = strchr(one->d_name, '.');
        bool is_copy = !dot;
        if (dot && strcmp(dot, ".from") == 0)
            continue;
        look->taken += (uint64_t)status.st_size;
        look->copies += is_copy;
        if (is_copy && status.st_nlink == 1)
            add(look, store, one->d_name, &status);
    }
    if (entries)
        closedir(entries);
    else if (fd >= 0)
        close(fd);
}

static int by_use(const void *left, const void *right) {
    const struct unused *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Whether `need` bytes more are within the bound and leave a twentieth of the file system free, when `freed`
 * bytes of what is there are gone. */
static bool fits(int store, const struct look *look, uint64_t need, uint64_t size, uint64_t freed) {
    struct statvfs disk;
    if (fstatvfs(store, &disk) != 0)
        return false;
    uint64_t all = (uint64_t)disk.f_blocks * disk.f_frsize;
    uint64_t rest = (uint64_t)disk.f_bavail * disk.f_frsize + freed, most = size ? size : all / 2;
    return need <= most && look->taken - freed <= most - need && rest >= all / 20 && need <= rest - all / 20;
}

/* Removes it, and what is remembered of it. */
static void evict_one(int store, struct look *look, const struct unused *one) {
    char from[80];
    snprintf(from, sizeof from, "%s.from", one->name);
    if (unlinkat(store, one->name, 0) == 0) {
        look->taken -= one->size;
        look->copies--;
    }
    unlinkat(store, from, 0);
}

/* Removes unused copies until there is room; none where all of them would not do. */
static bool make_room(int store, struct look *look, uint64_t need, uint64_t size, bool evict) {
    uint64_t unused = 0;
    for (size_t i = 0; evict && i < look->count; i++)
        unused += look->list[i].size;
    if (!fits(store, look, need, size, unused) || look->copies - (evict ? look->count : 0) >= MOST_COPIES)
        return false;
    if (evict && look->count > 1)
        qsort(look->list, look->count, sizeof *look->list, by_use);
    for (size_t i = 0; evict && i < look->count; i++)
        if (look->copies >= MOST_COPIES || !fits(store, look, need, size, 0))
            evict_one(store, look, &look->list[i]);
    return look->copies < MOST_COPIES && fits(store, look, need, size, 0);
}

/* Trap: not every file system has fallocate(); there a copy may find the disk full, and is given up then. */
static bool reserve(int part, uint64_t need) {
    if (ftruncate(part, 0) != 0 || ftruncate(part, (off_t)need) != 0)
        return false;
    return fallocate(part, 0, 0, (off_t)need) == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
}

bool da_room_take(const struct da_cache *cache, int part, uint64_t need, uint64_t size, bool evict) {
    struct look look = {0};
    int lock = da_cache_lock(cache);
    if (lock < 0)
        return false;
    bool empty = ftruncate(part, 0) == 0; /* what a former helper left of it does not count */
    look_around(&look, cache->store);
    bool has_room = empty && make_room(cache->store, &look, need, size, evict) && reserve(part, need);
    if (!has_room)
        (void)!ftruncate(part, 0);
    close(lock);
    free(look.list);
    return has_room;
}

/* A target that is longer than an inode has place for takes a block. Trap: a cache that is full leaves a
 * twentieth free, and has to let jobs in that find their data. */
bool da_room_for_links(const struct da_cache *cache, uint64_t count, uint64_t length) {
    struct statvfs disk;
    if (fstatvfs(cache->jobs, &disk) != 0)
        return false;
    uint64_t all = (uint64_t)disk.f_blocks * disk.f_frsize, rest = (uint64_t)disk.f_bavail * disk.f_frsize;
    uint64_t need = length < SHORT_TARGET ? 0 : count * (uint64_t)disk.f_frsize;
    bool counts = disk.f_files > 0; /* btrfs does not */
    return need + all / 40 <= rest && (!counts || count + disk.f_files / 40 <= disk.f_favail);
}
