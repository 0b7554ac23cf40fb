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
enum word { FIND, MAKE, ENDED, OCCUPIED, ROWS, WORDS };
static const char *const names[WORDS] = {"find=", "make=", "ended=", "occupied=", "rows="};

/* A run that the row's statement takes away or puts in. */
struct change {
    bool any;
    struct ak_image image; /* without the texts of its key, which are in `key` */
    struct ak_parts key;
};

struct ak_rollup {
    const char *sql[WORDS];
    struct change old, new;
    const char *fault; /* in the row's columns */
    struct ak_numbered keys;
    struct ak_sums ended, occupied;
};

/* ---- rolled() ---- */

/* A column of a number, as a STRICT table keeps it. */
static bool take_number(sqlite3_value *value, struct ak_number *number) {
    int type = sqlite3_value_type(value);
    *number = (struct ak_number){sqlite3_value_int64(value), type != SQLITE_NULL};
    return type == SQLITE_INTEGER || type == SQLITE_NULL ||
           (type == SQLITE_FLOAT && (double)number->i == sqlite3_value_double(value));
}

static bool take_text(sqlite3_value *value, struct ak_slice *text) {
    int type = sqlite3_value_type(value);
    text->s = type == SQLITE_NULL ? NULL : (const char *)sqlite3_value_text(value);
    text->n = text->s ? (size_t)sqlite3_value_bytes(value) : 0;
    return type == SQLITE_NULL || (text->s && type != SQLITE_BLOB);
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
    for (int i = 0; i < AK_KEY_TEXTS; i++)
        whole &= ak_parts_text(&change->key, change->image.key_text[i]);
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

static bool add_occupied(struct ak_rollup *rollup, struct ak_store *store, int64_t hour, int64_t key,
                         const int64_t *level, int sign) {
    return ak_sums_add(&rollup->occupied, store, (int64_t[]){hour, key, 0}, level, sign);
}

static bool add(struct ak_rollup *rollup, struct ak_store *store, const struct change *change, int sign) {
    const struct ak_image *image = &change->image;
    int64_t key, group[2 + AK_BINS + 1];
    if (!change->any)
        return true;
    if (!ak_numbered_of(&rollup->keys, store, change->key.bytes, change->key.n, &key))
        return false;
    group[0] = image->hour;
    group[1] = key;
    group[2 + AK_BINS] = 0;
    for (int i = 0; i < AK_BINS; i++) {
        group[2 + i] = image->bin[i].known ? image->bin[i].i : 0;
        group[2 + AK_BINS] |= (int64_t)!image->bin[i].known << (2 + i);
    }
    return ak_sums_add(&rollup->ended, store, group, image->sum, sign) &&
           (!image->held || (add_occupied(rollup, store, image->start.hour, key, image->start.level, sign) &&
                             add_occupied(rollup, store, image->end.hour, key, image->end.level, sign)));
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
    return !rollup || ((!rollup->sql[ROWS] || take_rows(store, rollup->sql[ROWS])) &&
                       ak_sums_put_away(&rollup->ended, store) && ak_sums_put_away(&rollup->occupied, store));
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
            return ak_store_fault(store, "--rollup: find=, make=, ended= and occupied= are wanted");
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
    return read_words(rollup, store) &&
           ak_numbered_open(&rollup->keys, store, rollup->sql[FIND], rollup->sql[MAKE]) &&
           ak_sums_open(&rollup->ended, store, rollup->sql[ENDED], 2 + AK_BINS, AK_SUMS) &&
           ak_sums_open(&rollup->occupied, store, rollup->sql[OCCUPIED], 2, AK_LEVELS);
}

void ak_rollup_close(struct ak_store *store) {
    struct ak_rollup *rollup = store->rollup;
    if (!rollup)
        return;
    ak_sums_close(&rollup->ended);
    ak_sums_close(&rollup->occupied);
    ak_numbered_close(&rollup->keys);
    free(rollup->old.key.bytes);
    free(rollup->new.key.bytes);
    free(rollup);
    store->rollup = NULL;
}
