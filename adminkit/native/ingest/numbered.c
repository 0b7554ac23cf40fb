/* numbered.c - one number for equal lists of parts. */
#include "numbered.h"
#include "fingerprint.h"
#include "slots.h"
#include "statement.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TEXT ((size_t)64 << 20) /* bytes of lists that are remembered */

enum sort { NOTHING, NUMBER, TEXT };

/* ---- lists ---- */

/* Room for `n` bytes more. False: no memory. */
static bool fits(char **bytes, size_t used, size_t *room, size_t n) {
    if (used + n <= *room)
        return true;
    size_t grown = (used + n) * 2;
    char *moved = realloc(*bytes, grown);
    if (!moved)
        return false;
    *bytes = moved;
    *room = grown;
    return true;
}

/* A part is its sort, its value or its length, and the bytes of a text. */
static bool put(struct ak_parts *parts, enum sort sort, int64_t number, const char *text, size_t n) {
    if (!fits(&parts->bytes, parts->n, &parts->room, 1 + sizeof number + n))
        return false;
    char *to = parts->bytes + parts->n;
    *to = (char)sort;
    memcpy(to + 1, &number, sizeof number);
    if (n)
        memcpy(to + 1 + sizeof number, text, n);
    parts->n += 1 + sizeof number + n;
    return true;
}

bool ak_parts_text(struct ak_parts *parts, struct ak_slice text) {
    return text.s ? put(parts, TEXT, (int64_t)text.n, text.s, text.n) : put(parts, NOTHING, 0, NULL, 0);
}

bool ak_parts_number(struct ak_parts *parts, bool known, int64_t number) {
    return put(parts, known ? NUMBER : NOTHING, known ? number : 0, NULL, 0);
}

/* Binds every part of a list to its parameter. An SQLite code. */
static int bind(sqlite3_stmt *statement, const char *part, size_t n) {
    const char *end = part + n;
    int code = SQLITE_OK;
    for (int place = 1; part < end && code == SQLITE_OK; place++) {
        enum sort sort = (enum sort) * part;
        int64_t number;
        memcpy(&number, part + 1, sizeof number);
        part += 1 + sizeof number;
        if (sort == NOTHING)
            code = sqlite3_bind_null(statement, place);
        else if (sort == NUMBER)
            code = sqlite3_bind_int64(statement, place, number);
        else {
            code = sqlite3_bind_text(statement, place, part, (int)number, SQLITE_STATIC);
            part += number;
        }
    }
    return code;
}

/* ---- numbers ---- */

struct list {
    const struct ak_numbered *numbered;
    const char *bytes;
    size_t n;
};

static bool same(const void *what, const struct ak_slot *slot) {
    const struct list *list = what;
    size_t n;
    const char *kept = list->numbered->text + slot->at;
    memcpy(&n, kept, sizeof n);
    return n == list->n && memcmp(kept + sizeof n, list->bytes, n) == 0;
}

/* Runs a statement: the first column of its row, or *found stays false. An SQLite code. */
static int ask(sqlite3_stmt *statement, const struct list *list, int64_t *number, bool *found) {
    int code = bind(statement, list->bytes, list->n);
    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        *found = true;
        code = SQLITE_DONE;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

/* The number from the database, where the row is made if there is none. */
static bool look_up(struct ak_numbered *numbered, struct ak_store *store, const struct list *list,
                    int64_t *number) {
    sqlite3_stmt *const in_turn[] = {numbered->find, numbered->before, numbered->make, numbered->find};
    bool found = false;
    for (size_t i = 0; i < sizeof in_turn / sizeof *in_turn && !found; i++) {
        if (!in_turn[i])
            continue;
        if (ask(in_turn[i], list, number, &found) != SQLITE_DONE)
            return ak_store_failed(store, "--rollup");
        if (in_turn[i] == numbered->make && sqlite3_changes(store->db)) {
            *number = sqlite3_last_insert_rowid(store->db);
            found = true;
        }
    }
    return found || ak_store_fault(store, "--rollup: find= does not find the row that make= inserted");
}

bool ak_numbered_of(struct ak_numbered *numbered, struct ak_store *store, const char *parts, size_t n,
                    int64_t *number) {
    struct list list = {numbered, parts, n};
    if (numbered->slots->n == AK_SLOTS_MOST || numbered->used > MOST_TEXT) {
        memset(numbered->slots, 0, sizeof *numbered->slots);
        numbered->used = 0;
    }
    uint64_t hash = ak_fingerprint(numbered->seed, parts, n);
    struct ak_slot *slot = ak_slots_find(numbered->slots, hash, same, &list);
    if (!slot->used) {
        if (!look_up(numbered, store, &list, number))
            return false;
        if (!fits(&numbered->text, numbered->used, &numbered->room, sizeof n + n))
            return ak_store_fault(store, "out of memory");
        memcpy(numbered->text + numbered->used, &n, sizeof n);
        memcpy(numbered->text + numbered->used + sizeof n, parts, n);
        *slot = (struct ak_slot){.hash = hash, .at = numbered->used, .data = *number, .used = true};
        numbered->slots->n++;
        numbered->used += sizeof n + n;
    }
    *number = slot->data;
    return true;
}

bool ak_numbered_open(struct ak_numbered *numbered, struct ak_store *store, const char *find,
                      const char *before, const char *make) {
    *numbered = (struct ak_numbered){.slots = calloc(1, sizeof *numbered->slots)};
    if (!numbered->slots)
        return ak_store_fault(store, "out of memory");
    sqlite3_randomness(sizeof numbered->seed, &numbered->seed);
    return (sqlite3_prepare_v3(store->db, find, -1, SQLITE_PREPARE_PERSISTENT, &numbered->find, NULL) ==
                SQLITE_OK &&
            (!before || sqlite3_prepare_v3(store->db, before, -1, SQLITE_PREPARE_PERSISTENT,
                                           &numbered->before, NULL) == SQLITE_OK) &&
            sqlite3_prepare_v3(store->db, make, -1, SQLITE_PREPARE_PERSISTENT, &numbered->make, NULL) ==
                SQLITE_OK) ||
           ak_store_failed(store, "--rollup");
}

void ak_numbered_close(struct ak_numbered *numbered) {
    sqlite3_finalize(numbered->find);
    sqlite3_finalize(numbered->before);
    sqlite3_finalize(numbered->make);
    free(numbered->slots);
    free(numbered->text);
}
