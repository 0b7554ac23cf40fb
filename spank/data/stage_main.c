/* stage_main.c - adminkit-stage, which copies the shards of a data set into the cache of a node, for one job.
 *
 *   adminkit-stage CACHE SIZE JOB UID GID GROUP[,GROUP…] PLACE NODES MODE
 *
 * ADMINKIT_FOLDER is the shared folder; it is not an argument, as everybody may read those. SIZE: bytes, 0 as
 * in site.h. PLACE: of this node among NODES. MODE: first or behind. Its standard input is state/JOB with the
 * locks DA_GATE and DA_HELPER. It runs without whoever started it, and ends when that file has no name any
 * more, as the job has ended then. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "digest.h"
#include "job_folder.h"
#include "leave.h"
#include "room.h"
#include "site.h"
#include "state.h"
#include "store.h"

#define STATE STDIN_FILENO
#define LOOK_EACH 100000 /* µs between two looks at the job's file */
#define AGAIN 500000     /* µs before a shard that another job copies is looked at again */
#define MOST_GROUPS 65536
#define FIRST_READ ((size_t)1 << 17) /* bytes of an index: a thousand shards */

static struct {
    struct da_cache cache;
    struct da_store store;
    struct da_folder folder;
    struct da_user user;
    struct da_record record;
    uint32_t place, nodes, count;
    int shared;
    struct da_shard *shards;
    bool *settled; /* shards that are here, or given up */
    int64_t began; /* ms, steady */
} da;

