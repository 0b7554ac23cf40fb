/* sums.h - what was seen of a step's tasks, added up. Pure. */
#ifndef ADMINKIT_IO_SUMS_H
#define ADMINKIT_IO_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc_texts.h"

#define IO_SYSTEMS 8 /* file systems that are told apart; the waits for others are in no name */

/* One task at one moment: its process, and those that it started. */
struct io_task {
    bool alive;       /* a thread of it was seen */
    uint32_t runs;    /* threads that run, or would if there were a CPU */
    uint32_t waits;   /* threads that wait for files */
    uint32_t cpus;    /* that it may use; 0: not known */
    uint64_t allowed; /* which ones: tasks with the same number share them */
};

struct io_system {
    char name[IO_NAME];
    uint64_t waits; /* threads times samples */
};

struct io_sums {
    int64_t at, to; /* epoch seconds of the first and the last sample; 0: none */
    uint64_t n;     /* samples, each of one task */
    uint64_t wait;  /* of these, a thread waited for files */
    uint64_t only;  /* of these, none ran meanwhile */
    uint64_t full;  /* of n, as many threads as the task has CPUs ran, or would have */
    struct io_system system[IO_SYSTEMS];
};

/* Adds what was seen of the tasks at `now`, epoch seconds. Where `idle` is false a task counts only if it
 * runs or waits for files. */
void io_sums_add(struct io_sums *sums, int64_t now, const struct io_task *task, size_t count, bool idle);

/* Counts `waits` threads that waited for the file system of that name; "" counts for nothing. */
void io_sums_name(struct io_sums *sums, const char *name, uint64_t waits);

/* Adds `more` to the sums. */
void io_sums_merge(struct io_sums *sums, const struct io_sums *more);

/* The file system that was waited for most; "": none is known. */
const char *io_sums_most(const struct io_sums *sums);

/* Writes the sums as text, with the time when the job's run began; false: there is no room. */
bool io_sums_print(char *out, size_t size, int64_t run, const struct io_sums *sums);

/* Reads such a text, which ends with a NUL; false: it is another, or not whole. */
bool io_sums_parse(const char *text, int64_t *run, struct io_sums *sums);

#endif
