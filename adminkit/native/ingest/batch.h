/* batch.h - standard input as batches of typed rows, read and parsed in a thread of its own where there is a
 * second processor: the caller stores one batch while the next is read. */
#ifndef ADMINKIT_BATCH_H
#define ADMINKIT_BATCH_H

#include "header.h"

#define AK_BLOCK ((size_t)128 << 10) /* of input, for a batch: its cells stay in a processor's cache */

/* A record, or what should have been one (AK_REJECTED: `reason` says why not), or a header (AK_HEADS: the
 * columns of the rows behind it; with a `reason`, other than "", they cannot be read). */
struct ak_row {
    enum ak_verdict verdict;
    bool repaired;
    uint32_t utf8, ambiguous;
    bool contradictory;
    uint64_t line;
    struct ak_slice raw;
    uint64_t print; /* of a sealed record's fields: its raw text is another each time */
    size_t cell;    /* place of its first one in the batch, of a job or a step */
    const char *reason;
};

/* What was read, in the input's order. Rows, cells and their texts hold until the next ak_batches_next(). */
struct ak_batch {
    const struct ak_row *row;
    size_t rows;
    const struct ak_cell *cell;
    bool last;
    uint64_t bytes; /* that this batch was read from */
    /* of the whole input up to here */
    uint64_t lines, bytes_records, bytes_broken, bytes_blank;
};

struct ak_batches;

struct ak_batches_options {
    const struct ak_spec *spec; /* this and `zone` must outlive the batches */
    const struct ak_format *format;
    const struct ak_zone *zone;
    bool want_jobs, want_steps, no_steps; /* as in struct ak_rows, like the next two */
    struct ak_slice seal;
    const struct ak_known *known;
    const struct ak_tres_ids *tres_ids;
    const struct ak_fields *fields; /* the words of headers; NULL: there are none */
    bool want_cells;                /* else all rows share one place for cells: to count only */
    bool thread;
};

/* NULL: *error is a sentence. ak_batches_close() gives it back, at any time. */
struct ak_batches *ak_batches_open(const struct ak_batches_options *options, char *error, size_t error_size);

/* Waits for input. NULL: it could not be read, and *error says why. Not after the last batch. */
const struct ak_batch *ak_batches_next(struct ak_batches *batches, char *error, size_t error_size);

void ak_batches_close(struct ak_batches *batches);

#endif
