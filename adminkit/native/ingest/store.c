/* store.c - rows into SQLite. */
#include "store.h"
#include "fingerprint.h"
#include "mark.h"
#include "statement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const ak_count_names[AK_COUNTS] = {
    [AK_ROWS] = "rows",
    [AK_NEW] = "new",
    [AK_CHANGED] = "changed",
    [AK_UNCHANGED] = "unchanged",
    [AK_REJECTS] = "rejected",
    [AK_SKIPS] = "skipped",
    [AK_STEPS_ROWS] = "steps_rows",
    [AK_STEPS_NEW] = "steps_new",
    [AK_STEPS_CHANGED] = "steps_changed",
    [AK_REPAIRED] = "repaired",
    [AK_UTF8] = "utf8",
    [AK_AMBIGUOUS] = "ambiguous",
    [AK_CONTRADICTORY] = "contradictory",
    [AK_LINES] = "lines",
    [AK_BYTES] = "bytes",
    [AK_BYTES_RECORDS] = "bytes_records",
    [AK_BYTES_BROKEN] = "bytes_broken",
    [AK_BYTES_BLANK] = "bytes_blank",
    [AK_HEADERS] = "headers",
};

static bool run(struct ak_store *store, const char *sql) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           ak_store_failed(store, store->options->path);
}

/* Trap: without this the last connection to close removes -wal and -shm, and the next reader of the group
 * makes its own. */
static void keep_wal(sqlite3 *db) {
    int on = 1;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}

/* load_base(N) keeps N for this load, load_base() is N. */
static void load_base(sqlite3_context *context, int count, sqlite3_value **value) {
    struct ak_store *store = sqlite3_user_data(context);
    if (count)
        store->base = sqlite3_value_int64(value[0]);
    sqlite3_result_int64(context, store->base);
}

/* shared_key(JOB, SUBMITTED, HERE) fails. An upsert calls it where a row would overwrite another job's; HERE:
 * that one is of this load. */
static void shared_key(sqlite3_context *context, int count, sqlite3_value **value) {
    long long job = sqlite3_value_int64(value[0]), submitted = sqlite3_value_int64(value[1]);
    char text[AK_MESSAGE];
    (void)count;
    if (sqlite3_value_int(value[2]))
        snprintf(
            text, sizeof text,
            "two rows have the key of job %lld, submitted at %lld (epoch): one would overwrite the other",
            job, submitted);
    else
        snprintf(text, sizeof text,
                 "the trace already has another job %lld of this cluster, also submitted at %lld (epoch): "
                 "one would overwrite the other",
                 job, submitted);
    sqlite3_result_error(context, text, -1);
}

