/* rollup.c - the rollups of the rows that a load stores. */
#include "rollup.h"
#include "image.h"
#include "numbered.h"
#include "statement.h"
#include "sums.h"

#include <stdlib.h>
#include <string.h>

#define RUN (AK_RUN_TEXTS + AK_RUN_NUMBERS)

/* The statements: NAME=SQL. */
enum word { FIND, MAKE, FIND_QUEUE, MAKE_QUEUE, MONTH, DAY, HOUR, ROWS, WORDS };
static const char *const names[WORDS] = {
    "find=", "make=", "find-queue=", "make-queue=", "month=", "day=", "hour=", "rows="};

/* A run that the row's statement takes away or puts in. */
struct change {
    bool any;
    struct ak_image image; /* without the texts of its key, which are in `key` */
    struct ak_parts key;
    size_t queue; /* bytes of `key` that are cluster and queue */
};

struct ak_rollup {
    const char *sql[WORDS];
    struct change old, new;
    const char *fault; /* in the row's columns */
    struct ak_numbered keys, queues;
    struct ak_sums month, day, hour;
};

/* ---- rolled() ---- */

/* A column of a number, as a STRICT table keeps it. */
static bool take_number(sqlite3_value *value, struct ak_number *number) {
    int type = sqlite3_value_type(value);
    *number = (struct ak_number){sqlite3_value_int64(value), type != SQLITE_NULL};
    return type == SQLITE_INTEGER || type == SQLITE_NULL ||
           (type == SQLITE_FLOAT && (double)number->i == sqlite3_value_double(value));
}

/* Trap: sqlite3_value_text() copies a text that was bound, to end it with a NUL. */
static bool take_text(sqlite3_value *value, struct ak_slice *text) {
    int type = sqlite3_value_type(value);
    *text = (struct ak_slice){0};
    if (type == SQLITE_NULL)
        return true;
    text->s = type == SQLITE_TEXT ? sqlite3_value_blob(value) : (const char *)sqlite3_value_text(value);
    text->n = (size_t)sqlite3_value_bytes(value);
    if (!text->n)
        text->s = "";
    return text->s && type != SQLITE_BLOB;
}

/* A sentence where it fails, else NULL. */
static const char *keep_in_mind(struct change *change, sqlite3_value **value) {
    struct ak_run run;
    bool whole = true;
    for (int i = 0; i < AK_RUN_TEXTS; i++)
        whole &= take_text(value[i], &run.text[i]);
    for (int i = 0; i < AK_RUN_NUMBERS; i++)
        whole &= take_number(value[AK_RUN_TEXTS + i], &run.number[i]);
    if (!whole)
        return "rolled(): a column is of another type";
    change->any = ak_image(&run, &change->image);
    change->key.n = 0;
    if (!change->any)
        return NULL;
    for (int i = 0; i < AK_KEY_TEXTS; i++) {
        whole &= ak_parts_text(&change->key, change->image.key_text[i]);
        if (i < AK_QUEUE_TEXTS)
            change->queue = change->key.n;
    }
    for (int i = 0; i < AK_KEY_NUMBERS; i++)
        whole &=
            ak_parts_number(&change->key, change->image.key_number[i].known, change->image.key_number[i].i);
    return whole ? NULL : "out of memory";
}

static void rolled(sqlite3_context *context, int n, sqlite3_value **value) {
    struct ak_rollup *rollup = sqlite3_user_data(context);
    if (n != 1 + RUN && n != 1 + 2 * RUN) {
        sqlite3_result_error(context, "rolled() takes a value and one run or two", -1);
        return;
    }
    rollup->fault = NULL;
    rollup->old.any = false;
    if (n > 1 + RUN)
        rollup->fault = keep_in_mind(&rollup->old, value + 1);
    if (!rollup->fault)
        rollup->fault = keep_in_mind(&rollup->new, value + n - RUN);
    sqlite3_result_value(context, value[0]);
}

/* ---- sums ---- */

static bool add_hour(struct ak_rollup *rollup, struct ak_store *store, int64_t hour, int64_t queue,
                     const int64_t *level, int sign) {
    return ak_sums_add(&rollup->hour, store, (int64_t[]){hour, queue, 0}, level, sign);
}

static bool add_hours(struct ak_rollup *rollup, struct ak_store *store, const struct change *change,
                      int sign) {
    const struct ak_image *image = &change->image;
    int64_t queue;
    return ak_numbered_of(&rollup->queues, store, change->key.bytes, change->queue, &queue) &&
           (!image->held || (add_hour(rollup, store, image->start.hour, queue, image->start.level, sign) &&
                             add_hour(rollup, store, image->end.hour, queue, image->end.level, sign)));
}

