/* bench_snapshot.c - how long the look at a step takes, beside a loop that only reads the same files of
 * /proc.
 *
 *   bench_snapshot PROCESSES PAIRS CGROUP      a folder to be made, "" for none: the tree from /proc then
 *
 * Half of the processes catch the signal. Prints "ours theirs" in seconds of CPU time for each pair. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ckpt/targets.h"

#define BRANCH 100

static void handler(int signal) {
    (void)signal;
}

/* Of this process' own time: nothing here waits, and others on the machine are not to be measured. */
static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void leaf(int number) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (number % 2)
        signal(SIGTERM, handler);
    for (;;)
        pause();
}

/* One process per branch, with the leaves below it. */
static void grow(int count) {
    for (int from = 0; from < count; from += BRANCH) {
        if (fork() != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 1; i < BRANCH && from + i < count; i++)
            if (fork() == 0)
                leaf(i);
        leaf(0);
    }
}

struct path {
    char name[32];
    bool link;
};

static size_t add(struct path *paths, size_t at, pid_t pid, const char *file, bool link) {
    snprintf(paths[at].name, sizeof paths[at].name, "%d/%s", (int)pid, file);
    paths[at].link = link;
    return at + 1;
}

/* What the snapshot has read: see proc_read.c. */
static size_t list(const struct ck_snapshot *snapshot, struct path *paths, bool all) {
    size_t n = 0;
    DIR *proc = all ? opendir("/proc") : NULL;

    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (atoi(entry->d_name) > 0 && n < CK_MAX_PROCESSES)
            n = add(paths, n, atoi(entry->d_name), "stat", false);
    if (proc)
        closedir(proc);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct ck_process *process = &snapshot->process[i];
        if (!all)
            n = add(paths, n, process->pid, "stat", false);
        if (process->disposition == CK_SIG_CAUGHT) {
            n = add(paths, n, process->pid, "status", false);
            n = add(paths, n, process->pid, "exe", true);
        } else if (process->state == 'S') {
            n = add(paths, n, process->pid, "wchan", false);
        }
    }
    return n;
}

static void read_all(int proc, const struct path *paths, size_t count) {
    static char text[262144];

    for (size_t i = 0; i < count; i++) {
        int file = paths[i].link ? -1 : openat(proc, paths[i].name, O_RDONLY | O_CLOEXEC);
        ssize_t got = paths[i].link ? readlinkat(proc, paths[i].name, text, sizeof text)
                                    : read(file, text, sizeof text);
        if (got < 0 && !paths[i].link && file >= 0)
            exit(1);
        if (file >= 0)
            close(file);
    }
}

static double ours(const struct ck_scope *scope, size_t least) {
    struct ck_snapshot snapshot;
    double began = now();
    enum ck_role *role = malloc(CK_MAX_PROCESSES * sizeof *role);

    if (ck_snapshot_take(&snapshot, scope->cgroup, scope->roots, scope->root_count, scope->signal) ||
        snapshot.count < least || !ck_choose_targets(&snapshot, scope, role))
        exit(1);
    ck_snapshot_free(&snapshot);
    free(role);
    return now() - began;
}

static double theirs(int proc, const struct path *paths, size_t count) {
    double began = now();
    read_all(proc, paths, count);
    return now() - began;
}

static void enter(const char *cgroup) {
    char file[512];

    snprintf(file, sizeof file, "%s/cgroup.procs", cgroup);
    FILE *procs = mkdir(cgroup, 0755) && errno != EEXIST ? NULL : fopen(file, "w");
    if (!procs || fputs("0", procs) < 0 || fclose(procs)) {
        perror(file);
        exit(1);
    }
}

int main(int argc, char **argv) {
    int count = argc == 4 ? atoi(argv[1]) : 0, pairs = argc == 4 ? atoi(argv[2]) : 0;
    const char *cgroup = argc == 4 && *argv[3] ? argv[3] : NULL;
    struct path *paths = malloc(4 * CK_MAX_PROCESSES * sizeof *paths);
    struct ck_snapshot snapshot;
    int ready[2], proc = open("/proc", O_RDONLY | O_DIRECTORY);

    if (count < 1 || pairs < 1 || !paths || proc < 0 || pipe(ready))
        return 2;
    pid_t root = fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (cgroup)
            enter(cgroup);
        grow(count - 1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        leaf(0);
    }
    if (read(ready[0], &(char){0}, 1) != 1)
        return 1;
    struct ck_scope scope = {
        .uid = getuid(), .signal = SIGTERM, .cgroup = cgroup, .roots = &root, .root_count = 1};
    for (int tries = 0; tries < 100; tries++) {
        usleep(200000);
        if (ck_snapshot_take(&snapshot, cgroup, &root, 1, SIGTERM))
            return 1;
        if (snapshot.count >= (size_t)count || tries == 99)
            break;
        ck_snapshot_free(&snapshot);
    }
    if (snapshot.count < (size_t)count) {
        fprintf(stderr, "only %zu of %d processes could be started\n", snapshot.count, count);
        return 3;
    }
    size_t files = list(&snapshot, paths, cgroup == NULL);
    fprintf(stderr, "%zu processes, %zu files\n", snapshot.count, files);
    for (int pair = 0; pair < pairs; pair++) {
        double a = 0, b = 0;
        if (pair % 2 == 0)
            a = ours(&scope, (size_t)count);
        b = theirs(proc, paths, files);
        if (pair % 2)
            a = ours(&scope, (size_t)count);
        printf("%.6f %.6f\n", a, b);
    }
    kill(root, SIGKILL);
    waitpid(root, NULL, 0);
    return 0;
}
