/* bench_io.c - what a look at the threads of a step costs.
 *
 *   bench_io THREADS LOOKS
 *
 * Half of the threads wait for a lock, half read a pipe. Prints the CPU time of each look in seconds: of one
 * that has the step's processes from its cgroup, and of one that reads all of /proc. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/threads.h"

static int never[2];

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void *waits(void *arg) {
    char byte;
    if (arg)
        pause();
    return read(never[0], &byte, 1) == 1 ? arg : NULL;
}

static void task(int threads) {
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, waits, i % 2 ? &never : NULL) != 0)
            _exit(1);
    pause();
    _exit(0);
}

static double look(const struct io_step *step) {
    static struct io_task seen[IO_TASKS];
    struct io_sums sums = {0};
    double began = now();
    if (io_threads_look(step, seen, &sums) != IO_SEEN)
        exit(1);
    return now() - began;
}

int main(int argc, char **argv) {
    int threads = argc == 3 ? atoi(argv[1]) : 0, looks = argc == 3 ? atoi(argv[2]) : 0;
    char folder[] = "/tmp/adminkit-bench-io.XXXXXX", procs[80];
    if (threads < 1 || looks < 1 || pipe(never) || !mkdtemp(folder))
        return 2;
    pid_t child = fork();
    if (child == 0)
        task(threads);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    FILE *file = fopen(procs, "w");
    if (!file || fprintf(file, "%d\n", (int)child) < 0 || fclose(file) != 0)
        return 1;
    static struct io_step near, far;
    near = (struct io_step){.stepd = getpid(), .uid = getuid(), .count = 1, .task = {child}};
    far = near;
    snprintf(near.cgroup, sizeof near.cgroup, "%s", folder);
    sleep(1);
    for (int i = 0; i < looks; i++) {
        double a = look(&near), b = look(&far);
        printf("%.6f %.6f\n", a, b);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(procs);
    rmdir(folder);
    return 0;
}
