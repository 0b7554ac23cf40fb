/* main.c - adminkit-simulate: jobs and a site from standard input, starts and ends to standard output. */
#include "input.h"
#include "run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef ADMINKIT_VERSION
#define ADMINKIT_VERSION "unknown"
#endif

static const char help[] =
    "usage: adminkit-simulate [--progress] [--parent PID] < INPUT > OUTPUT\n"
    "\n"
    "Runs one model of a scheduler over a set of jobs. docs/simulate-spec.md has both formats.\n"
    "\n"
    "  --progress     write progress to standard error as JSON lines\n"
    "  --parent PID   end at once when the process PID is gone\n"
    "  --version --help\n";

static int64_t processor_micros(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* False: sim->error. */
static bool simulate(struct sim *sim) {
    if (!sim_read(sim, stdin))
        return false;
    int64_t began = processor_micros();
    if (!sim_prepare(sim) || !sim_models[sim->model].run(sim))
        return false;
    sim_fact(sim, "cpu_micros", processor_micros() - began);
    sim_fact(sim, "started", (int64_t)sim->started);
    if (!sim_write(sim, stdout)) {
        snprintf(sim->error, sizeof sim->error, "couldn't write standard output");
        return false;
    }
    sim_say_progress(sim, true);
    return true;
}

static bool stays_with_parent(const char *pid) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return strtol(pid, NULL, 10) == (long)getppid();
}

int main(int argc, char **argv) {
    static struct sim sim;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        } else if (strcmp(argv[i], "--version") == 0) {
            printf("adminkit-simulate %s\n", ADMINKIT_VERSION);
            return 0;
        } else if (strcmp(argv[i], "--progress") == 0) {
            sim.progress = true;
        } else if (strcmp(argv[i], "--parent") == 0 && i + 1 < argc) {
            if (!stays_with_parent(argv[++i]))
                return 1;
        } else {
            fprintf(stderr, "error: no such option: %s\n", argv[i]);
            return 1;
        }
    }
    bool done = simulate(&sim);
    if (!done)
        fprintf(stderr, "error: %s\n", sim.error);
    sim_free(&sim);
    return done ? 0 : 1;
}
