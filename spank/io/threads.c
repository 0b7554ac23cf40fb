/* threads.c - see threads.h. */
#include "threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cgroup.h"
#include "proc_files.h"

#define MAX_PROCESSES 16384
#define MAX_THREADS 8192 /* at one moment, of all tasks */

/* NO_TASK: of another step, or of none. */
enum { NO_TASK = -1, NOT_KNOWN = -2 };

struct process {
    pid_t pid, ppid;
    uint64_t start;
    int task;
};

struct look {
    const struct io_step *step;
    struct io_task *task;
    struct io_sums *sums;
    int proc; /* /proc */
    struct process *process;
    size_t count, threads;
    bool refused;
    char mounts[IO_MOUNTS_SIZE]; /* those of the process `mounts_of` */
    size_t mounts_size;
    pid_t mounts_of;
};

static int by_pid(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* struct process begins with its pid. */
static struct process *find(const struct look *look, pid_t pid) {
    return bsearch(&pid, look->process, look->count, sizeof *look->process, by_pid);
}

/* Reads the processes that may be the step's. False: no memory, or /proc cannot be read. */
static bool read_processes(struct look *look) {
    pid_t *pids = NULL;
    bool more;
    ssize_t count =
        *look->step->cgroup ? ak_cgroup_pids(look->step->cgroup, MAX_PROCESSES, &pids, &more) : -1;
    if (count <= 0) {
        free(pids);
        count = io_all_pids(look->proc, MAX_PROCESSES, &pids);
    }
    look->process = count > 0 ? malloc((size_t)count * sizeof *look->process) : NULL;
    if (look->process)
        qsort(pids, (size_t)count, sizeof *pids, by_pid);
    for (ssize_t i = 0; look->process && i < count; i++) {
        struct ak_proc_stat stat;
        if ((i > 0 && pids[i] == pids[i - 1]) || !io_read_stat(look->proc, pids[i], 0, &stat) ||
            stat.state == 'Z' || stat.state == 'X')
            continue;
        look->process[look->count++] = (struct process){pids[i], stat.ppid, stat.start, NOT_KNOWN};
    }
    free(pids);
    return look->process != NULL;
}

/* The task that the process is; NO_TASK. Trap: the pid of a task that has ended may be another's by now. */
static int as_task(const struct io_step *step, const struct process *process) {
    for (size_t i = 0; i < step->count; i++)
        if (step->task[i] == process->pid && process->ppid == step->stepd)
            return (int)i;
    return NO_TASK;
}

/* What has the step's cgroup and no parent in it: a process whose parent ended, or a helper of slurmstepd's,
 * which is root's. */
static int as_orphan(const struct look *look, const struct process *process) {
    bool ours = *look->step->cgroup && process->pid != look->step->stepd &&
                io_owner_of(look->proc, process->pid) == look->step->uid;
    return ours ? 0 : NO_TASK;
}

/* Finds out whose the process is, and with it those between it and its task. Trap: a parent that is younger
 * than its child has a pid that was used again. */
static void find_task(const struct look *look, struct process *process) {
    struct process *at = process;
    int task = NOT_KNOWN;
    for (size_t steps = 0; task == NOT_KNOWN && steps <= look->count; steps++) {
        task = at->task;
        if (task == NOT_KNOWN && (task = as_task(look->step, at)) == NO_TASK) {
            struct process *parent = at->ppid == look->step->stepd ? NULL : find(look, at->ppid);
            bool goes_on = parent && parent != at && parent->start <= at->start;
            task = goes_on ? NOT_KNOWN : as_orphan(look, at);
            at = goes_on ? parent : at;
        }
    }
    if (task == NOT_KNOWN)
        task = NO_TASK;
    at->task = task;
    while (process != at && process->task == NOT_KNOWN) {
        process->task = task;
        struct process *parent = find(look, process->ppid);
        process = parent ? parent : at;
    }
}

/* The name of the file system that a descriptor of the process is on; false: it is on none that waits. */
static bool name_of(struct look *look, pid_t pid, int file, char name[IO_NAME]) {
    int64_t mount = io_read_mount_id(look->proc, pid, file);
    if (mount < 0)
        return false;
    if (look->mounts_of != pid) {
        look->mounts_size = io_read_mounts(look->proc, pid, look->mounts);
        look->mounts_of = pid;
    }
    return io_find_mount(look->mounts, look->mounts_size, mount, name);
}

/* Whether a thread that sleeps in a system call waits for a file; its file system's name, "" where unknown.
 */
static bool waits_for_file(struct look *look, pid_t pid, pid_t thread, const struct io_thread *its,
                           char name[IO_NAME]) {
    struct io_wait wait = io_wait_of(its->call, its->argument);
    name[0] = '\0';
    if (wait.what == IO_ELSE)
        return false;
    if (wait.what == IO_READ && !name_of(look, pid, wait.file, name))
        return false;
    if (wait.what == IO_NAMED && wait.file >= 0 && !name_of(look, pid, wait.file, name))
        name[0] = '\0';
    return wait.what == IO_FILE || !io_in_pipe(look->proc, pid, thread);
}

/* Adds what one thread does to its task. */
static void add_thread(struct look *look, pid_t pid, pid_t thread, struct io_task *task) {
    struct io_thread its;
    struct ak_proc_stat stat;
    char name[IO_NAME] = "";
    int error = io_read_syscall(look->proc, pid, thread, &its);
    look->refused |= error == EPERM || error == EACCES;
    if (error || its.state == IO_UNKNOWN)
        return;
    bool waits = its.state == IO_CALLS && waits_for_file(look, pid, thread, &its, name);
    if (its.state == IO_OUTSIDE) {
        if (!io_read_stat(look->proc, pid, thread, &stat) || stat.state == 'Z' || stat.state == 'X')
            return;
        waits = stat.state == 'D';
        task->runs += stat.state == 'R';
    }
    task->alive = true;
    task->runs += its.state == IO_RUNS;
    task->waits += waits;
    if (waits)
        io_sums_name(look->sums, name, 1);
}

static void add_process(struct look *look, const struct process *process) {
    struct io_task *task = &look->task[process->task];
    pid_t thread;
    DIR *threads = io_open_threads(look->proc, process->pid);
    if (!threads)
        return;
    if (!task->cpus || process->pid == look->step->task[process->task])
        io_read_cpus(look->proc, process->pid, &task->cpus, &task->allowed);
    while (look->threads < MAX_THREADS && (thread = io_next_thread(threads)) > 0) {
        look->threads++;
        add_thread(look, process->pid, thread, task);
    }
    closedir(threads);
}

enum io_look io_threads_look(const struct io_step *step, struct io_task *task, struct io_sums *sums) {
    struct look *look = calloc(1, sizeof *look);
    enum io_look found = IO_NOTHING;
    for (size_t i = 0; i < step->count; i++)
        task[i] = (struct io_task){0};
    if (!look)
        return IO_NOTHING;
    look->step = step;
    look->task = task;
    look->sums = sums;
    look->proc = io_open_proc();
    if (look->proc >= 0 && read_processes(look)) {
        for (size_t i = 0; i < look->count; i++)
            if (look->process[i].task == NOT_KNOWN)
                find_task(look, &look->process[i]);
        for (size_t i = 0; i < look->count; i++)
            if (look->process[i].task >= 0)
                add_process(look, &look->process[i]);
    }
    for (size_t i = 0; i < step->count; i++)
        if (task[i].alive)
            found = IO_SEEN;
    if (found != IO_SEEN && look->refused)
        found = IO_REFUSED;
    io_close_proc(look->proc);
    free(look->process);
    free(look);
    return found;
}
