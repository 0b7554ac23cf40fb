/* What is seen of real processes: a tree for each task, and what each thread waits for. Files that are slow
 * are in tests/cluster/test_io.py. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "io/threads.h"

static char folder[] = "/tmp/adminkit-io-threads.XXXXXX";
static char fifo[64], other[64];
static int never[2], told[2];

static void *spin(void *arg) {
    for (volatile unsigned turn = 0;; turn++)
        ;
    return arg;
}

static void *in_lock(void *arg) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    return arg;
}

static void start(void *(*body)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        _exit(1);
}

static void spins(void) {
    start(spin);
    spin(NULL);
}

static void sleeps(void) {
    start(in_lock);
    for (;;)
        pause();
}

static void reads_pipe(void) {
    char byte;
    _exit(read(never[0], &byte, 1) == 1);
}

static void reads_fifo(void) {
    char byte;
    int file = open(fifo, O_RDWR);
    _exit(read(file, &byte, 1) == 1);
}

static void opens_fifo(void) {
    _exit(open(other, O_WRONLY) >= 0); /* nobody reads it */
}

static void reads_terminal(void) {
    char byte;
    int file = posix_openpt(O_RDWR | O_NOCTTY);
    _exit(read(file, &byte, 1) == 1);
}

static void polls(void) {
    struct pollfd it = {never[0], POLLIN, 0};
    _exit(poll(&it, 1, -1));
}

/* A child that spins, and nothing else. */
static void has_child(void) {
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        spin(NULL);
    }
    sleeps();
}

/* A child whose parent ended: its next parent is init, or whoever adopts. */
static void has_orphan(void) {
    if (fork() == 0) {
        pid_t parent = getpid();
        if (fork() == 0) {
            pid_t self = getpid();
            alarm(60);
            while (getppid() == parent)
                usleep(1000);
            if (write(told[1], &self, sizeof self) == sizeof self)
                spin(NULL);
        }
        _exit(0);
    }
    wait(NULL);
    sleeps();
}

static void allow_one_cpu(void) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static pid_t begin(void (*what)(void)) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        allow_one_cpu();
        what();
        _exit(0);
    }
    return child;
}

static void kinds(void) {
    static const struct {
        void (*what)(void);
        uint32_t runs;
        const char *why;
    } table[] = {
        {spins, 2, "two threads run"},
        {sleeps, 0, "one waits for a signal, one for a lock"},
        {reads_pipe, 0, "it reads a pipe"},
        {reads_fifo, 0, "it reads a named pipe"},
        {opens_fifo, 0, "it opens a named pipe"},
        {reads_terminal, 0, "it reads a terminal"},
        {polls, 0, "it waits for whatever comes first"},
        {has_child, 1, "its child runs"},
    };
    enum { COUNT = sizeof table / sizeof *table };
    struct io_step step = {.stepd = getpid(), .uid = getuid(), .count = COUNT};
    struct io_task task[COUNT];
    struct io_sums sums = {0};
    for (size_t i = 0; i < COUNT; i++)
        step.task[i] = begin(table[i].what);
    bool settled = false;
    for (int tries = 0; tries < 100 && !settled; tries++) {
        usleep(100000);
        settled = io_threads_look(&step, task, &sums) == IO_SEEN;
        for (size_t i = 0; i < COUNT; i++)
            settled = settled && task[i].alive && task[i].runs == table[i].runs;
    }
    for (size_t i = 0; i < COUNT; i++) {
        CASE(task[i].alive && task[i].runs == table[i].runs && task[i].waits == 0, "%s: %u run, %u wait",
             table[i].why, task[i].runs, task[i].waits);
        CASE(task[i].cpus == 1 && task[i].allowed == task[0].allowed, "%s: one CPU: %u", table[i].why,
             task[i].cpus);
    }
    for (size_t i = 0; i < COUNT; i++) {
        kill(step.task[i], SIGKILL);
        waitpid(step.task[i], NULL, 0);
    }
    CASE(io_threads_look(&step, task, &sums) == IO_NOTHING && !task[0].alive, "all have ended");
    step.task[0] = getppid();
    CASE(io_threads_look(&step, task, &sums) == IO_NOTHING, "a pid that is another's by now");
}

/* A folder stands for the cgroup: what is read is its list of pids. */
static void orphans(void) {
    char procs[80];
    struct io_step step = {.stepd = getpid(), .uid = getuid(), .count = 1};
    struct io_task task[1];
    struct io_sums sums = {0};
    snprintf(step.cgroup, sizeof step.cgroup, "%s", folder);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    step.task[0] = begin(has_orphan);
    pid_t orphan = 0;
    if (read(told[0], &orphan, sizeof orphan) != sizeof orphan)
        orphan = 0;
    FILE *file = fopen(procs, "w");
    CASE(orphan > 0 && file, "the orphan runs");
    if (file) {
        fprintf(file, "%d\n%d\n%d\n%d\n", (int)getpid(), (int)step.task[0], (int)orphan, (int)orphan);
        fclose(file);
    }
    task[0].runs = 2; /* the first task itself, until it sleeps */
    for (int tries = 0; tries < 100 && task[0].runs == 2; tries++) {
        usleep(20000);
        io_threads_look(&step, task, &sums);
    }
    CASE(io_threads_look(&step, task, &sums) == IO_SEEN && task[0].runs == 1, "the first task has it: %u",
         task[0].runs);
    step.uid = getuid() + 1;
    CASE(io_threads_look(&step, task, &sums) == IO_SEEN && task[0].runs == 0,
         "a helper is another user's: %u", task[0].runs);
    kill(orphan, SIGKILL);
    kill(step.task[0], SIGKILL);
    waitpid(step.task[0], NULL, 0);
    unlink(procs);
}

int main(void) {
    CASE(mkdtemp(folder) != NULL, "a folder");
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    CASE(mkfifo(fifo, 0600) == 0 && mkfifo(other, 0600) == 0 && pipe(never) == 0 && pipe(told) == 0, "pipes");
    kinds();
    orphans();
    unlink(fifo);
    unlink(other);
    CASE(rmdir(folder) == 0, "gone");
    return DONE();
}
