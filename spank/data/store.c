/* store.c - see store.h. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digest.h"
#include "room.h"

#define CHUNK ((size_t)1 << 20)
#define SETTLED                                                                                              \
    2 /* s since a file's last change: a later one gets another ctime, whatever the clock's grain */
#define MOST_SOURCES 64 /* of one copy that are remembered */

struct job {
    const struct da_shard *shard;
    int source;
    bool evict;
    bool (*link)(const struct da_shard *shard, void *arg);
    void *arg;
};

static void from_name(const struct da_shard *shard, char *name, size_t size) {
    snprintf(name, size, "%s.from", shard->sha);
}

static bool is_here(const struct da_store *store, const struct da_shard *shard) {
    struct stat status;
    return fstatat(store->cache->store, shard->sha, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && (uint64_t)status.st_size == shard->size;
}

/* Whether a copy of it was read from that very file. *count: the files that are remembered. */
static bool is_known(const struct da_store *store, const struct da_shard *shard, const char *identity,
                     int *count) {
    char name[80], *line = NULL;
    size_t capacity = 0;
    bool known = false;
    from_name(shard, name, sizeof name);
    *count = 0;
    int fd = openat(store->cache->store, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    for (ssize_t n; file && !known && (n = getline(&line, &capacity, file)) > 0; (*count)++) {
        bool whole = line[n - 1] == '\n';
        line[n - 1] = '\0';
        known = whole && strcmp(line, identity) == 0;
    }
    free(line);
    if (file)
        fclose(file);
    return known;
}

/* Under the cache's lock. A line that was cut, as by a full disk, is never that of a file. */
static void remember(const struct da_store *store, const struct da_shard *shard, const char *identity) {
    char name[80];
    int count;
    if (is_known(store, shard, identity, &count))
        return;
    from_name(shard, name, sizeof name);
    int again = count >= MOST_SOURCES ? O_TRUNC : 0;
    int fd = openat(store->cache->store, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | again,
                    0600);
    if (fd < 0)
        return;
    dprintf(fd, "%s\n", identity);
    close(fd);
}

/* Under the cache's lock: the copy is here, and is not removed before it is linked. */
static bool link_it(const struct da_store *store, const struct job *job) {
    char name[80];
    from_name(job->shard, name, sizeof name);
    if (!is_here(store, job->shard) || !job->link(job->shard, job->arg))
        return false;
    utimensat(store->cache->store, name, NULL, AT_SYMLINK_NOFOLLOW);
    return true;
}

static bool link_known(const struct da_store *store, const struct job *job, const char *identity) {
    int count, lock = da_cache_lock(store->cache);
    if (lock < 0)
        return false;
    bool linked = is_known(store, job->shard, identity, &count) && link_it(store, job);
    close(lock);
    return linked;
}

static bool write_all(int file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno != EINTR)
            return false;
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Reads the source, writes it to `part` unless that is -1, and compares. DA_WHOLE, or why not. */
static enum da_why transfer(struct da_store *store, const struct job *job, int part) {
    static char chunk[CHUNK];
    char sha[DA_SHA_SIZE];
    uint64_t at = 0;
    if (!da_digest_begin())
        return DA_NODE;
    while (at < job->shard->size) {
        uint64_t rest = job->shard->size - at;
        store->look();
        ssize_t n = pread(job->source, chunk, rest < CHUNK ? (size_t)rest : CHUNK, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? DA_UNREADABLE : DA_CHANGED;
        da_digest_add(chunk, (size_t)n);
        if (part >= 0 && !write_all(part, chunk, (size_t)n))
            return errno == ENOSPC || errno == EDQUOT ? DA_FULL : DA_NODE;
        posix_fadvise(job->source, (off_t)at, n,
                      POSIX_FADV_DONTNEED); /* the copy is what is read from now on */
        at += (uint64_t)n;
        store->copied += (uint64_t)n;
    }
    if (!da_digest_end(sha))
        return DA_NODE;
    return strcmp(sha, job->shard->sha) == 0 ? DA_WHOLE : DA_WRONG;
}

/* The same, and the file is the one that it was before. *settled: its identity may be remembered. */
static enum da_why transfer_steady(struct da_store *store, const struct job *job, int part,
                                   const struct da_identity *before, bool *settled) {
    struct da_identity after;
    enum da_why unknown;
    *settled = before->changed + SETTLED <= time(NULL);
    enum da_why why = transfer(store, job, part);
    if (why == DA_UNREADABLE || why == DA_FULL || why == DA_NODE)
        return why;
    if (!da_source_identify(job->source, &after, &unknown) || strcmp(before->text, after.text) != 0)
        return DA_CHANGED;
    return why;
}

/* The copy is here, but from another file: this one is read and compared. */
static enum da_why compare(struct da_store *store, const struct job *job,
                           const struct da_identity *identity) {
    bool settled;
    enum da_why why = transfer_steady(store, job, -1, identity, &settled);
    int lock = why == DA_WHOLE ? da_cache_lock(store->cache) : -1;
    if (why != DA_WHOLE || lock < 0)
        return why == DA_WHOLE ? DA_NODE : why;
    if (settled)
        remember(store, job->shard, identity->text);
    why = link_it(store, job) ? DA_WHOLE : DA_NODE;
    close(lock);
    return why;
}

/* A descriptor of SHA.FILE.part, under lock; -1: *busy, or it cannot be made. Trap: whoever had the lock
 * before may have given the file its name or removed it. Trap: who could hold it with another file, and a
 * SHA-256 that is not that file's, would keep others from their data. */
static int open_part(struct da_store *store, const struct da_shard *shard, const struct da_identity *identity,
                     bool *busy) {
    struct stat here, named;
    char name[sizeof store->part];
    snprintf(name, sizeof name, "%s.%s.part", shard->sha, identity->file);
    *busy = false;
    for (;;) {
        int fd = openat(store->cache->store, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return -1;
        *busy = flock(fd, LOCK_EX | LOCK_NB) != 0;
        if (*busy) {
            close(fd);
            return -1;
        }
        if (fstat(fd, &here) == 0 && fstatat(store->cache->store, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            here.st_ino == named.st_ino) {
            memcpy(store->part, name, sizeof store->part);
            return fd;
        }
        close(fd);
    }
}

/* Gives the whole copy its name, unless another job's copy of another file has it by now, and links it. */
static enum da_why publish(struct da_store *store, const struct job *job, int part,
                           const struct da_identity *identity, bool settled) {
    int lock = fchmod(part, 0444) == 0 ? da_cache_lock(store->cache) : -1;
    if (lock < 0)
        return DA_NODE;
    char name[80];
    int folder = store->cache->store;
    from_name(job->shard, name, sizeof name);
    if (settled)
        remember(store, job->shard, identity->text);
    if (!is_here(store, job->shard) && renameat(folder, store->part, folder, job->shard->sha) == 0)
        store->part[0] = '\0';
    bool linked = link_it(store, job);
    close(lock);
    return linked ? DA_WHOLE : DA_NODE;
}

static enum da_why make_copy(struct da_store *store, const struct job *job, int part,
                             const struct da_identity *identity) {
    bool settled;
    if (!da_room_take(store->cache, part, job->shard->size, store->size, job->evict))
        return DA_FULL;
    enum da_why why = transfer_steady(store, job, part, identity, &settled);
    return why == DA_WHOLE ? publish(store, job, part, identity, settled) : why;
}

enum da_result da_store_get(struct da_store *store, const struct da_shard *shard, int source, bool evict,
                            bool (*link)(const struct da_shard *shard, void *arg), void *arg,
                            enum da_why *why) {
    struct job job = {.shard = shard, .source = source, .evict = evict, .link = link, .arg = arg};
    struct da_identity identity;
    bool busy;
    if (!da_source_identify(source, &identity, why))
        return DA_LEFT;
    if (link_known(store, &job, identity.text))
        return DA_HIT;
    int part = open_part(store, shard, &identity, &busy);
    if (busy)
        return DA_BUSY;
    *why = DA_NODE;
    if (part < 0)
        return DA_LEFT;
    if (link_known(store, &job, identity.text)) { /* made since the first look */
        unlinkat(store->cache->store, store->part, 0);
        store->part[0] = '\0';
        close(part);
        return DA_HIT;
    }
    bool here = is_here(store, shard);
    if (here)
        *why = compare(store, &job, &identity);
    if (!here || (*why == DA_NODE && !is_here(store, shard))) /* it was removed meanwhile, as for room */
        *why = make_copy(store, &job, part, &identity);
    if (store->part[0])
        unlinkat(store->cache->store, store->part, 0);
    store->part[0] = '\0';
    close(part);
    return *why == DA_WHOLE ? DA_COPIED : DA_LEFT;
}
