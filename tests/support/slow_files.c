/* slow_files.c - a file system of made-up files that answers as slowly as a far, shared one.
 *
 *   slow_files MOUNT FILES SIZE META_MS META_OPS MB_S      as root, until its standard input ends
 *
 * The folder MOUNT has FILES files f0, f1 … of SIZE zero bytes. META_MS is added to each lookup and open,
 * side by side; at most META_OPS of these are answered a second, over all clients, and MB_S megabytes; 0: no
 * bound. It speaks the protocol of /dev/fuse (linux/fuse.h), so it needs no library. Prints "ready" once the
 * folder is mounted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define THREADS 32
#define MOST (1 << 20) /* bytes of a read */
#define FIRST 2        /* the node of f0; 1 is the folder */

static int device;
static uint64_t files, size;
static double meta_s, meta_ops, bytes_s;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double next_meta, next_byte;
static char zeros[MOST];

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Waits for `latency` s, and for a turn in a queue in which a request takes `cost` s. */
static void wait_turn(double *next, double cost, double latency) {
    pthread_mutex_lock(&lock);
    double from = now(), turn = cost > 0 && *next > from ? *next : from;
    *next = turn + cost;
    pthread_mutex_unlock(&lock);
    double left = turn + cost + latency - from;
    struct timespec nap = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    while (left > 0 && nanosleep(&nap, &nap) != 0 && errno == EINTR)
        ;
}

static void wait_meta(void) {
    wait_turn(&next_meta, meta_ops > 0 ? 1 / meta_ops : 0, meta_s);
}

static void answer(uint64_t unique, int error, const void *data, size_t length) {
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + length), .error = -error, .unique = unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)data, length}};
    if (writev(device, parts, length ? 2 : 1) < 0 && errno != ENOENT && errno != ENODEV)
        perror("slow_files: answer");
}

static struct fuse_attr attributes(uint64_t node) {
    struct fuse_attr its = {.ino = node, .nlink = 1, .blksize = 4096};
    its.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0444;
    its.size = node == FUSE_ROOT_ID ? 0 : size;
    return its;
}

static void initialise(uint64_t unique, const struct fuse_init_in *in) {
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION};
    if (in->minor < out.minor)
        out.minor = in->minor;
    out.max_readahead = in->max_readahead;
    out.max_background = 64;
    out.congestion_threshold = 48;
    out.max_write = 4096;
    out.time_gran = 1;
    out.flags = FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS;
    answer(unique, 0, &out, sizeof out);
}

static void look_up(uint64_t unique, const char *name) {
    char *end = NULL;
    uint64_t which = *name == 'f' ? strtoull(name + 1, &end, 10) : files;
    wait_meta();
    if (!end || *end || end == name + 1 || which >= files) {
        answer(unique, ENOENT, NULL, 0);
        return;
    }
    struct fuse_entry_out out = {.nodeid = FIRST + which, .attr = attributes(FIRST + which)};
    answer(unique, 0, &out, sizeof out); /* known for no time: each open asks again */
}

static void read_file(uint64_t unique, const struct fuse_read_in *in) {
    uint64_t left = in->offset < size ? size - in->offset : 0;
    size_t length = in->size < left ? in->size : (size_t)left;
    if (length > MOST)
        length = MOST;
    wait_turn(&next_byte, bytes_s > 0 ? (double)length / bytes_s : 0, 0);
    answer(unique, 0, zeros, length);
}

static void read_folder(uint64_t unique, const struct fuse_read_in *in) {
    static _Thread_local char text[8192];
    size_t n = 0, most = in->size < sizeof text ? in->size : sizeof text;
    for (uint64_t i = in->offset; i < files; i++) {
        char name[24];
        size_t length = (size_t)snprintf(name, sizeof name, "f%llu", (unsigned long long)i);
        size_t whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
        if (n + whole > most)
            break;
        memset(text + n, 0, whole);
        struct fuse_dirent *one = (void *)(text + n);
        *one = (struct fuse_dirent){
            .ino = FIRST + i, .off = i + 1, .namelen = (uint32_t)length, .type = S_IFREG >> 12};
        memcpy(text + n + FUSE_NAME_OFFSET, name, length);
        n += whole;
    }
    answer(unique, 0, text, n);
}

static void serve(const struct fuse_in_header *head, const void *arg) {
    struct fuse_attr_out attr = {.attr = attributes(head->nodeid)};
    struct fuse_open_out open = {.fh = head->nodeid};
    struct fuse_statfs_out stat = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255}};
    switch (head->opcode) {
    case FUSE_INIT:
        initialise(head->unique, arg);
        break;
    case FUSE_LOOKUP:
        look_up(head->unique, arg);
        break;
    case FUSE_GETATTR:
        answer(head->unique, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
        wait_meta();
        answer(head->unique, 0, &open, sizeof open);
        break;
    case FUSE_OPENDIR:
        answer(head->unique, 0, &open, sizeof open);
        break;
    case FUSE_READ:
        read_file(head->unique, arg);
        break;
    case FUSE_READDIR:
        read_folder(head->unique, arg);
        break;
    case FUSE_STATFS:
        answer(head->unique, 0, &stat, sizeof stat);
        break;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH:
        answer(head->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break; /* no answer */
    default:
        answer(head->unique, ENOSYS, NULL, 0);
    }
}

static void *body(void *arg) {
    static _Thread_local char request[FUSE_MIN_READ_BUFFER + 4096];
    for (;;) {
        ssize_t got = read(device, request, sizeof request);
        if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
            continue;
        if (got < (ssize_t)sizeof(struct fuse_in_header))
            return arg; /* it is unmounted */
        serve((void *)request, request + sizeof(struct fuse_in_header));
    }
}

int main(int argc, char **argv) {
    char options[128], byte;
    pthread_t thread;
    if (argc != 7)
        return 2;
    files = strtoull(argv[2], NULL, 10);
    size = strtoull(argv[3], NULL, 10);
    meta_s = atof(argv[4]) / 1e3;
    meta_ops = atof(argv[5]);
    bytes_s = atof(argv[6]) * 1e6;
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,max_read=%d",
             device, MOST);
    if (device < 0 ||
        mount("slow_files", argv[1], "fuse.slow", MS_NODEV | MS_NOSUID | MS_RDONLY, options) != 0) {
        perror(argv[1]);
        return 1;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, body, NULL) != 0)
            return 1;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return umount2(argv[1], MNT_DETACH) != 0;
}
