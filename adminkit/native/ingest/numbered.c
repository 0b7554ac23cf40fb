/* numbered.c - the SQL function numbered(). */
#include "numbered.h"
#include "fingerprint.h"
#include "slots.h"
#include "statement.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TEXT ((size_t)64 << 20) /* bytes of arguments that are remembered */

struct arguments {
    const char *text, *these;
    size_t n;
};

static bool same(const void *what, const struct ak_slot *slot) {
    const struct arguments *arguments = what;
    return memcmp(arguments->text + slot->at, arguments->these, arguments->n) == 0;
}

static void forget(struct ak_numbered *numbered) {
    memset(numbered->slots, 0, sizeof *numbered->slots);
    numbered->used = 0;
}

/* Puts `n` bytes behind those of this call. False: no memory. */
static bool put(struct ak_numbered *numbered, size_t *at, const void *bytes, size_t n) {
    if (*at + n > numbered->room) {
        size_t room = (*at + n) * 2;
        char *grown = realloc(numbered->text, room);
        if (!grown)
            return false;
        numbered->text = grown;
        numbered->room = room;
    }
    if (n)
        memcpy(numbered->text + *at, bytes, n);
    *at += n;
    return true;
}

/* Writes the arguments so that no two lists look alike: the length of all, of each its type and its length or
 * value. 0: no memory, or an argument that is neither a whole number, nor text, nor NULL. */
static size_t encode(struct ak_numbered *numbered, int n, sqlite3_value **value) {
    size_t at = numbered->used, total;
    bool whole = put(numbered, &at, &total, sizeof total); /* its value comes last */
    for (int i = 0; i < n && whole; i++) {
        int64_t number = 0;
        int type = sqlite3_value_type(value[i]);
        const void *text = type == SQLITE_TEXT ? sqlite3_value_text(value[i]) : NULL;
        if (type == SQLITE_INTEGER)
            number = sqlite3_value_int64(value[i]);
        else if (text)
            number = sqlite3_value_bytes(value[i]);
        whole = (type == SQLITE_INTEGER || type == SQLITE_NULL || text) &&
                put(numbered, &at, &(char){(char)type}, 1) && put(numbered, &at, &number, sizeof number) &&
                (!text || put(numbered, &at, text, (size_t)number));
    }
    if (!whole)
        return 0;
    total = at - numbered->used;
    memcpy(numbered->text + numbered->used, &total, sizeof total);
    return total;
}

/* Binds and runs a statement: the first column of its row, or *found stays false. */
static int ask(sqlite3_stmt *statement, int n, sqlite3_value **value, int64_t *number, bool *found) {
    int code = SQLITE_OK;
    for (int i = 0; i < n && i < sqlite3_bind_parameter_count(statement) && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(statement, i + 1, value[i]);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        *found = true;
        code = SQLITE_DONE;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

/* The number from the database, where the row is made if there is none. An SQLite code. */
static int look_up(struct ak_numbered *numbered, sqlite3 *db, int n, sqlite3_value **value, int64_t *number) {
    bool found = false;
    int code = ask(numbered->find, n, value, number, &found);
    if (code != SQLITE_DONE || found)
        return code;
    code = ask(numbered->make, n, value, number, &found);
    *number = sqlite3_last_insert_rowid(db);
    return code;
}

static void call(sqlite3_context *context, int n, sqlite3_value **value) {
    struct ak_numbered *numbered = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    if (numbered->slots->n == AK_SLOTS_MOST || numbered->used > MOST_TEXT)
        forget(numbered);
    size_t length = encode(numbered, n, value);
    if (!length) {
        sqlite3_result_error(context, "numbered() takes whole numbers, text and NULL", -1);
        return;
    }
    struct arguments arguments = {numbered->text, numbered->text + numbered->used, length};
    uint64_t hash = ak_fingerprint(numbered->seed, arguments.these, length);
    struct ak_slot *slot = ak_slots_find(numbered->slots, hash, same, &arguments);
    if (!slot->used) {
        int64_t number;
        int code = look_up(numbered, db, n, value, &number);
        if (code != SQLITE_DONE) {
            sqlite3_result_error(context, sqlite3_errmsg(db), -1);
            sqlite3_result_error_code(context, code);
            return;
        }
        *slot = (struct ak_slot){.hash = hash, .at = numbered->used, .data = number, .used = true};
        numbered->slots->n++;
        numbered->used += length;
    }
    sqlite3_result_int64(context, slot->data);
}

bool ak_numbered_open(struct ak_numbered *numbered, struct ak_store *store) {
    const struct ak_store_options *o = store->options;
    *numbered = (struct ak_numbered){0};
    if (!o->number_sql || !o->number_new_sql)
        return true;
    numbered->slots = calloc(1, sizeof *numbered->slots);
    if (!numbered->slots)
        return ak_store_fault(store, "out of memory");
    sqlite3_randomness(sizeof numbered->seed, &numbered->seed);
    if (sqlite3_prepare_v2(store->db, o->number_sql, -1, &numbered->find, NULL) != SQLITE_OK)
        return ak_store_failed(store, "--number");
    if (sqlite3_prepare_v2(store->db, o->number_new_sql, -1, &numbered->make, NULL) != SQLITE_OK)
        return ak_store_failed(store, "--number-new");
    return sqlite3_create_function(store->db, "numbered", -1, SQLITE_UTF8, numbered, call, NULL, NULL) ==
               SQLITE_OK ||
           ak_store_failed(store, "numbered()");
}

void ak_numbered_close(struct ak_numbered *numbered, struct ak_store *store) {
    sqlite3_finalize(numbered->find);
    sqlite3_finalize(numbered->make);
    if (numbered->slots)
        sqlite3_create_function(store->db, "numbered", -1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
    free(numbered->slots);
    free(numbered->text);
}