bool ak_store_open(struct ak_store *store, const struct ak_store_options *options) {
    memset(store, 0, sizeof *store);
    store->options = options;
    /* One thread, and nobody reads SQLite's memory statistics: no mutex around every allocation. */
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_open_v2(options->path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return ak_store_failed(store, options->path);
    if (!ak_mark_register(store))
        return false;
    if (sqlite3_create_function(store->db, "shared_key", 3, SQLITE_UTF8, NULL, shared_key, NULL, NULL) ||
        sqlite3_create_function(store->db, "load_base", -1, SQLITE_UTF8, store, load_base, NULL, NULL))
        return ak_store_failed(store, options->path);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 2048, 200);
    sqlite3_busy_timeout(store->db, 30000);
    /* Trap: without temp_store, SQLite writes the pages that each upsert touches to a file first, to take it
     * back. */
    if (options->fresh)
        return run(store,
                   "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -131072; PRAGMA journal_mode = OFF;"
                   "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    keep_wal(store->db);
    return run(store, "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA synchronous = NORMAL;"
                      "PRAGMA journal_size_limit = 67108864");
}

static uint64_t fingerprint_text(uint64_t seed, const char *s) {
    return s ? ak_fingerprint(seed, s, strlen(s)) : ~seed;
}

/* A table's statements. Trap: with the table's key taken away for a load, an upsert
 * cannot even be prepared; nor is it needed then, so it waits until an insertion has met a row that is there.
 */
static bool prepare_table(struct ak_store *store, struct ak_table *table, const char *insert_option,
                          const char *insert, const char *same_option, const char *same) {
    int places = store->outputs;
    return (insert || ak_statement_prepare(store, table->option, table->text, places, true, &table->sql)) &&
           ak_statement_prepare(store, insert_option, insert, places, true, &table->insert) &&
           ak_statement_prepare(store, same_option, same, places, true, &table->same);
}

bool ak_store_begin(struct ak_store *store, int outputs, const char *reading) {
    const struct ak_store_options *o = store->options;
    store->outputs = outputs;
    store->job = (struct ak_table){.option = "--sql", .text = o->job_sql};
    store->step = (struct ak_table){.option = "--step-sql", .text = o->step_sql};
    store->first = fingerprint_text(fingerprint_text(fingerprint_text(0, reading), o->job_sql), o->step_sql);
    store->seed = store->first;
    return run(store, "BEGIN IMMEDIATE") && ak_store_run_words(store, "--before", &o->before, NULL, 0) &&
           prepare_table(store, &store->job, "--insert-sql", o->insert_sql, "--same-sql", o->same_sql) &&
           prepare_table(store, &store->step, "--insert-step-sql", o->insert_step_sql, "--same-step-sql",
                         o->same_step_sql) &&
           ak_statement_prepare(store, "--without-sql", o->without_sql, outputs, true, &store->passed) &&
           ak_statement_prepare(store, "--reject-sql", o->reject_sql, 3, false, &store->reject);
}

void ak_store_reads(struct ak_store *store, struct ak_slice how) {
    store->seed = how.n ? ak_fingerprint(store->first, how.s, how.n) : store->first;
}

/* REFUSED where the error is the row's and the transaction continues, else FAILED. */
static enum ak_stored not_stored(struct ak_store *store, int code) {
    ak_store_failed(store, "database");
    code &= 0xFF;
    bool row_only = code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG;
    return row_only && !sqlite3_get_autocommit(store->db) ? AK_STORED_REFUSED : AK_STORED_FAILED;
}

static enum ak_stored store_row(struct ak_store *store, struct ak_table *table, const struct ak_cell *cell,
                                uint64_t print) {
    int code;
    if (table->same.sql && store->last == AK_STORED_SAME) {
        code = ak_statement_run(&table->same, cell, print);
        if (code == SQLITE_ROW)
            return AK_STORED_SAME;
        if (code != SQLITE_DONE)
            return ak_store_failed(store, store->options->path), AK_STORED_FAILED;
    }
    if (table->insert.sql && store->last == AK_STORED_NEW) {
        code = ak_statement_run(&table->insert, cell, print);
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            return not_stored(store, code);
        if (sqlite3_changes(store->db))
            return AK_STORED_NEW;
    }
    if (!table->sql.sql &&
        !ak_statement_prepare(store, table->option, table->text, store->outputs, true, &table->sql))
        return AK_STORED_FAILED;
    /* An INSERT sets the last rowid, the UPDATE of an upsert does not. */
    sqlite3_set_last_insert_rowid(store->db, 0);
    code = ak_statement_run(&table->sql, cell, print);
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        return not_stored(store, code);
    if (sqlite3_changes(store->db) == 0)
        return AK_STORED_SAME;
    return sqlite3_last_insert_rowid(store->db) ? AK_STORED_NEW : AK_STORED_CHANGED;
}

enum ak_stored ak_store_row(struct ak_store *store, bool step, const struct ak_cell *cell,
                            struct ak_slice text) {
    struct ak_table *table = step ? &store->step : &store->job;
    enum ak_stored stored = store_row(store, table, cell, ak_fingerprint(store->seed, text.s, text.n));
    if (stored <= AK_STORED_SAME)
        store->last = stored;
    return stored;
}

bool ak_store_passed(struct ak_store *store, const struct ak_cell *cell) {
    return !store->passed.sql || ak_statement_run(&store->passed, cell, 0) == SQLITE_DONE ||
           ak_store_failed(store, "--without-sql");
}

bool ak_store_reject(struct ak_store *store, uint64_t line, const char *reason, struct ak_slice raw) {
    sqlite3_stmt *sql = store->reject.sql;
    if (!sql)
        return true;
    if (store->reject.wanted >= 1)
        sqlite3_bind_int64(sql, 1, (sqlite3_int64)line);
    if (store->reject.wanted >= 2)
        sqlite3_bind_text(sql, 2, reason, -1, SQLITE_STATIC);
    if (store->reject.wanted >= 3)
        sqlite3_bind_blob(sql, 3, raw.s, (int)(raw.n < AK_MAX_RAW ? raw.n : AK_MAX_RAW), SQLITE_STATIC);
    int code = ak_statement_finish(sql);
    if (code != SQLITE_DONE)
        ak_store_failed(store, "--reject-sql");
    sqlite3_reset(sql);
    return code == SQLITE_DONE;
}

bool ak_store_commit(struct ak_store *store, const uint64_t count[AK_COUNTS], double seconds) {
    return ak_store_run_words(store, "--after", &store->options->after, count, seconds) &&
           run(store, "COMMIT");
}

bool ak_store_close(struct ak_store *store, bool whole) {
    for (struct ak_table *table = &store->job; table; table = table == &store->job ? &store->step : NULL) {
        sqlite3_finalize(table->sql.sql);
        sqlite3_finalize(table->insert.sql);
        sqlite3_finalize(table->same.sql);
    }
    sqlite3_finalize(store->reject.sql);
    sqlite3_finalize(store->passed.sql);
    if (store->db && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    bool closed = sqlite3_close(store->db) == SQLITE_OK;
    store->db = NULL;
    if (!whole || !store->options->fresh)
        return closed;
    /* Trap: closing any descriptor of the file drops SQLite's locks on it, so this comes last. */
    int file = open(store->options->path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fsync(file) != 0) {
        snprintf(store->error, sizeof store->error, "%s: %s", store->options->path, strerror(errno));
        closed = false;
    }
    if (file >= 0)
        close(file);
    return closed;
}

int ak_store_hold(const char *path) {
    sqlite3 *db = NULL;
    int status = 1;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        keep_wal(db);
        /* The last to close leaves an empty log: one with rows in it would outlive a trace that is removed.
         */
        sqlite3_exec(db, "PRAGMA journal_size_limit = 0; SELECT count(*) FROM sqlite_schema", NULL, NULL,
                     NULL);
        puts("held");
        fflush(stdout);
        while (getchar() != EOF)
            ;
        status = 0;
    } else {
        fprintf(stderr, "error: %s: %s\n", path, db ? sqlite3_errmsg(db) : "out of memory");
    }
    return sqlite3_close(db) == SQLITE_OK ? status : 1;
}
