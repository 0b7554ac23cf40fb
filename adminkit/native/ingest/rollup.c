/* rollup.c - the rollups of the rows that a load stores. */
#include "rollup.h"
#include "hours.h"
#include "image.h"
#include "numbered.h"
#include "slots.h"
#include "statement.h"
#include "sums.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define RUN (AK_RUN_TEXTS + AK_RUN_NUMBERS)

/* The statements: NAME=SQL. */
enum word {
    FIND,
    MAKE_EVERYBODY,
    MAKE,
    EVERYBODY,
    MONTH,
    USER,
    FIND_OF_HOURS,
    MAKE_OF_HOURS,
    HOURS,
    FIND_OF_WAITS,
    MAKE_OF_WAITS,
    WAITS,
    ROWS,
    WORDS
};
static const char *const names[WORDS] = {
    "find=",          "make-everybody=", "make=",          "everybody=", "month=",
    "user=",          "find-of-hours=",  "make-of-hours=", "hours=",     "find-of-waits=",
    "make-of-waits=", "waits=",          "rows="};

/* A run that the row's statement takes away or puts in. */
struct change {
    bool any;
    struct ak_image image; /* without the texts of its key, which are in `key` */
    struct ak_parts key;
    bool even;
    struct ak_hours hours; /* likewise, and so for `waits` */
    struct ak_parts key_of_hours;
    struct ak_waits waits;
    struct ak_parts key_of_waits;
};

/* A table with keys of its own. */
struct apart {
    struct ak_numbered keys;
    struct ak_sums sums;
};

