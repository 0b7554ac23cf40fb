/* columns.c - two SQL functions: adminkit_columns(kinds, value, ...) reads whole columns of a SELECT, and
 * adminkit_column(k) hands over one of them, counted from 0.
 *
 * `kinds` has a letter for each value: n for numbers, t for texts. The first answers with the number of rows,
 * 0 without any. What it read stays with the connection until it is handed over, until the next SELECT of it,
 * or until the connection is closed. One column at a time, because SQLite and its caller each hold what is
 * handed over: all columns in one blob are there twice.
 *
 * A column is a blob of 8-byte words in the order of this machine, or NULL where it is not there (any more).
 * First its head: width in bytes, 1 for doubles, 1 where some are missing, the number of different texts,
 * their bytes, and 1 + the number that stands for no text, or 0. Then the values, filled up to whole words:
 * of a text its number, of a missing number the least one or NaN; where each text ends among the bytes; the
 * bytes, filled up to whole words.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3ext.h>

#include "column.h"

SQLITE_EXTENSION_INIT1

#define WORD ((int64_t)sizeof(int64_t))

enum { WIDTH, REAL, MISSING, TEXTS, BYTES, NO_TEXT, HEAD };

struct columns {
    int count;
    const char *wrong; /* what ended it early */
    struct ak_column column[];
};

/* What a connection read last and is to hand over. */
struct kept {
    struct columns *columns; /* or NULL */
};

static struct columns *make_columns(int count) {
    struct columns *all = calloc(1, sizeof *all + (size_t)count * sizeof *all->column);
    if (all != NULL)
        all->count = count;
    for (int k = 0; all != NULL && k < count; k++)
        sqlite3_randomness(sizeof all->column[k].texts.seed, &all->column[k].texts.seed);
    return all;
}

/* NULL is allowed. */
static void free_columns(struct columns *all) {
    for (int k = 0; all != NULL && k < all->count; k++)
        ak_column_free(&all->column[k]);
    free(all);
}

/* Adds a value; returns what is wrong, or NULL. */
static const char *add(struct ak_column *column, char kind, sqlite3_value *value) {
    bool added = false;
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        added = kind == 't' ? ak_column_no_text(column) : ak_column_missing(column);
        break;
    case SQLITE_TEXT: {
        if (kind != 't')
            return "adminkit_columns: a text in a column of numbers";
        const unsigned char *text = sqlite3_value_text(value);
        added = text != NULL && ak_column_text(column, (const char *)text, sqlite3_value_bytes(value));
        break;
    }
    case SQLITE_INTEGER:
        if (kind != 'n')
            return "adminkit_columns: a number in a column of texts";
        added = ak_column_whole(column, sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        if (kind != 'n')
            return "adminkit_columns: a number in a column of texts";
        added = ak_column_real(column, sqlite3_value_double(value));
        break;
    default:
        return "adminkit_columns: a blob";
    }
    return added ? NULL : "adminkit_columns: out of memory";
}

static void keep(struct kept *kept, struct columns *all) {
    free_columns(kept->columns);
    kept->columns = all;
}

static void free_kept(void *kept) {
    keep(kept, NULL);
    free(kept);
}

static void step(sqlite3_context *context, int count, sqlite3_value **values) {
    if (count < 2)
        return sqlite3_result_error(context, "adminkit_columns: no values", -1);
    struct columns **place = sqlite3_aggregate_context(context, sizeof *place);
    if (place == NULL)
        return sqlite3_result_error_nomem(context);
    if (*place == NULL && (*place = make_columns(count - 1)) == NULL)
        return sqlite3_result_error_nomem(context);
    struct columns *all = *place;
    const char *kinds = (const char *)sqlite3_value_text(values[0]);
    if (kinds == NULL || sqlite3_value_bytes(values[0]) != all->count)
        all->wrong = "adminkit_columns: the first argument must have a letter for each value";
    for (int k = 0; k < all->count && all->wrong == NULL; k++)
        all->wrong = add(&all->column[k], kinds[k], values[k + 1]);
    if (all->wrong != NULL)
        sqlite3_result_error(context, all->wrong, -1);
}

static int64_t padded(int64_t bytes) {
    return (bytes + WORD - 1) / WORD * WORD;
}

static int64_t size_of(const struct ak_column *one) {
    return HEAD * WORD + padded(one->count * one->width) + one->texts.count * WORD +
           padded(one->texts.length);
}

static unsigned char *put(unsigned char *at, const void *bytes, int64_t length) {
    if (length)
        memcpy(at, bytes, (size_t)length);
    memset(at + length, 0, (size_t)(padded(length) - length));
    return at + padded(length);
}

/* The blob of a column, for the caller to free; NULL without memory. */
static unsigned char *joined(const struct ak_column *one) {
    unsigned char *blob = malloc((size_t)size_of(one)), *at = blob;
    if (blob == NULL)
        return NULL;
    int64_t head[HEAD] = {
        [WIDTH] = one->width,       [REAL] = one->real,          [MISSING] = one->missing,
        [TEXTS] = one->texts.count, [BYTES] = one->texts.length, [NO_TEXT] = one->texts.none};
    at = put(at, head, sizeof head);
    at = put(at, one->values, one->count * one->width);
    at = put(at, one->texts.ends, one->texts.count * WORD);
    put(at, one->texts.bytes, one->texts.length);
    return blob;
}

/* SQLite calls it too where the statement was ended early: then its result is dropped. */
static void finish(sqlite3_context *context) {
    struct kept *kept = sqlite3_user_data(context);
    keep(kept, NULL);
    struct columns **place = sqlite3_aggregate_context(context, 0);
    if (place == NULL || *place == NULL)
        return sqlite3_result_int64(context, 0);
    if ((*place)->wrong != NULL) {
        sqlite3_result_error(context, (*place)->wrong, -1);
        free_columns(*place);
    } else {
        sqlite3_result_int64(context, (*place)->column[0].count);
        keep(kept, *place);
    }
    *place = NULL;
}

static void hand_over(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    struct columns *all = ((struct kept *)sqlite3_user_data(context))->columns;
    int64_t k = sqlite3_value_int64(values[0]);
    if (all == NULL || k < 0 || k >= all->count || all->column[k].width == 0)
        return sqlite3_result_null(context);
    struct ak_column *one = &all->column[k];
    int64_t size = size_of(one);
    unsigned char *blob = joined(one);
    ak_column_free(one);
    if (blob == NULL)
        return sqlite3_result_error_nomem(context);
    sqlite3_result_blob64(context, blob, (sqlite3_uint64)size, free);
}

/* What SQLite calls for each new connection once it was given to sqlite3_auto_extension(). */
__attribute__((visibility("default"))) int adminkit_columns_init(sqlite3 *db, char **error,
                                                                 const sqlite3_api_routines *api) {
    (void)error;
    SQLITE_EXTENSION_INIT2(api);
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return SQLITE_NOMEM;
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int wrong =
        sqlite3_create_function_v2(db, "adminkit_columns", -1, flags, kept, NULL, step, finish, free_kept);
    return wrong ? wrong
                 : sqlite3_create_function_v2(db, "adminkit_column", 1, flags, kept, hand_over, NULL, NULL,
                                              NULL);
}
