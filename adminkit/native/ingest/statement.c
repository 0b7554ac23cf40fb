/* statement.c - statements given from outside: prepared, bound, run. */
#include "statement.h"

#include <stdio.h>
#include <string.h>

bool ak_store_failed(struct ak_store *store, const char *what) {
    snprintf(store->error, sizeof store->error, "%s: %s", what,
             store->db ? sqlite3_errmsg(store->db) : "out of memory");
    return false;
}

/* Which of the first `places` parameters the statement mentions. Those of a bare ? have no name, so all count
 * then. */
static void find_used(struct ak_statement *statement, const char *text, int places) {
    bool bare = false;
    for (const char *mark = strchr(text, '?'); mark; mark = strchr(mark + 1, '?'))
        bare |= mark[1] < '0' || mark[1] > '9';
    for (int i = 0; i < places && i < statement->wanted; i++)
        if (bare || sqlite3_bind_parameter_name(statement->sql, i + 1)) {
            statement->used[statement->uses++] = i;
            statement->bound[i].type = AK_NULL;
        }
}

bool ak_statement_prepare(struct ak_store *store, const char *option, const char *sql, int places, bool rows,
                          struct ak_statement *statement) {
    const struct ak_words *bind = &store->options->bind;
    const char *tail = NULL;
    int most = places + bind->n + rows;
    if (!sql)
        return true;
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement->sql, &tail) !=
        SQLITE_OK)
        return ak_store_failed(store, option);
    if (!statement->sql || tail[strspn(tail, " \t\r\n;")]) {
        snprintf(store->error, sizeof store->error, "%s: not one statement", option);
        return false;
    }
    statement->wanted = sqlite3_bind_parameter_count(statement->sql);
    if (statement->wanted > most) {
        snprintf(store->error, sizeof store->error, "%s wants ?%d, but there are %d: %d outputs, %d --bind%s",
                 option, statement->wanted, most, places, bind->n, rows ? " and the fingerprint" : "");
        return false;
    }
    statement->fingerprint = rows && statement->wanted == most ? most : 0;
    find_used(statement, sql, places);
    for (int i = 0; i < bind->n && places + i < statement->wanted; i++)
        if (sqlite3_bind_text(statement->sql, places + i + 1, bind->word[i], -1, SQLITE_STATIC) != SQLITE_OK)
            return ak_store_failed(store, option);
    return true;
}

/* Binds one parameter of --before or --after. False: there is nothing of that name. Trap: ?2 beside :rows and
 * :new would be :new, so --bind values go by a name here too. */
static bool bind_name(struct ak_store *store, sqlite3_stmt *statement, int place, const uint64_t *count,
                      double seconds) {
    const char *name = sqlite3_bind_parameter_name(statement, place);
    char bound[24];
    if (!name)
        return false;
    for (int i = 0; i < store->options->bind.n; i++) {
        snprintf(bound, sizeof bound, ":bind%d", i + 1);
        if (strcmp(name, bound) == 0)
            return sqlite3_bind_text(statement, place, store->options->bind.word[i], -1, SQLITE_STATIC) ==
                   SQLITE_OK;
    }
    if (count && strcmp(name, ":seconds") == 0)
        return sqlite3_bind_double(statement, place, seconds) == SQLITE_OK;
    for (int i = 0; count && i < AK_COUNTS; i++)
        if (*name == ':' && strcmp(name + 1, ak_count_names[i]) == 0)
            return sqlite3_bind_int64(statement, place, (sqlite3_int64)count[i]) == SQLITE_OK;
    return false;
}

static bool bind_names(struct ak_store *store, sqlite3_stmt *statement, const uint64_t *count,
                       double seconds) {
    for (int place = 1, wanted = sqlite3_bind_parameter_count(statement); place <= wanted; place++)
        if (!bind_name(store, statement, place, count, seconds)) {
            const char *name = sqlite3_bind_parameter_name(statement, place);
            snprintf(store->error, sizeof store->error, "--before or --after: nothing to bind to %s",
                     name ? name : "?");
            return false;
        }
    return true;
}

int ak_statement_finish(sqlite3_stmt *statement) {
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    return code;
}

bool ak_store_run_words(struct ak_store *store, const char *option, const struct ak_words *words,
                        const uint64_t *count, double seconds) {
    for (int i = 0; i < words->n; i++) {
        for (const char *sql = words->word[i]; *sql;) {
            sqlite3_stmt *statement = NULL;
            int code;
            if (sqlite3_prepare_v2(store->db, sql, -1, &statement, &sql) != SQLITE_OK)
                return ak_store_failed(store, option);
            if (!statement)
                continue; /* blanks or a comment */
            if (!bind_names(store, statement, count, seconds)) {
                sqlite3_finalize(statement);
                return false;
            }
            code = ak_statement_finish(statement);
            if (code != SQLITE_DONE)
                ak_store_failed(store, option);
            sqlite3_finalize(statement);
            if (code != SQLITE_DONE)
                return false;
        }
    }
    return true;
}

/* Does the parameter hold this cell already? */
static bool holds(const struct ak_bound *bound, const struct ak_cell *cell) {
    if (bound->type != cell->type)
        return false;
    switch (cell->type) {
    case AK_NULL:
        return true;
    case AK_INT:
        return bound->i == cell->v.i;
    case AK_TEXT:
        return bound->n == cell->n && cell->n <= AK_SHORT && memcmp(bound->s, cell->v.s, cell->n) == 0;
    case AK_REAL:
        break;
    }
    return false;
}

static int bind_cell(sqlite3_stmt *sql, int place, struct ak_bound *bound, const struct ak_cell *cell) {
    const char *text = cell->v.s;
    bound->type = cell->type;
    switch (cell->type) {
    case AK_NULL:
        return sqlite3_bind_null(sql, place);
    case AK_INT:
        return sqlite3_bind_int64(sql, place, bound->i = cell->v.i);
    case AK_REAL:
        return sqlite3_bind_double(sql, place, cell->v.d);
    case AK_TEXT:
        bound->n = cell->n;
        if (cell->n <= AK_SHORT)
            text = memcpy(bound->s, cell->v.s, cell->n);
        return sqlite3_bind_text(sql, place, text, (int)cell->n, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

/* Binds the cells that the statement uses, and the fingerprint. */
static bool bind_row(struct ak_statement *statement, const struct ak_cell *cells, uint64_t print) {
    int code = SQLITE_OK;
    if (statement->fingerprint)
        code = sqlite3_bind_int64(statement->sql, statement->fingerprint, (sqlite3_int64)print);
    for (int i = 0; i < statement->uses; i++) {
        int place = statement->used[i];
        if (!holds(&statement->bound[place], &cells[place]))
            code |= bind_cell(statement->sql, place + 1, &statement->bound[place], &cells[place]);
    }
    return code == SQLITE_OK;
}

int ak_statement_run(struct ak_statement *statement, const struct ak_cell *cell, uint64_t print) {
    if (!bind_row(statement, cell, print))
        return SQLITE_NOMEM;
    int code = sqlite3_step(statement->sql);
    bool any = code == SQLITE_ROW;
    if (any)
        code = ak_statement_finish(statement->sql);
    sqlite3_reset(statement->sql);
    return any && code == SQLITE_DONE ? SQLITE_ROW : code;
}
