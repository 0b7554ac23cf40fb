/* statement.h - statements given from outside: prepared, bound, run. Private to the store; store.h has the
 * types. */
#ifndef ADMINKIT_STATEMENT_H
#define ADMINKIT_STATEMENT_H

#include "store.h"

/* SQLite's message into store->error, after `what`. Always false. */
bool ak_store_failed(struct ak_store *store, const char *what);

/* Prepares `sql` of `option` with parameters for `places` outputs, then the --bind values, then, with `rows`,
 * the fingerprint. False: store->error. A NULL `sql` prepares nothing, and is true. */
bool ak_statement_prepare(struct ak_store *store, const char *option, const char *sql, int places, bool rows,
                          struct ak_statement *statement);

/* Binds a row's cells and runs the statement to its end: SQLITE_ROW where it returned any, SQLITE_DONE where
 * none, else the error. */
int ak_statement_run(struct ak_statement *statement, const struct ak_cell *cell, uint64_t print);

/* Steps to the end and drops the rows: SQLITE_DONE or the error. */
int ak_statement_finish(sqlite3_stmt *statement);

/* Runs every statement of a --before or --after list in its order. `count` NULL: there are no counts yet. */
bool ak_store_run_words(struct ak_store *store, const char *option, const struct ak_words *words,
                        const uint64_t *count, double seconds);

#endif
