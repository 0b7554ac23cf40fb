/* adminkit-ingest: accounting text from standard input into typed parameters of SQL statements. sacct.h is
 * the manual. */
#include "batch.h"
#include "dump.h"
#include "options.h"
#include "zone.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef ADMINKIT_VERSION
#define ADMINKIT_VERSION "unknown"
#endif

struct run {
    struct ak_options options;
    struct ak_spec spec;
    struct ak_zone zone;
    struct ak_batches *batches;
    struct ak_store store;
    bool stores, begun;
    bool refused; /* by the database, the last job */
    uint64_t count[AK_COUNTS];
    double started, reported;
    struct ak_known known;
    struct ak_tres_ids tres_ids;
    struct ak_fields fields;
    struct ak_layout layout; /* of the row that is being taken */
    const char *seal;        /* "" for none */
    char aside[AK_MAX_RAW];
    char *reading; /* the options that decide what a text means */
    char error[AK_MESSAGE];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool fail(struct run *run, const char *text) {
    snprintf(run->error, sizeof run->error, "%s", text);
    return false;
}

/* ---- counts ---- */

static void take_counts(struct run *run, const struct ak_batch *batch) {
    run->count[AK_BYTES] += batch->bytes;
    run->count[AK_LINES] = batch->lines;
    run->count[AK_BYTES_RECORDS] = batch->bytes_records;
    run->count[AK_BYTES_BROKEN] = batch->bytes_broken;
    run->count[AK_BYTES_BLANK] = batch->bytes_blank;
}

/* Writes one line for a progress bar: at most five a second, and always a last one. */
static void report_progress(struct run *run, bool done) {
    double at = now();
    if (!done && (!run->options.progress || at - run->reported < 0.2))
        return;
    run->reported = at;
    fputs(done ? "{\"done\":true" : "{\"done\":false", stderr);
    for (int i = 0; i < AK_COUNTS; i++)
        fprintf(stderr, ",\"%s\":%llu", ak_count_names[i], (unsigned long long)run->count[i]);
    fputs("}\n", stderr);
}

/* ---- rows ---- */

static bool reject(struct run *run, const struct ak_row *row, const char *reason) {
    uint64_t line = row->line + run->options.first_line - 1;
    run->count[AK_REJECTS]++;
    if (run->options.dump)
        ak_dump_rejected(line, reason);
    if (!run->stores)
        return true;
    struct ak_slice kept = ak_aside(&run->layout, &run->options.format, run->seal, row->raw, run->aside);
    return ak_store_reject(&run->store, line, reason, kept) || fail(run, run->store.error);
}

static void count_stored(struct run *run, bool step, enum ak_stored stored) {
    if (stored == AK_STORED_NEW)
        run->count[step ? AK_STEPS_NEW : AK_NEW]++;
    else if (stored == AK_STORED_CHANGED)
        run->count[step ? AK_STEPS_CHANGED : AK_CHANGED]++;
    else if (!step)
        run->count[AK_UNCHANGED]++;
}

/* Dumps, stores and counts a row that was read. False: run->error. */
static bool keep(struct run *run, const struct ak_row *row, const struct ak_cell *cell) {
    bool step = row->verdict == AK_STEP;
    if (run->options.dump)
        ak_dump_row(step ? "step" : "job", cell, run->spec.outputs);
    if (run->stores) {
        struct ak_slice print = {(const char *)&row->print, sizeof row->print};
        enum ak_stored stored = ak_store_row(&run->store, step, cell, *run->seal ? print : row->raw);
        if (stored == AK_STORED_FAILED)
            return fail(run, run->store.error);
        if (!step)
            run->refused = stored == AK_STORED_REFUSED;
        if (stored == AK_STORED_REFUSED)
            return reject(run, row, run->store.error);
        count_stored(run, step, stored);
    }
    run->count[AK_REPAIRED] += row->repaired;
    run->count[AK_UTF8] += row->utf8;
    run->count[AK_AMBIGUOUS] += row->ambiguous;
    run->count[AK_CONTRADICTORY] += row->contradictory;
    run->count[AK_STEPS_ROWS] += step;
    return true;
}

/* The columns of the rows to come are others. False: they cannot be read, and run->error says why. */
static bool take_header(struct run *run, const struct ak_row *row) {
    struct ak_layout next, first;
    char reason[AK_REASON];
    size_t from = sizeof next.from[0] * (size_t)run->spec.columns;
    if (*row->reason) {
        snprintf(run->error, sizeof run->error, "line %llu: %s",
                 (unsigned long long)(row->line + run->options.first_line - 1), row->reason);
        return false;
    }
    if (ak_header_read(&run->fields, run->options.format.delimiter, row->raw, &next, reason) !=
        AK_HEADER_READ)
        return fail(run, "a header is no longer recognised as a header"); /* the same text, so it cannot be */
    bool same = next.columns == run->layout.columns && memcmp(next.from, run->layout.from, from) == 0;
    run->count[AK_HEADERS] += !same;
    run->layout = next;
    ak_layout_of_spec(&first, &run->spec, run->options.format.ends);
    same = next.columns == first.columns && memcmp(next.from, first.from, from) == 0;
    ak_store_reads(&run->store, same ? (struct ak_slice){0} : row->raw);
    return true;
}

static bool take(struct run *run, const struct ak_row *row, const struct ak_cell *cell) {
    if (row->verdict == AK_HEADS)
        return take_header(run, row);
    run->count[AK_ROWS]++;
    switch (row->verdict) {
    case AK_HEADS:
    case AK_REJECTED:
        return reject(run, row, row->reason);
    case AK_PASSED:
    case AK_SKIPPED:
        run->count[AK_SKIPS]++;
        return row->verdict == AK_SKIPPED || !run->stores || ak_store_passed(&run->store, cell) ||
               fail(run, run->store.error);
    case AK_STEP:
        if (run->refused && run->spec.inherits)
            return reject(run, row, ak_step_alone);
        break;
    case AK_JOB:
        break;
    }
    return keep(run, row, cell);
}

/* ---- the whole ---- */

/* The options that decide what a text means, as one text from malloc. NULL: no memory. */
static char *reading_of(const struct ak_options *options) {
    const struct ak_format *format = &options->format;
    char *how = NULL;
    const char *delimiter =
        options->sealed ? "sealed" : format->delimiter; /* a sealed answer has a new delimiter each time */
    if (asprintf(&how, "%s %s %d%d%d%s %s%s%s", options->columns, delimiter, format->space, format->ends,
                 format->surplus_ignore, format->packed ? " packed" : "",
                 options->timezone ? options->timezone : "", options->tres ? " " : "",
                 options->tres ? options->tres : "") < 0)
        return NULL;
    return how;
}

/* Whether a second processor can read ahead. */
static bool may_thread(void) {
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

/* Reads to the end of standard input. The transaction begins with its first byte: sacct may think for
 * minutes. */
static bool pump(struct run *run) {
    const struct ak_batch *batch;
    do {
        if (!(batch = ak_batches_next(run->batches, run->error, sizeof run->error)))
            return false;
        if (run->stores && !run->begun) {
            if (!ak_store_begin(&run->store, run->spec.outputs, run->reading))
                return fail(run, run->store.error);
            run->begun = true;
        }
        for (size_t i = 0; i < batch->rows; i++)
            if (!take(run, &batch->row[i], batch->cell + batch->row[i].cell))
                return false;
        take_counts(run, batch);
        report_progress(run, false);
    } while (!batch->last);
    return true;
}

/* Reads --wants, --within, --without, --order, --sealed, --known and --tres. False: run->error. */
static bool read_demands(struct run *run) {
    const struct ak_options *options = &run->options;
    const char *seal = options->sealed ? getenv(AK_SEAL) : "";
    for (int i = 0; i < options->wants.n + options->within.n; i++) {
        bool window = i >= options->wants.n;
        const char *text = window ? options->within.word[i - options->wants.n] : options->wants.word[i];
        if (!ak_spec_wants(&run->spec, text, window)) {
            snprintf(run->error, sizeof run->error, "%s: invalid value: %s", window ? "--within" : "--wants",
                     text);
            return false;
        }
    }
    for (int i = 0; i < options->without.n; i++)
        if (!ak_spec_without(&run->spec, options->without.word[i]))
            return fail(run, "--without: this column has no states");
    if (options->order && !ak_spec_order(&run->spec, options->order))
        return fail(run, "--order: needs four columns of times and three of seconds");
    if (!seal || (options->sealed && (!*seal || strlen(seal) > AK_MAX_SEAL)))
        return fail(run, "--sealed: $" AK_SEAL " is not a seal");
    run->seal = seal;
    if (options->known && !ak_known_parse(&run->known, options->known))
        return fail(run, "--known: not a list of programs");
    if (options->tres && !ak_tres_ids_parse(&run->tres_ids, options->tres))
        return fail(run, "--tres: not an ascending list of numbers with names");
    return true;
}

static bool prepare(struct run *run) {
    struct ak_options *options = &run->options;
    if (!ak_spec_parse(&run->spec, options->columns, run->error, sizeof run->error) || !read_demands(run))
        return false;
    if (options->timezone && !ak_zone_set(&run->zone, options->timezone, run->error, sizeof run->error))
        return false;
    if (options->fields && !ak_fields_parse(&run->fields, &run->spec, options->fields))
        return fail(run, "--fields: not a list of fields");
    if (options->fields && options->format.packed)
        return fail(run, "--packed: headers have no packed columns");
    ak_layout_of_spec(&run->layout, &run->spec, options->format.ends);
    if (options->gentle)
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10); /* threads take after this one */
    run->stores = !options->parse_only && !options->dump;
    run->reading = reading_of(options);
    if (!run->reading)
        return fail(run, "out of memory");
    struct ak_batches_options reading = {
        .spec = &run->spec,
        .format = &options->format,
        .zone = options->timezone ? &run->zone : NULL,
        .want_jobs = !run->stores || options->store.job_sql,
        .want_steps = !run->stores || options->store.step_sql,
        .no_steps = options->no_steps,
        .seal = {run->seal, strlen(run->seal)},
        .known = &run->known,
        .tres_ids = &run->tres_ids,
        .fields = options->fields ? &run->fields : NULL,
        .want_cells = !options->parse_only,
        .thread = run->stores && may_thread(),
    };
    run->batches = ak_batches_open(&reading, run->error, sizeof run->error);
    return run->batches != NULL;
}

static bool ingest(struct run *run) {
    bool whole = false;
    if (!prepare(run))
        return false;
    if (run->stores && !ak_store_open(&run->store, &run->options.store)) {
        fail(run, run->store.error);
        goto close;
    }
    if (!pump(run))
        goto close;
    if (run->stores && !ak_store_commit(&run->store, run->count, now() - run->started)) {
        fail(run, run->store.error);
        goto close;
    }
    whole = true;
close:
    if (run->stores && !ak_store_close(&run->store, whole) && whole) {
        fail(run, *run->store.error ? run->store.error : "couldn't close the database");
        whole = false;
    }
    return whole;
}

/* Trap: when the parent is killed its end of the pipe closes, which looks like the end of the input, and half
 * of it would be committed. False: it is gone already. */
static bool stays_with_parent(const struct ak_options *options) {
    if (options->parent == 0)
        return true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return (uint64_t)getppid() == options->parent;
}

int main(int argc, char **argv) {
    int status = 1;
    struct run *run = calloc(1, sizeof *run);
    if (!run) {
        fputs("error: out of memory\n", stderr);
        return 1;
    }
    run->started = run->reported = now();
    if (!ak_options_parse(&run->options, argc, argv, run->error, sizeof run->error)) {
        fprintf(stderr, "error: %s\n", run->error);
    } else if (run->options.help) {
        ak_options_help();
        status = 0;
    } else if (run->options.version) {
        printf("adminkit-ingest %s (SQLite %s)\n", ADMINKIT_VERSION, sqlite3_libversion());
        status = 0;
    } else if (run->options.kinds) {
        ak_dump_kinds();
        status = 0;
    } else if (run->options.hold) {
        status = ak_store_hold(run->options.store.path);
    } else if (stays_with_parent(&run->options) && ingest(run) && fflush(stdout) == 0) {
        report_progress(run, true);
        status = 0;
    } else {
        fprintf(stderr, "error: %s\n", *run->error ? run->error : "couldn't write standard output");
    }
    ak_batches_close(run->batches);
    free(run->reading);
    free(run);
    return status;
}
