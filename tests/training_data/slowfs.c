/* A read-only view of a folder that answers like a far, busy file system: the bed on which `adminkit data` is
 * measured.
 *
 *   slowfs FOLDER MOUNT calls=N latency=MS reading=MS rate=MB [options of FUSE …]
 *
 * calls: lookups, opens and listings a second, over all clients (0: no limit); latency: what each of them
 * takes at least; reading: what each read takes at least; rate: MB (10^6 bytes) a second over all clients (0:
 * no limit). Delays overlap, limits do not. A limit is a queue: each caller books the next free moment and
 * sleeps until then.
 */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BILLION = 1000000000 };

struct queue {
    pthread_mutex_t lock;
    int64_t free_at; /* nanoseconds, monotonic */
    double cost;     /* nanoseconds of one unit; 0: no limit */
    int64_t latency; /* nanoseconds */
};

static struct queue calls = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct queue bytes = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int folder;

/* Return when `units` of the queue are through. */
static void pass(struct queue *queue, double units) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t done = (int64_t)at.tv_sec * BILLION + at.tv_nsec;
    if (queue->cost > 0) {
        pthread_mutex_lock(&queue->lock);
        if (queue->free_at < done)
            queue->free_at = done;
        queue->free_at += (int64_t)(units * queue->cost);
        done = queue->free_at;
        pthread_mutex_unlock(&queue->lock);
    }
    done += queue->latency;
    at = (struct timespec){.tv_sec = done / BILLION, .tv_nsec = done % BILLION};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static const char *inside(const char *path) {
    return path[1] == '\0' ? "." : path + 1;
}

static int slow_getattr(const char *path, struct stat *facts, struct fuse_file_info *info) {
    (void)info;
    pass(&calls, 1);
    return fstatat(folder, inside(path), facts, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

static int slow_readlink(const char *path, char *text, size_t room) {
    pass(&calls, 1);
    ssize_t length = readlinkat(folder, inside(path), text, room - 1);
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info) {
    pass(&calls, 1);
    int file = openat(folder, inside(path), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    info->fh = (uint64_t)file;
    return 0;
}

static int slow_read(const char *path, char *data, size_t length, off_t offset, struct fuse_file_info *info) {
    (void)path;
    ssize_t done = pread((int)info->fh, data, length, offset);
    if (done < 0)
        return -errno;
    pass(&bytes, (double)done);
    return (int)done;
}

static int slow_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    close((int)info->fh);
    return 0;
}

static int slow_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *info, enum fuse_readdir_flags flags) {
    (void)offset;
    (void)info;
    (void)flags;
    pass(&calls, 1);
    int handle = openat(folder, inside(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = handle < 0 ? NULL : fdopendir(handle);
    if (dir == NULL)
        return -errno;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat facts = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        fill(to, entry->d_name, &facts, 0, 0);
    }
    closedir(dir);
    return 0;
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    connection->max_readahead = 1 << 20;
    connection->max_background = 64;
    config->entry_timeout = config->attr_timeout = 1;
    config->use_ino = 1;
    return NULL;
}

static const struct fuse_operations OPERATIONS = {
    .init = slow_init,
    .getattr = slow_getattr,
    .readlink = slow_readlink,
    .open = slow_open,
    .read = slow_read,
    .release = slow_release,
    .readdir = slow_readdir,
};

/* The number of `name=number`, or the program ends. */
static double number(const char *word, const char *name) {
    size_t length = strlen(name);
    if (strncmp(word, name, length) != 0 || word[length] != '=') {
        fprintf(stderr, "slowfs: %s: expected %s=NUMBER\n", word, name);
        exit(2);
    }
    return strtod(word + length + 1, NULL);
}

int main(int count, char **words) {
    if (count < 7 || count > 30) {
        fprintf(stderr,
                "usage: slowfs FOLDER MOUNT calls=N latency=MS reading=MS rate=MB [options of FUSE]\n");
        return 2;
    }
    folder = open(words[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        perror(words[1]);
        return 1;
    }
    double most_calls = number(words[3], "calls"), rate = number(words[6], "rate");
    calls.cost = most_calls > 0 ? BILLION / most_calls : 0;
    bytes.cost = rate > 0 ? BILLION / (rate * 1e6) : 0;
    calls.latency = (int64_t)(number(words[4], "latency") * 1e6);
    bytes.latency = (int64_t)(number(words[5], "reading") * 1e6);
    words[1] = words[0];
    memmove(words + 3, words + 7, (size_t)(count - 7 + 1) * sizeof *words);
    return fuse_main(count - 5, words + 1, &OPERATIONS, NULL);
}
