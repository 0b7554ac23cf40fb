/* sums.c - see sums.h. */
#include "sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "adminkit-io 1"

/* Threads that run on the CPUs of this task: those of all tasks that share them. */
static uint64_t runs_beside(const struct io_task *task, size_t count, size_t which) {
    uint64_t runs = 0;
    for (size_t i = 0; i < count; i++)
        if (task[i].allowed == task[which].allowed || i == which)
            runs += task[i].runs;
    return runs;
}

void io_sums_add(struct io_sums *sums, int64_t now, const struct io_task *task, size_t count, bool idle) {
    for (size_t i = 0; i < count; i++) {
        bool waits = task[i].waits > 0, runs = task[i].runs > 0;
        if (!task[i].alive || !(idle || waits || runs))
            continue;
        sums->n++;
        sums->wait += waits;
        sums->only += waits && !runs;
        sums->full += task[i].cpus > 0 && runs_beside(task, count, i) >= task[i].cpus;
        if (!sums->at)
            sums->at = now;
        sums->to = now;
    }
}

void io_sums_name(struct io_sums *sums, const char *name, uint64_t waits) {
    if (!*name || !waits)
        return;
    for (size_t i = 0; i < IO_SYSTEMS; i++) {
        struct io_system *system = &sums->system[i];
        if (!*system->name)
            snprintf(system->name, sizeof system->name, "%s", name);
        if (strcmp(system->name, name) == 0) {
            system->waits += waits;
            return;
        }
    }
}

void io_sums_merge(struct io_sums *sums, const struct io_sums *more) {
    if (!more->n)
        return;
    if (!sums->at || more->at < sums->at)
        sums->at = more->at;
    if (more->to > sums->to)
        sums->to = more->to;
    sums->n += more->n;
    sums->wait += more->wait;
    sums->only += more->only;
    sums->full += more->full;
    for (size_t i = 0; i < IO_SYSTEMS; i++)
        io_sums_name(sums, more->system[i].name, more->system[i].waits);
}

const char *io_sums_most(const struct io_sums *sums) {
    const struct io_system *most = &sums->system[0];
    for (size_t i = 1; i < IO_SYSTEMS; i++)
        if (sums->system[i].waits > most->waits)
            most = &sums->system[i];
    return most->name;
}

bool io_sums_print(char *out, size_t size, int64_t run, const struct io_sums *sums) {
    int n = snprintf(out, size,
                     MAGIC " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                           "\n",
                     run, sums->at, sums->to, sums->n, sums->wait, sums->only, sums->full);
    for (size_t i = 0; i < IO_SYSTEMS && n >= 0 && (size_t)n < size; i++)
        if (*sums->system[i].name)
            n += snprintf(out + n, size - (size_t)n, "%s %" PRIu64 "\n", sums->system[i].name,
                          sums->system[i].waits);
    if (n >= 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, "end\n");
    return n >= 0 && (size_t)n < size;
}

bool io_sums_parse(const char *text, int64_t *run, struct io_sums *sums) {
    int n = 0;
    memset(sums, 0, sizeof *sums);
    if (sscanf(text,
               MAGIC " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
               run, &sums->at, &sums->to, &sums->n, &sums->wait, &sums->only, &sums->full, &n) != 7)
        return false;
    for (text += n;; text += n) {
        char name[IO_NAME];
        uint64_t waits;
        n = 0;
        if (sscanf(text, " %40s%n", name, &n) != 1)
            return false;
        if (strcmp(name, "end") == 0)
            return sums->wait <= sums->n && sums->only <= sums->wait && sums->full <= sums->n;
        text += n;
        if (sscanf(text, " %" SCNu64 "%n", &waits, &n) != 1)
            return false;
        io_sums_name(sums, name, waits);
    }
}