struct ak_rollup {
    const char *sql[WORDS];
    struct change old, new;
    const char *fault; /* in the row's columns */
    struct ak_numbered keys;
    sqlite3_stmt *everybody;
    struct ak_sums user, month; /* the second is made of the first when that is put away */
    struct apart hours, waits;
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
        return "rolled(): a column has another type";
    change->any = ak_image(&run, &change->image);
    change->even = change->any && ak_hours(&run, &change->hours);
    change->key.n = change->key_of_hours.n = change->key_of_waits.n = 0;
    if (!change->any)
        return NULL;
    for (int i = 0; i < AK_KEY_TEXTS; i++)
        whole &= ak_parts_text(&change->key, change->image.key_text[i]);
    for (int i = 0; i < AK_KEY_NUMBERS; i++)
        whole &=
            ak_parts_number(&change->key, change->image.key_number[i].known, change->image.key_number[i].i);
    for (int i = 0; i < AK_HOURS_PARTS && change->even; i++)
        whole &= ak_parts_text(&change->key_of_hours, change->hours.key[i]);
    ak_waits(&run, &change->waits);
    for (int i = 0; i < AK_WAITS_TEXTS; i++)
        whole &= ak_parts_text(&change->key_of_waits, change->waits.text[i]);
    for (int i = 0; i < AK_WAITS_NUMBERS; i++)
        whole &= ak_parts_number(&change->key_of_waits, true, change->waits.number[i]);
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

/* The key of everybody's runs that are otherwise as those of `key`. */
static bool everybody_of(struct ak_rollup *rollup, struct ak_store *store, int64_t key, int64_t *found) {
    sqlite3_bind_int64(rollup->everybody, 1, key);
    bool any = sqlite3_step(rollup->everybody) == SQLITE_ROW;
    *found = any ? sqlite3_column_int64(rollup->everybody, 0) : 0;
    sqlite3_reset(rollup->everybody);
    return any || ak_store_failed(store, "--rollup everybody=");
}

static bool put_away(struct ak_rollup *rollup, struct ak_store *store) {
    bool whole = true;
    for (size_t i = 0; i < rollup->user.slots->n && whole; i++) {
        int64_t everybody;
        if (ak_sums_full(&rollup->month)) {
            whole = ak_sums_put_away(&rollup->month, store);
            ak_sums_forget(&rollup->month);
        }
        whole = whole && everybody_of(rollup, store, ak_sums_key(&rollup->user, i), &everybody) &&
                ak_sums_add_entry(&rollup->month, store, &rollup->user, i, everybody);
    }
    return whole && ak_sums_put_away(&rollup->user, store) && ak_sums_put_away(&rollup->month, store);
}

static bool make_room(struct ak_rollup *rollup, struct ak_store *store) {
    if (!ak_sums_full(&rollup->user))
        return true;
    bool whole = put_away(rollup, store);
    ak_sums_forget(&rollup->user);
    ak_sums_forget(&rollup->month);
    return whole;
}

static bool add_month(struct ak_rollup *rollup, struct ak_store *store, const struct change *change,
                      int sign) {
    const struct ak_image *image = &change->image;
    int64_t group[AK_SUMS_GROUPS] = {image->month};
    return ak_numbered_of(&rollup->keys, store, change->key.bytes, change->key.n, &group[1]) &&
           make_room(rollup, store) &&
           ak_sums_add(&rollup->user, store, group, image->sum, image->bin, AK_BINS, sign);
}

/* Adds `sign` times `sum`, and to the count of `bin`, at a time of a key. */
static bool add_apart(struct apart *apart, struct ak_store *store, const struct ak_parts *key, int64_t time,
                      const int64_t *sum, const int *bin, int sign) {
    int64_t group[AK_SUMS_GROUPS] = {time};
    bool whole = ak_numbered_of(&apart->keys, store, key->bytes, key->n, &group[1]);
    if (whole && ak_sums_full(&apart->sums)) {
        whole = ak_sums_put_away(&apart->sums, store);
        ak_sums_forget(&apart->sums);
    }
    return whole && ak_sums_add(&apart->sums, store, group, sum, bin, bin != NULL, sign);
}

static bool add_hours(struct ak_rollup *rollup, struct ak_store *store, const struct change *change,
                      int sign) {
    const struct ak_hours *hours = &change->hours;
    bool whole = true;
    for (int i = 0; i < 2 && whole && change->even; i++)
        whole = add_apart(&rollup->hours, store, &change->key_of_hours, hours->hour[i], hours->sum[i], NULL,
                          sign);
    return whole;
}

static bool add_waits(struct ak_rollup *rollup, struct ak_store *store, const struct change *change,
                      int sign) {
    const struct ak_waits *waits = &change->waits;
    return add_apart(&rollup->waits, store, &change->key_of_waits, waits->month, waits->sum, &waits->bin,
                     sign);
}

static bool add(struct ak_rollup *rollup, struct ak_store *store, const struct change *change, int sign) {
    return !change->any || (add_month(rollup, store, change, sign) &&
                            add_hours(rollup, store, change, sign) && add_waits(rollup, store, change, sign));
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
    return !rollup ||
           ((!rollup->sql[ROWS] || take_rows(store, rollup->sql[ROWS])) && put_away(rollup, store) &&
            ak_sums_put_away(&rollup->hours.sums, store) && ak_sums_put_away(&rollup->waits.sums, store));
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
            return ak_store_fault(store, "--rollup: every statement but rows= is needed");
    return true;
}

/* The statements of `sql`: find, make, and what adds. */
static bool open_apart(struct apart *apart, struct ak_store *store, const char *const *sql, int summed,
                       int counted) {
    return ak_numbered_open(&apart->keys, store, sql[0], NULL, sql[1]) &&
           ak_sums_open(&apart->sums, store, sql[2], summed, counted);
}

static void close_apart(struct apart *apart) {
    ak_sums_close(&apart->sums);
    ak_numbered_close(&apart->keys);
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
           ak_numbered_open(&rollup->keys, store, rollup->sql[FIND], rollup->sql[MAKE_EVERYBODY],
                            rollup->sql[MAKE]) &&
           (sqlite3_prepare_v2(store->db, rollup->sql[EVERYBODY], -1, &rollup->everybody, NULL) ==
                SQLITE_OK ||
            ak_store_failed(store, "--rollup everybody=")) &&
           ak_sums_open(&rollup->month, store, rollup->sql[MONTH], AK_SUMS, AK_EVERYBODYS) &&
           ak_sums_open(&rollup->user, store, rollup->sql[USER], AK_SUMS, AK_RUN_COUNTS) &&
           open_apart(&rollup->hours, store, &rollup->sql[FIND_OF_HOURS], AK_HOURS_SUMS, 0) &&
           open_apart(&rollup->waits, store, &rollup->sql[FIND_OF_WAITS], AK_WAITS_SUMS, AK_ELAPSED_BINS);
}

void ak_rollup_close(struct ak_store *store) {
    struct ak_rollup *rollup = store->rollup;
    if (!rollup)
        return;
    ak_sums_close(&rollup->month);
    ak_sums_close(&rollup->user);
    sqlite3_finalize(rollup->everybody);
    ak_numbered_close(&rollup->keys);
    close_apart(&rollup->hours);
    close_apart(&rollup->waits);
    for (int i = 0; i < 2; i++) {
        struct change *change = i ? &rollup->new : &rollup->old;
        free(change->key.bytes);
        free(change->key_of_hours.bytes);
        free(change->key_of_waits.bytes);
    }
    free(rollup);
    store->rollup = NULL;
}
