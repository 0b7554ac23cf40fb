/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cgroup.h"
#include "proc_read.h"

static int by_pid(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* struct ck_process begins with its pid. */
static size_t find(const struct ck_snapshot *snapshot, pid_t pid) {
    const struct ck_process *at =
        bsearch(&pid, snapshot->process, snapshot->count, sizeof *snapshot->process, by_pid);
    return at ? (size_t)(at - snapshot->process) : CK_NO_PARENT;
}

void ck_snapshot_link(struct ck_snapshot *snapshot) {
    struct ck_process *process = snapshot->process;

    qsort(process, snapshot->count, sizeof *process, by_pid);
    for (size_t i = 0; i < snapshot->count; i++) {
        size_t parent = find(snapshot, process[i].ppid);
        bool older = parent != CK_NO_PARENT && parent != i && process[parent].start <= process[i].start;
        process[i].parent = older ? parent : CK_NO_PARENT;
    }
}

/* The pids of /proc. Free *pids. Returns the count, or -1 with errno. */
static ssize_t all_pids(int proc, pid_t **pids, bool *more) {
    DIR *entries = ck_open_folder(proc, ".");
    size_t count = 0;

    if (!entries)
        return -1;
    *pids = malloc(CK_MAX_PROCESSES * sizeof **pids);
    for (struct dirent *entry; *pids && !*more && (entry = readdir(entries));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        *more = count == CK_MAX_PROCESSES;
        if (!*more)
            (*pids)[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(entries);
    errno = ENOMEM;
    return *pids ? (ssize_t)count : -1;
}

/* Drops the processes that are neither roots nor below one. False: no memory. */
static bool keep_tree(struct ck_snapshot *snapshot, const pid_t *roots, size_t root_count) {
    enum { UNKNOWN, INSIDE, OUTSIDE };
    struct ck_process *process = snapshot->process;
    char *mark = calloc(snapshot->count + 1, 1);
    size_t kept = 0;

    if (!mark)
        return false;
    for (size_t r = 0; r < root_count; r++) {
        size_t at = find(snapshot, roots[r]);
        if (at != CK_NO_PARENT)
            mark[at] = INSIDE;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        size_t at = i, steps = 0;
        while (mark[at] == UNKNOWN && process[at].parent != CK_NO_PARENT && steps++ < snapshot->count)
            at = process[at].parent;
        char side = mark[at] == INSIDE ? INSIDE : OUTSIDE;
        for (at = i; at != CK_NO_PARENT && mark[at] == UNKNOWN; at = process[at].parent)
            mark[at] = side;
    }
    for (size_t i = 0; i < snapshot->count; i++)
        if (mark[i] == INSIDE)
            process[kept++] = process[i];
    snapshot->count = kept;
    free(mark);
    return true;
}

/* Reads these pids. For a tree only /proc/PID/stat: the rest only of those that keep_tree() leaves. */
static int read_pids(struct ck_snapshot *snapshot, pid_t *pids, size_t count, bool tree, int signal) {
    snapshot->process = malloc((count + 1) * sizeof *snapshot->process);
    if (!snapshot->process)
        return ENOMEM;
    qsort(pids, count, sizeof *pids, by_pid);
    for (size_t i = 0; i < count; i++) {
        struct ck_process *process = &snapshot->process[snapshot->count];
        if ((i > 0 && pids[i] == pids[i - 1]) || !ck_read_stat(snapshot, pids[i], signal, process))
            continue;
        if (!tree)
            ck_read_rest(snapshot, signal, process);
        snapshot->count++;
    }
    ck_snapshot_link(snapshot);
    return 0;
}

int ck_snapshot_take(struct ck_snapshot *snapshot, const char *cgroup, const pid_t *roots, size_t root_count,
                     int signal) {
    pid_t *pids = NULL;
    ssize_t count = -1;

    *snapshot = (struct ck_snapshot){0};
    if (!ck_arena_open(snapshot))
        return errno;
    if (cgroup)
        count = ak_cgroup_pids(cgroup, CK_MAX_PROCESSES, &pids, &snapshot->partial);
    bool tree = count <= 0;
    if (tree) {
        free(pids);
        pids = NULL;
        count = all_pids(ck_arena_proc(snapshot), &pids, &snapshot->partial);
    }
    int error = count < 0 ? errno : read_pids(snapshot, pids, (size_t)count, tree, signal);
    free(pids);
    if (error || !tree)
        return error;
    if (!keep_tree(snapshot, roots, root_count))
        return ENOMEM;
    for (size_t i = 0; i < snapshot->count; i++)
        ck_read_rest(snapshot, signal, &snapshot->process[i]);
    ck_snapshot_link(snapshot);
    return 0;
}

void ck_snapshot_free(struct ck_snapshot *snapshot) {
    ck_arena_close(snapshot->arena);
    free(snapshot->process);
    *snapshot = (struct ck_snapshot){0};
}
