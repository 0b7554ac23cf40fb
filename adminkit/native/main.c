/* adminkit-ingest: accounting text from standard input into typed parameters of SQL statements. sacct.h is
 * the manual. */
#include "options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef ADMINKIT_VERSION
#define ADMINKIT_VERSION "unknown"
#endif

#define BLOCK ((size_t)1 << 20)
#define BUFFER (2 * AK_MAX_RECORD + 64 + BLOCK)

struct run {
    struct ak_options options;
    struct ak_spec spec;
    struct ak_zone zone;
    struct ak_reader reader;
    struct ak_record record;
    struct ak_rows rows;
    struct ak_store store;
    bool stores, begun;
    uint64_t count[AK_COUNTS];
    double started, told;
    char *buffer, *how; /* how: what makes the same text mean something else */
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

/* ---- time zone ---- */

static bool local_offset(void *context, int64_t epoch, int64_t *seconds) {
    (void)context;
    time_t t = (time_t)epoch;
    struct tm tm;
    if (!localtime_r(&t, &tm))
        return false;
    *seconds = tm.tm_gmtoff;
    return true;
}

/* Trap: the C library takes an unknown zone for UTC without a word. */
static bool set_zone(struct run *run, const char *name) {
    const char *folder = getenv("TZDIR") ? getenv("TZDIR") : "/usr/share/zoneinfo";
    char path[512];
    if (*name == '/' || *name == '\0' || strstr(name, "..") ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        (strcmp(name, "UTC") != 0 && access(path, R_OK) != 0)) {
        snprintf(run->error, sizeof run->error, "no such time zone: %s (nothing readable of that name in %s)",
                 name, folder);
        return false;
    }
    if (setenv("TZ", name, 1) != 0)
        return fail(run, "couldn't set the time zone");
    tzset();
    run->zone.offset = local_offset;
    return true;
}

/* ---- output ---- */

static void print_text(const char *s, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\' || c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_row(const char *sort, const struct ak_cell *cell, int n) {
    printf("[\"%s\"", sort);
    for (int i = 0; i < n; i++) {
        char number[40];
        putchar(',');
        switch (cell[i].type) {
        case AK_NULL:
            fputs("null", stdout);
            break;
        case AK_INT:
            printf("%lld", (long long)cell[i].v.i);
            break;
        case AK_REAL:
            snprintf(number, sizeof number, "%.17g", cell[i].v.d);
            fputs(number, stdout);
            if (!strpbrk(number, ".e"))
                fputs(".0", stdout);
            break;
        case AK_TEXT:
            print_text(cell[i].v.s, cell[i].n);
        }
    }
    puts("]");
}

static void print_kinds(void) {
    for (int kind = 0; kind < AK_KINDS; kind++) {
        printf("%s\"%s\": [", kind ? ",\n " : "{", ak_kinds[kind].name);
        for (int i = 0; i < ak_kinds[kind].outputs; i++)
            printf("%s\"%s\"", i ? ", " : "", ak_kinds[kind].output[i]);
        putchar(']');
    }
    puts("}");
}

static void take_counts(struct run *run) {
    run->count[AK_LINES] = run->reader.line - 1;
    run->count[AK_BYTES_RECORDS] = run->reader.bytes_records;
    run->count[AK_BYTES_BROKEN] = run->reader.bytes_broken;
    run->count[AK_BYTES_BLANK] = run->reader.bytes_blank;
}

/* One line for people's progress bars: at most five a second, and a last one in any case. */
static void tell(struct run *run, bool done) {
    double at = now();
    if (!done && (!run->options.progress || at - run->told < 0.2))
        return;
    run->told = at;
    take_counts(run);
    fputs(done ? "{\"done\":true" : "{\"done\":false", stderr);
    for (int i = 0; i < AK_COUNTS; i++)
        fprintf(stderr, ",\"%s\":%llu", ak_count_names[i], (unsigned long long)run->count[i]);
    fputs("}\n", stderr);
}

/* ---- rows ---- */

static bool reject(struct run *run, const char *reason) {
    uint64_t line = run->record.line + run->options.first_line - 1;
    run->count[AK_REJECTS]++;
    if (run->options.dump)
        printf("[\"rejected\",%llu,", (unsigned long long)line), print_text(reason, strlen(reason)),
            puts("]");
    return !run->stores || ak_store_reject(&run->store, line, reason, run->record.raw) ||
           fail(run, run->store.error);
}

/* A row that was read goes where it belongs. */
static bool place(struct run *run, enum ak_verdict verdict) {
    bool step = verdict == AK_STEP;
    enum ak_stored stored = AK_STORED_SAME;
    if (run->options.dump)
        print_row(step ? "step" : "job", run->rows.cell, run->spec.outputs);
    if (run->stores)
        stored = ak_store_row(&run->store, step, run->rows.cell, run->record.raw);
    if (stored == AK_STORED_FAILED)
        return fail(run, run->store.error);
    if (stored == AK_STORED_REFUSED) {
        if (!step)
            ak_rows_broken(&run->rows); /* its steps have no job to belong to */
        return reject(run, run->store.error);
    }
    run->count[AK_MENDED] += run->record.mended;
    run->count[AK_UTF8] += run->rows.utf8;
    run->count[AK_AMBIGUOUS] += run->rows.ambiguous;
    run->count[AK_STEPS_ROWS] += step;
    if (!run->stores)
        return true;
    if (stored == AK_STORED_NEW)
        run->count[step ? AK_STEPS_NEW : AK_NEW]++;
    else if (stored == AK_STORED_CHANGED)
        run->count[step ? AK_STEPS_CHANGED : AK_CHANGED]++;
    else if (!step)
        run->count[AK_UNCHANGED]++;
    return true;
}

static bool take(struct run *run, enum ak_event event) {
    run->count[AK_ROWS]++;
    if (event == AK_BROKEN) {
        ak_rows_broken(&run->rows);
        return reject(run, run->record.reason);
    }
    enum ak_verdict verdict = ak_rows_take(&run->rows, &run->record);
    if (verdict == AK_REJECTED)
        return reject(run, run->rows.reason);
    if (verdict == AK_SKIPPED) {
        run->count[AK_SKIPS]++;
        return true;
    }
    return place(run, verdict);
}

/* ---- the whole ---- */

/* The options that decide what a text means, as one text. */
static char *how_it_reads(const struct ak_options *options) {
    const struct ak_format *format = &options->format;
    char *how = NULL;
    if (asprintf(&how, "%s %s %d%d%d %s", options->columns, format->delimiter, format->space, format->ends,
                 format->surplus_ignore, options->timezone ? options->timezone : "") < 0)
        return NULL;
    return how;
}

/* Reads to the end of standard input. The transaction begins with its first byte: sacct may think for
 * minutes. */
static bool pump(struct run *run) {
    size_t len = 0;
    for (bool eof = false; !eof;) {
        ssize_t got = read(STDIN_FILENO, run->buffer + len, BLOCK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            snprintf(run->error, sizeof run->error, "couldn't read standard input: %s", strerror(errno));
            return false;
        }
        if (run->stores && !run->begun) {
            if (!ak_store_begin(&run->store, run->spec.outputs, run->how))
                return fail(run, run->store.error);
            run->begun = true;
        }
        eof = got == 0;
        len += (size_t)got;
        run->count[AK_BYTES] += (uint64_t)got;
        enum ak_event event;
        while ((event = ak_reader_next(&run->reader, run->buffer, len, eof, &run->record)) != AK_MORE)
            if (!take(run, event))
                return false;
        size_t used = ak_reader_release(&run->reader);
        len -= used;
        memmove(run->buffer, run->buffer + used, len);
        tell(run, false);
    }
    return true;
}

static bool prepare(struct run *run) {
    struct ak_options *options = &run->options;
    if (!ak_spec_parse(&run->spec, options->columns, run->error, sizeof run->error) ||
        !ak_reader_init(&run->reader, &run->spec, &options->format, run->error, sizeof run->error))
        return false;
    if (options->timezone && !set_zone(run, options->timezone))
        return false;
    run->buffer = calloc(1, BUFFER + AK_PADDING);
    run->how = how_it_reads(options);
    if (!run->buffer || !run->how ||
        !ak_rows_init(&run->rows, &run->spec, options->timezone ? &run->zone : NULL))
        return fail(run, "out of memory");
    run->stores = !options->parse_only && !options->dump;
    if (run->stores) {
        run->rows.want_jobs = options->store.job_sql != NULL;
        run->rows.want_steps = options->store.step_sql != NULL;
    }
    return true;
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
    take_counts(run);
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
    run->started = run->told = now();
    if (!ak_options_parse(&run->options, argc, argv, run->error, sizeof run->error)) {
        fprintf(stderr, "error: %s\n", run->error);
    } else if (run->options.help) {
        ak_options_help();
        status = 0;
    } else if (run->options.version) {
        printf("adminkit-ingest %s (SQLite %s)\n", ADMINKIT_VERSION, sqlite3_libversion());
        status = 0;
    } else if (run->options.kinds) {
        print_kinds();
        status = 0;
    } else if (run->options.hold) {
        status = ak_store_hold(run->options.store.path);
    } else if (stays_with_parent(&run->options) && ingest(run) && fflush(stdout) == 0) {
        tell(run, true);
        status = 0;
    } else {
        fprintf(stderr, "error: %s\n", *run->error ? run->error : "couldn't write standard output");
    }
    free(run->buffer);
    free(run->how);
    ak_rows_free(&run->rows);
    free(run);
    return status;
}