static bool add(struct ak_rollup *rollup, struct ak_store *store, const struct change *change, int sign) {
    const struct ak_image *image = &change->image;
    int64_t group[2 + AK_BINS + 1] = {image->month};
    if (!change->any)
        return true;
    if (!ak_numbered_of(&rollup->keys, store, change->key.bytes, change->key.n, &group[1]))
        return false;
    for (int i = 0; i < AK_BINS; i++) {
        group[2 + i] = image->bin[i].known ? image->bin[i].i : 0;
        group[2 + AK_BINS] |= (int64_t)!image->bin[i].known << (2 + i);
    }
    if (!ak_sums_add(&rollup->month, store, group, image->sum, sign))
        return false;
    group[0] = image->day;
    return ak_sums_add(&rollup->day, store, group, image->sum, sign) &&
           add_hours(rollup, store, change, sign);
}

void ak_rollup_forget(struct ak_store *store) {
    if (store->rollup) {
        store->rollup->old.any = store->rollup->new.any = false;
        store->rollup->fault = NULL;
    }
}

bool ak_rollup_take(struct ak_store *store) {
    struct ak_rollup *rollup = store->rollup;
    if (!rollup)
        return true;
    if (rollup->fault)
        return ak_store_fault(store, rollup->fault);
    return add(rollup, store, &rollup->old, -1) && add(rollup, store, &rollup->new, 1);
}

static bool take_rows(struct ak_store *store, const char *sql) {
    sqlite3_stmt *rows = NULL;
    bool whole = sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL) == SQLITE_OK ||
                 ak_store_failed(store, "--rollup rows=");
    int code = SQLITE_DONE;
    while (whole && (code = sqlite3_step(rows)) == SQLITE_ROW)
        whole = ak_rollup_take(store);
    if (whole && code != SQLITE_DONE)
        whole = ak_store_failed(store, "--rollup rows=");
    sqlite3_finalize(rows);
    return whole;
}

bool ak_rollup_finish(struct ak_store *store) {
    struct ak_rollup *rollup = store->rollup;
    if (rollup)
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
    return !rollup || ((!rollup->sql[ROWS] || take_rows(store, rollup->sql[ROWS])) &&
                       ak_sums_put_away(&rollup->month, store) && ak_sums_put_away(&rollup->day, store) &&
                       ak_sums_put_away(&rollup->hour, store));
}

/* ---- open, close ---- */

/* Which statement each --rollup is. False: store->error. */
static bool read_words(struct ak_rollup *rollup, struct ak_store *store) {
    const struct ak_words *words = &store->options->rollup;
    for (int i = 0; i < words->n; i++) {
        int name = 0;
        while (name < WORDS && strncmp(words->word[i], names[name], strlen(names[name])) != 0)
            name++;
        if (name == WORDS)
            return ak_store_fault(store, "--rollup: no such statement");
        rollup->sql[name] = words->word[i] + strlen(names[name]);
    }
    for (int name = 0; name < ROWS; name++)
        if (!rollup->sql[name])
            return ak_store_fault(store, "--rollup: of the statements only rows= may be missing");
    return true;
}

bool ak_rollup_open(struct ak_store *store) {
    if (!store->options->rollup.n)
        return true;
    struct ak_rollup *rollup = store->rollup = calloc(1, sizeof *rollup);
    if (!rollup)
        return ak_store_fault(store, "out of memory");
    if (sqlite3_create_function(store->db, "rolled", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, rollup, rolled,
                                NULL, NULL) != SQLITE_OK)
        return ak_store_failed(store, "rolled()");
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return read_words(rollup, store) &&
           ak_numbered_open(&rollup->keys, store, rollup->sql[FIND], rollup->sql[MAKE]) &&
           ak_numbered_open(&rollup->queues, store, rollup->sql[FIND_QUEUE], rollup->sql[MAKE_QUEUE]) &&
           ak_sums_open(&rollup->month, store, rollup->sql[MONTH], 2 + AK_BINS, AK_SUMS) &&
           ak_sums_open(&rollup->day, store, rollup->sql[DAY], 2 + AK_BINS, AK_SUMS) &&
           ak_sums_open(&rollup->hour, store, rollup->sql[HOUR], 2, AK_LEVELS);
}

void ak_rollup_close(struct ak_store *store) {
    struct ak_rollup *rollup = store->rollup;
    if (!rollup)
        return;
    ak_sums_close(&rollup->month);
    ak_sums_close(&rollup->day);
    ak_sums_close(&rollup->hour);
    ak_numbered_close(&rollup->keys);
    ak_numbered_close(&rollup->queues);
    free(rollup->old.key.bytes);
    free(rollup->new.key.bytes);
    free(rollup);
    store->rollup = NULL;
}
