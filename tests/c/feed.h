/* feed.h - for the tests: a whole input through reader and rows, in pieces of any size, each in a buffer of
 * its own with nothing but AK_PADDING behind it, so that a sanitizer sees every byte read too far. */
#ifndef ADMINKIT_FEED_H
#define ADMINKIT_FEED_H

#include "sacct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the input became, as text: a line for each record or broken piece. */
struct feed_text {
    char *s;
    size_t n, size;
};

static inline void feed_add(struct feed_text *text, const char *s, size_t n) {
    if (text->n + n + 1 > text->size) {
        text->size = 2 * (text->n + n + 1);
        text->s = realloc(text->s, text->size);
        if (!text->s)
            abort();
    }
    if (n)
        memcpy(text->s + text->n, s, n);
    text->n += n;
    text->s[text->n] = '\0';
}

static inline void feed_add_text(struct feed_text *text, const char *s) {
    feed_add(text, s, strlen(s));
}

static inline void feed_cell(struct feed_text *text, const struct ak_cell *cell) {
    char number[40];
    switch (cell->type) {
    case AK_NULL:
        feed_add_text(text, "-");
        return;
    case AK_INT:
        snprintf(number, sizeof number, "%lld", (long long)cell->v.i);
        break;
    case AK_REAL:
        snprintf(number, sizeof number, "%.17gr", cell->v.d);
        break;
    case AK_TEXT:
        feed_add_text(text, "'");
        feed_add(text, cell->v.s, cell->n);
        feed_add_text(text, "'");
        return;
    }
    feed_add_text(text, number);
}

static inline void feed_event(struct feed_text *text, enum ak_event event, struct ak_record *record,
                              struct ak_rows *rows) {
    char line[40];
    enum ak_verdict verdict = AK_REJECTED;
    snprintf(line, sizeof line, "%llu%s ", (unsigned long long)record->line, record->repaired ? "r" : "");
    feed_add_text(text, line);
    if (event == AK_BROKEN)
        ak_rows_broken(rows);
    else
        verdict = ak_rows_take(rows, record);
    if (verdict == AK_REJECTED) {
        feed_add_text(text, "! ");
        feed_add_text(text, event == AK_BROKEN ? record->reason : rows->reason);
    } else {
        feed_add_text(text, verdict == AK_JOB ? "job" : verdict == AK_STEP ? "step" : "skipped");
        for (int i = 0; verdict != AK_SKIPPED && i < rows->spec->outputs; i++) {
            feed_add_text(text, " ");
            feed_cell(text, &rows->cell[i]);
        }
    }
    feed_add_text(text, "\n");
}

/* What the rows are told besides: a seal, programs with a name, TRES with a number. */
static struct ak_slice feed_seal;
static const struct ak_known *feed_known;
static const struct ak_tres_ids *feed_ids;

/* As ak_rows_init(), but the scratch of the last time is used again: a fuzzer comes often. */
static inline bool feed_rows(struct ak_rows *rows, const struct ak_spec *spec, const struct ak_zone *zone) {
    char *scratch = rows->scratch, *kept = rows->kept;
    if (!scratch && !ak_rows_init(rows, spec, zone))
        return false;
    scratch = rows->scratch;
    kept = rows->kept;
    *rows = (struct ak_rows){.spec = spec, .zone = zone, .want_jobs = true, .want_steps = true};
    rows->scratch = scratch;
    rows->kept = kept;
    rows->seal = feed_seal;
    rows->known = feed_known;
    rows->tres_ids = feed_ids;
    return true;
}

/* Runs `data` through, `piece` bytes at a time. Aborts where bytes got lost. The caller frees the text. */
static inline struct feed_text feed(const struct ak_spec *spec, const struct ak_format *format,
                                    const struct ak_zone *zone, const char *data, size_t size, size_t piece) {
    static struct ak_reader reader;
    static struct ak_record record;
    static struct ak_rows rows;
    struct feed_text text = {0};
    char error[200];
    size_t len = 0;
    feed_add(&text, "", 0);
    if (!ak_reader_init(&reader, spec, format, error, sizeof error) || !feed_rows(&rows, spec, zone)) {
        feed_add_text(&text, error);
        return text;
    }
    for (size_t taken = 0;;) {
        size_t more = size - taken < piece ? size - taken : piece;
        char *buffer = malloc(len + more + AK_PADDING);
        if (!buffer)
            abort();
        memset(buffer + len + more, '7', AK_PADDING); /* digits: nothing may count them in */
        if (len + more)
            memcpy(buffer, data + taken - len, len + more);
        len += more;
        taken += more;
        bool eof = more == 0;
        enum ak_event event;
        while ((event = ak_reader_next(&reader, buffer, len, eof, &record)) != AK_MORE)
            feed_event(&text, event, &record, &rows);
        size_t used = ak_reader_release(&reader);
        if (used > len)
            abort();
        len -= used;
        free(buffer);
        if (eof)
            break;
    }
    if (len != 0 || reader.bytes_records + reader.bytes_broken + reader.bytes_blank != size) {
        fprintf(stderr, "bytes got lost: %zu left, %llu + %llu + %llu of %zu\n", len,
                (unsigned long long)reader.bytes_records, (unsigned long long)reader.bytes_broken,
                (unsigned long long)reader.bytes_blank, size);
        abort();
    }
    return text;
}

#endif
