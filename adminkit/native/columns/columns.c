/* columns.c - the SQL aggregate adminkit_columns(kinds, value, ...): whole columns of a SELECT as one blob.
 *
 * `kinds` has a letter for each value: n for numbers, t for texts. Without rows the answer is NULL. The blob
 * is of 8-byte words in the order of this machine: the number of rows; then of each column a head and what
 * follows: width in bytes, 1 for doubles, 1 where some are missing, the number of different texts, their
 * bytes, and 1 + the number that stands for no text, or 0; the values, filled up to whole words: of a text
 * its number, of a missing number the least one or NaN; where each text ends among the bytes; the bytes,
 * filled up to whole words.
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

static struct columns *make_columns(int count) {
    struct columns *all = calloc(1, sizeof *all + (size_t)count * sizeof *all->column);
    if (all != NULL)
        all->count = count;
    for (int k = 0; all != NULL && k < count; k++)
        sqlite3_randomness(sizeof all->column[k].texts.seed, &all->column[k].texts.seed);
    return all;
}

static void free_columns(struct columns *all) {
    for (int k = 0; k < all->count; k++)
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
        all->wrong = "adminkit_columns: a letter for each value comes first";
    for (int k = 0; k < all->count && all->wrong == NULL; k++)
        all->wrong = add(&all->column[k], kinds[k], values[k + 1]);
    if (all->wrong != NULL)
        sqlite3_result_error(context, all->wrong, -1);
}

static int64_t padded(int64_t bytes) {
    return (bytes + WORD - 1) / WORD * WORD;
}

static int64_t size_of(const struct columns *all) {
    int64_t size = WORD;
    for (int k = 0; k < all->count; k++) {
        const struct ak_column *one = &all->column[k];
        size += HEAD * WORD + padded(one->count * one->width) + one->texts.count * WORD +
                padded(one->texts.length);
    }
    return size;
}

static unsigned char *put(unsigned char *at, const void *bytes, int64_t length) {
    if (length)
        memcpy(at, bytes, (size_t)length);
    memset(at + length, 0, (size_t)(padded(length) - length));
    return at + padded(length);
}

/* All columns one behind the other, each freed as soon as it is there; NULL without memory. */
static unsigned char *joined(struct columns *all, int64_t size) {
    unsigned char *blob = malloc((size_t)size), *at = blob;
    if (blob == NULL)
        return NULL;
    at = put(at, &all->column[0].count, WORD);
    for (int k = 0; k < all->count; k++) {
        struct ak_column *one = &all->column[k];
        int64_t head[HEAD] = {
            [WIDTH] = one->width,       [REAL] = one->real,          [MISSING] = one->missing,
            [TEXTS] = one->texts.count, [BYTES] = one->texts.length, [NO_TEXT] = one->no_text};
        at = put(at, head, sizeof head);
        at = put(at, one->values, one->count * one->width);
        at = put(at, one->texts.ends, one->texts.count * WORD);
        at = put(at, one->texts.bytes, one->texts.length);
        ak_column_free(one);
    }
    return blob;
}

/* SQLite calls it too where the statement was ended early: then its result is dropped. */
static void finish(sqlite3_context *context) {
    struct columns **place = sqlite3_aggregate_context(context, 0);
    if (place == NULL || *place == NULL)
        return sqlite3_result_null(context);
    struct columns *all = *place;
    if (all->wrong != NULL) {
        sqlite3_result_error(context, all->wrong, -1);
    } else {
        int64_t size = size_of(all);
        unsigned char *blob = joined(all, size);
        if (blob == NULL)
            sqlite3_result_error_nomem(context);
        else
            sqlite3_result_blob64(context, blob, (sqlite3_uint64)size, free);
    }
    free_columns(all);
    *place = NULL;
}

/* What SQLite calls for each new connection once it was given to sqlite3_auto_extension(). */
__attribute__((visibility("default"))) int adminkit_columns_init(sqlite3 *db, char **error,
                                                                 const sqlite3_api_routines *api) {
    (void)error;
    SQLITE_EXTENSION_INIT2(api);
    return sqlite3_create_function_v2(db, "adminkit_columns", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL,
                                      step, finish, NULL);
}
