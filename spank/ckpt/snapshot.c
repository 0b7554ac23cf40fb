/* tree.c - see tree.h. */
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
    return at ? (size_t)(at - snapshot->process) : CK_NOBODY;
}

void ck_snapshot_link(struct ck_snapshot *snapshot) {
    struct ck_process *process = snapshot->process;

    qsort(process, snapshot->count, sizeof *process, by_pid);
    for (size_t i = 0; i < snapshot->count; i++) {
        size_t up = find(snapshot, process[i].parent);
        process[i].up = up != CK_NOBODY && up != i && process[up].start <= process[i].start ? up : CK_NOBODY;
    }
}

/* All pids of /proc; -1: errno. */
static ssize_t all_pids(int proc, pid_t **pids, bool *more) {
    DIR *entries = ck_open_folder(proc, ".");
    size_t count = 0;

    if (!entries)
        return -1;
    *pids = malloc(CK_MOST * sizeof **pids);
    for (struct dirent *entry; *pids && !*more && (entry = readdir(entries));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        *more = count == CK_MOST;
        if (!*more)
            (*pids)[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(entries);
    errno = ENOMEM;
    return *pids ? (ssize_t)count : -1;
}

/* Leaves those that are roots or below them. */
static bool keep_tree(struct ck_snapshot *snapshot, const pid_t *roots, size_t root_count) {
    enum { UNKNOWN, OURS, OTHERS };
    struct ck_process *process = snapshot->process;
    char *mark = calloc(snapshot->count + 1, 1);
    size_t kept = 0;

    if (!mark)
        return false;
    for (size_t r = 0; r < root_count; r++) {
        size_t at = find(snapshot, roots[r]);
        if (at != CK_NOBODY)
            mark[at] = OURS;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        size_t at = i, steps = 0;
        while (mark[at] == UNKNOWN && process[at].up != CK_NOBODY && steps++ < snapshot->count)
            at = process[at].up;
        char found = mark[at] == OURS ? OURS : OTHERS;
        for (at = i; at != CK_NOBODY && mark[at] == UNKNOWN; at = process[at].up)
            mark[at] = found;
    }
    for (size_t i = 0; i < snapshot->count; i++)
        if (mark[i] == OURS)
            process[kept++] = process[i];
    snapshot->count = kept;
    free(mark);
    return true;
}

/* All of these pids; in a tree the rest is read of those that are of it. */
static int read_pids(struct ck_snapshot *snapshot, pid_t *pids, size_t count, bool tree, int signal) {
    snapshot->process = malloc((count + 1) * sizeof *snapshot->process);
    if (!snapshot->process)
        return ENOMEM;
    qsort(pids, count, sizeof *pids, by_pid);
    for (size_t i = 0; i < count; i++) {
        struct ck_process *process = &snapshot->process[snapshot->count];
        if ((i > 0 && pids[i] == pids[i - 1]) || !ck_read_little(snapshot, pids[i], signal, process))
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
        count = ck_cgroup_pids(cgroup, CK_MOST, &pids, &snapshot->partial);
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
