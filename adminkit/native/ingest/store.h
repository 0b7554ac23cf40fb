/* store.h - rows into SQLite through statements given from outside. There is no schema in here. */
#ifndef ADMINKIT_STORE_H
#define ADMINKIT_STORE_H

#include "aside.h"

#include <sqlite3.h>

#define AK_MAX_WORDS 64 /* of --bind, --before and --after each */
#define AK_MESSAGE 512
#define AK_SHORT 32

enum ak_count {
    AK_ROWS,
    AK_NEW,
    AK_CHANGED,
    AK_UNCHANGED,
    AK_REJECTS,
    AK_SKIPS,
    AK_STEPS_ROWS,
    AK_STEPS_NEW,
    AK_STEPS_CHANGED,
    AK_REPAIRED,
    AK_UTF8,
    AK_AMBIGUOUS,
    AK_CONTRADICTORY,
    AK_LINES,
    AK_BYTES,
    AK_BYTES_RECORDS,
    AK_BYTES_BROKEN,
    AK_BYTES_BLANK,
    AK_HEADERS,
    AK_COUNTS
};
extern const char *const ak_count_names[AK_COUNTS];

struct ak_words {
    const char *word[AK_MAX_WORDS];
    int n;
};

struct ak_store_options {
    const char *path, *job_sql, *step_sql, *reject_sql, *same_sql, *same_step_sql, *insert_sql,
        *insert_step_sql, *without_sql;
    struct ak_words bind, before, after;
    bool fresh;
};

/* What a parameter holds since the last row. A short text is bound from here, so that it outlives its row:
 * half the cells of a row say what the row before said, and binding is a tenth of an import. */
struct ak_bound {
    enum ak_type type;
    size_t n; /* of a text; above AK_SHORT: not kept */
    int64_t i;
    char s[AK_SHORT];
};

/* A prepared statement, and the outputs that it has parameters for. */
struct ak_statement {
    sqlite3_stmt *sql;
    int wanted; /* the largest parameter */
    int used[AK_MAX_OUTPUTS], uses;
    struct ak_bound bound[AK_MAX_OUTPUTS];
    int fingerprint; /* the parameter for it, or 0 */
};

enum ak_stored { AK_STORED_NEW, AK_STORED_CHANGED, AK_STORED_SAME, AK_STORED_REFUSED, AK_STORED_FAILED };

/* The statements for rows of one sort: jobs or steps. */
struct ak_table {
    const char *option, *text; /* of `sql`, which is prepared when it is first needed */
    struct ak_statement sql, insert, same;
};

struct ak_store {
    const struct ak_store_options *options;
    sqlite3 *db;
    struct ak_table job, step;
    struct ak_statement reject, passed;
    int outputs;
    enum ak_stored last; /* the last row's result, and the guess for the next one */
    uint64_t seed,
        first;          /* of fingerprints: with other options or SQL all are different; before any header */
    sqlite3_int64 base; /* what --before said to load_base() */
    char error[AK_MESSAGE]; /* a sentence, after any failure */
};

/* Opens the database; it must exist. False: store->error. ak_store_close() is due in both cases. */
bool ak_store_open(struct ak_store *store, const struct ak_store_options *options);

/* BEGIN IMMEDIATE, the --before statements, and the others prepared for rows of `outputs` cells. `reading`
 * tells apart ways to read the same text. */
bool ak_store_begin(struct ak_store *store, int outputs, const char *reading);

/* The rows to come are read in another way, which `how` tells apart; of no bytes: as they were at the
 * beginning. */
void ak_store_reads(struct ak_store *store, struct ak_slice how);

/* One row, a job's or a step's, through its statement; not where --same-sql finds it in the table as it is,
 * nor where --insert-sql has put it in. `text` is what it was read from, whose fingerprint is the
 * parameter after the --bind values. REFUSED: the row breaks a rule of the table, store->error says which,
 * and the transaction continues. FAILED: it is over. */
enum ak_stored ak_store_row(struct ak_store *store, bool step, const struct ak_cell *cell,
                            struct ak_slice text);

/* A row that --without passes over, through --without-sql if there is one. */
bool ak_store_passed(struct ak_store *store, const struct ak_cell *cell);

/* What could not be read, through --reject-sql if there is one. */
bool ak_store_reject(struct ak_store *store, uint64_t line, const char *reason, struct ak_slice raw);

/* The --after statements, in which :rows, :new … :seconds are what was counted and :bind1 … the --bind
 * values, and COMMIT. */
bool ak_store_commit(struct ak_store *store, const uint64_t count[AK_COUNTS], double seconds);

/* Rolls back what is open, closes. With --fresh and `whole`, the file is on disk when this returns true. */
bool ak_store_close(struct ak_store *store, bool whole);

/* Keeps -wal and -shm of `path` in place: opens it, prints "held", closes it when standard input ends. */
int ak_store_hold(const char *path);

#endif