static int64_t steady(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void write_record(void) {
    da.record.copied = da.store.copied;
    if (da.record.phase < DA_PART || da.record.mode == DA_BEHIND)
        da.record.ms = (uint64_t)(steady() - da.began);
    da_state_write(STATE, &da.record);
}

/* The worst reason stands, with the first shard that it holds for. */
static void give_up(enum da_why why, const char *name) {
    if (why > da.record.why) {
        da.record.why = why;
        snprintf(da.record.name, sizeof da.record.name, "%s", *name ? name : "-");
    }
}

static _Noreturn void fail(enum da_why why) {
    give_up(why, "");
    da.record.phase = DA_FAILED;
    write_record();
    exit(1);
}

/* Something of the node's, for its administrator. */
static _Noreturn void fail_node(const char *what, int error) {
    syslog(LOG_ERR, "%s: %s", what, strerror(error));
    fail(DA_NODE);
}

/* Ends when the job has. Trap: a signal that comes again and again would do this at any moment, and a file
 * system whose calls a signal may interrupt would never give an answer that takes longer. Who waits long for
 * one is killed by the epilog. */
static void look(void) {
    struct stat status;
    if (fstat(STATE, &status) != 0 || status.st_nlink > 0)
        return;
    if (da.store.part[0])
        unlinkat(da.cache.store, da.store.part, 0);
    exit(0);
}

static void wait_a_while(void) {
    for (int i = 0; i < AGAIN / LOOK_EACH; i++) {
        usleep(LOOK_EACH);
        look();
    }
}

/* Reads on until there are `size` bytes of the file, or it ends. */
static size_t read_up_to(int file, char *text, size_t had, size_t size) {
    while (had < size) {
        ssize_t n = read(file, text + had, size - had);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        had += n > 0 ? (size_t)n : 0;
    }
    return had;
}

/* Reads the head of the index, and little more: a line for each file follows. */
static void read_index(const char *shared) {
    enum da_why why = DA_NO_INDEX;
    struct da_identity identity;
    const char *problem;
    char *text = malloc(DA_HEAD_MOST);
    if (!text)
        fail_node("malloc", errno);
    da.shared = da_source_folder(&da.user, shared);
    int file = da.shared < 0 ? -1 : da_source_open(&da.user, da.shared, DA_INDEX, 0, &why);
    if (file < 0)
        fail(DA_NO_INDEX);
    if (!da_source_identify(file, &identity, &why))
        fail(why);
    for (size_t had = 0, want = FIRST_READ; !da.shards;
         want = 8 * want < DA_HEAD_MOST ? 8 * want : DA_HEAD_MOST) {
        size_t has = read_up_to(file, text, had, want);
        if (has == had)
            fail(DA_BAD_INDEX);
        had = has;
        da.shards = da_index_read(text, had, &da.count, &problem);
    }
    close(file);
    free(text);
    da.settled = calloc(da.count, sizeof *da.settled);
    if (!da.settled)
        fail_node("calloc", errno);
}

static bool is_mine(uint32_t i) {
    return i % da.nodes == da.place;
}

/* False: another job copies it. */
static bool get(uint32_t i) {
    const struct da_shard *shard = &da.shards[i];
    enum da_why why;
    enum da_result result = DA_LEFT;
    look();
    int source = da_source_open(&da.user, da.shared, shard->name, shard->size, &why);
    if (source >= 0) {
        result = da_store_get(&da.store, shard, source, is_mine(i), da_folder_link, &da.folder, &why);
        close(source);
    }
    if (result == DA_BUSY)
        return false;
    da.settled[i] = true;
    da.record.hit += result == DA_HIT ? shard->size : 0;
    da.record.here += result != DA_LEFT;
    if (result == DA_LEFT) {
        da.record.left += is_mine(i); /* for the rest of the set there need not be room */
        if (is_mine(i))
            give_up(why, shard->name);
    }
    write_record();
    return true;
}

/* This node's part, or the rest. In mode behind, the last shard comes first: who reads them in order
 * meanwhile meets the helper halfway, and each byte is read from the shared folder once. */
static void get_all(bool mine) {
    for (;;) {
        uint32_t busy = 0, got = 0;
        for (uint32_t turn = 0; turn < da.count; turn++) {
            uint32_t i = da.record.mode == DA_BEHIND ? da.count - 1 - turn : turn;
            if (is_mine(i) == mine && !da.settled[i]) {
                bool done = get(i);
                busy += !done;
                got += done;
            }
        }
        if (busy == 0)
            return;
        if (got == 0)
            wait_a_while();
    }
}

static void read_groups(char *list) {
    static gid_t groups[MOST_GROUPS];
    for (char *rest = NULL, *one = strtok_r(list, ",", &rest); one && da.user.count < MOST_GROUPS;
         one = strtok_r(NULL, ",", &rest))
        groups[da.user.count++] = (gid_t)strtoul(one, NULL, 10);
    da.user.groups = groups;
}

static void begin(char **argv, const char *shared) {
    uint32_t job = (uint32_t)strtoul(argv[3], NULL, 10);
    da.user.uid = (uid_t)strtoul(argv[4], NULL, 10);
    da.user.gid = (gid_t)strtoul(argv[5], NULL, 10);
    read_groups(argv[6]);
    da.place = (uint32_t)strtoul(argv[7], NULL, 10);
    da.nodes = (uint32_t)strtoul(argv[8], NULL, 10);
    da.nodes = da.nodes ? da.nodes : 1;
    da.record = (struct da_record){.phase = DA_STARTED, .pid = getpid(), .began = time(NULL)};
    da.record.mode = strcmp(argv[9], "behind") == 0 ? DA_BEHIND : DA_FIRST;
    da.began = steady();
    da.store = (struct da_store){.cache = &da.cache, .size = strtoull(argv[2], NULL, 10), .look = look};
    write_record();
    int error = da_cache_open(&da.cache, argv[1], false);
    if (error)
        fail_node(argv[1], error);
    if (!da_digest_open())
        fail_node("libcrypto.so.3", ENOENT);
    da_cache_sweep(&da.cache);
    read_index(shared);
    da.record.shards = da.count;
    if (!da_room_for_links(&da.cache, (uint64_t)da.count + 1, strlen(shared) + DA_NAME_SIZE))
        fail(DA_FULL);
    if ((error = da_folder_open(&da.folder, &da.cache, job, da.user.uid, shared)) ||
        (error = da_folder_fill(&da.folder, da.shards, da.count)))
        fail_node("the folder of a job", error);
    da.record.phase = DA_READY;
    write_record();
}

/* Not a child of slurmstepd, which would wait for it, nor one that the node's memory killer spares as that.
 */
static void go_apart(void) {
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0 ? 1 : 0);
    da_leave_job();
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        dprintf(fd, "500\n");
        close(fd);
    }
    prctl(PR_SET_DUMPABLE, 0);
    if (nice(10) == -1)
        errno = 0; /* as busy as others, then */
}

/* Whether the standard input is the job's state: whatever else it is would be written to. */
static bool has_state(char **argv) {
    char path[PATH_MAX];
    struct stat here, named;
    int n = snprintf(path, sizeof path, "%s/state/%lu", argv[1], strtoul(argv[3], NULL, 10));
    return n < (int)sizeof path && fstat(STATE, &here) == 0 && lstat(path, &named) == 0 &&
           S_ISREG(here.st_mode) && here.st_ino == named.st_ino && here.st_dev == named.st_dev;
}

int main(int argc, char **argv) {
    const char *shared = getenv("ADMINKIT_FOLDER");
    if (argc != 10 || !shared || geteuid() != 0 || !has_state(argv)) {
        fprintf(stderr,
                "adminkit-stage: Slurm's plugin adminkit_data starts this program; nobody else does\n");
        return 2;
    }
    umask(077);
    openlog("adminkit-stage", LOG_PID, LOG_DAEMON);
    go_apart();
    begin(argv, shared);
    get_all(true);
    da.record.phase = DA_PART;
    write_record();
    da_state_let_go(STATE, DA_GATE);
    get_all(false);
    da.record.phase = DA_DONE;
    write_record();
    return 0;
}
