/* sums.c - sums of rows by group. */
#include "sums.h"
#include "fingerprint.h"
#include "numbered.h"
#include "slots.h"
#include "statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 64 /* of a --sum; one bit of an entry's `nulls` each */

/* The groups of one --sum. An entry is its group's values, which of them are NULL, and its sums. */
struct sums {
    int first, groups, summed; /* columns of --sum-rows */
    size_t width;              /* of an entry */
    sqlite3_stmt *put;
    struct ak_slots *slots;
    int64_t *entry;
    size_t room; /* entries */
    uint64_t seed;
};

struct group {
    const struct sums *sums;
    const int64_t *value; /* and which are NULL */
};

static bool same(const void *what, const struct ak_slot *slot) {
    const struct group *group = what;
    return memcmp(group->sums->entry + slot->at * group->sums->width, group->value,
                  sizeof(int64_t) * ((size_t)group->sums->groups + 1)) == 0;
}

/* Reads "FIRST,GROUPS,SUMS:SQL". False: store->error. */
static bool open_sums(struct sums *sums, struct ak_store *store, const char *text, int columns) {
    int length = 0;
    if (sscanf(text, "%d,%d,%d:%n", &sums->first, &sums->groups, &sums->summed, &length) != 3 || !length ||
        sums->first < 0 || sums->groups < 1 || sums->groups >= MOST_COLUMNS || sums->summed < 1 ||
        sums->summed >= MOST_COLUMNS || sums->first > columns - sums->groups - sums->summed)
        return ak_store_fault(store, "--sum: invalid columns");
    sums->width = (size_t)(sums->groups + 1 + sums->summed);
    if (sqlite3_prepare_v3(store->db, text + length, -1, SQLITE_PREPARE_PERSISTENT, &sums->put, NULL) !=
        SQLITE_OK)
        return ak_store_failed(store, "--sum");
    if (sqlite3_bind_parameter_count(sums->put) != sums->groups + sums->summed)
        return ak_store_fault(store, "--sum: a parameter for each column, no more and no less");
    sums->slots = calloc(1, sizeof *sums->slots);
    sqlite3_randomness(sizeof sums->seed, &sums->seed);
    return sums->slots || ak_store_fault(store, "out of memory");
}

static void close_sums(struct sums *sums) {
    sqlite3_finalize(sums->put);
    free(sums->slots);
    free(sums->entry);
}

static int compare(const void *a, const void *b, void *of) {
    const struct sums *sums = of;
    const int64_t *x = sums->entry + *(const uint32_t *)a * sums->width;
    const int64_t *y = sums->entry + *(const uint32_t *)b * sums->width;
    for (int i = 0; i <= sums->groups; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int put(struct sums *sums, const int64_t *entry) {
    int64_t nulls = entry[sums->groups];
    int code = SQLITE_OK;
    for (int i = 0; i < sums->groups && code == SQLITE_OK; i++)
        code = nulls >> i & 1 ? sqlite3_bind_null(sums->put, i + 1)
                              : sqlite3_bind_int64(sums->put, i + 1, entry[i]);
    for (int i = 0; i < sums->summed && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(sums->put, sums->groups + i + 1, entry[sums->groups + 1 + i]);
    if (code == SQLITE_OK)
        code = ak_statement_finish(sums->put);
    sqlite3_reset(sums->put);
    return code;
}

/* Runs the statement for each group, in the order of an index on them. */
static bool put_away(struct sums *sums, struct ak_store *store) {
    size_t n = sums->slots->n;
    uint32_t *order = malloc(sizeof *order * (n + 1));
    bool whole = order || ak_store_fault(store, "out of memory");
    for (size_t i = 0; i < n && whole; i++)
        order[i] = (uint32_t)i;
    if (whole)
        qsort_r(order, n, sizeof *order, compare, sums);
    for (size_t i = 0; i < n && whole; i++)
        whole =
            put(sums, sums->entry + order[i] * sums->width) == SQLITE_DONE || ak_store_failed(store, "--sum");
    free(order);
    return whole;
}

/* A column's whole number; 0 for NULL. As in a STRICT table, a real number has to be a whole one. */
static bool whole_number(sqlite3_stmt *rows, int column, int64_t *value) {
    int type = sqlite3_column_type(rows, column);
    *value = sqlite3_column_int64(rows, column);
    return type == SQLITE_INTEGER || type == SQLITE_NULL ||
           (type == SQLITE_FLOAT && (double)*value == sqlite3_column_double(rows, column));
}

/* The entry of the group, with sums of 0 where it is new. NULL: no memory. */
static int64_t *entry_of(struct sums *sums, const int64_t *group) {
    struct group what = {sums, group};
    size_t bytes = sizeof *group * ((size_t)sums->groups + 1);
    uint64_t hash = ak_fingerprint(sums->seed, (const char *)group, bytes);
    struct ak_slot *slot = ak_slots_find(sums->slots, hash, same, &what);
    if (!slot->used) {
        size_t n = sums->slots->n;
        if (n == sums->room) {
            size_t room = n ? n * 2 : 1024;
            int64_t *grown = realloc(sums->entry, room * sums->width * sizeof *grown);
            if (!grown)
                return NULL;
            sums->entry = grown;
            sums->room = room;
        }
        *slot = (struct ak_slot){.hash = hash, .at = n, .used = true};
        sums->slots->n++;
        memset(sums->entry + n * sums->width, 0, sums->width * sizeof *sums->entry);
        memcpy(sums->entry + n * sums->width, group, bytes);
    }
    return sums->entry + slot->at * sums->width;
}

static bool add(struct sums *sums, struct ak_store *store, sqlite3_stmt *rows) {
    int64_t group[MOST_COLUMNS], value;
    if (sqlite3_column_type(rows, sums->first) == SQLITE_NULL)
        return true;
    if (sums->slots->n == AK_SLOTS_MOST) {
        if (!put_away(sums, store))
            return false;
        memset(sums->slots, 0, sizeof *sums->slots);
    }
    group[sums->groups] = 0;
    for (int i = 0; i < sums->groups; i++) {
        if (!whole_number(rows, sums->first + i, &group[i]))
            return ak_store_fault(store, "--sum-rows: a column is no whole number");
        if (sqlite3_column_type(rows, sums->first + i) == SQLITE_NULL)
            group[sums->groups] |= (int64_t)1 << i;
    }
    int64_t *entry = entry_of(sums, group);
    if (!entry)
        return ak_store_fault(store, "out of memory");
    for (int i = 0; i < sums->summed; i++) {
        int64_t *sum = &entry[sums->groups + 1 + i];
        if (!whole_number(rows, sums->first + sums->groups + i, &value) ||
            __builtin_add_overflow(*sum, value, sum))
            return ak_store_fault(store, "--sum-rows: a sum is no whole number of 64 bits");
    }
    return true;
}

static bool add_rows(struct sums *sums, int n, struct ak_store *store, sqlite3_stmt *rows) {
    int code;
    while ((code = sqlite3_step(rows)) == SQLITE_ROW)
        for (int i = 0; i < n; i++)
            if (!add(&sums[i], store, rows))
                return false;
    return code == SQLITE_DONE || ak_store_failed(store, "--sum-rows");
}

bool ak_sums_run(struct ak_store *store) {
    const struct ak_store_options *o = store->options;
    struct sums sums[AK_MAX_WORDS] = {0};
    struct ak_numbered numbered = {0};
    sqlite3_stmt *rows = NULL;
    if (!o->sum_rows)
        return true;
    bool whole = ak_numbered_open(&numbered, store);
    if (whole && sqlite3_prepare_v2(store->db, o->sum_rows, -1, &rows, NULL) != SQLITE_OK)
        whole = ak_store_failed(store, "--sum-rows");
    for (int i = 0; i < o->sum.n && whole; i++)
        whole = open_sums(&sums[i], store, o->sum.word[i], sqlite3_column_count(rows));
    whole = whole && add_rows(sums, o->sum.n, store, rows);
    sqlite3_finalize(rows);
    for (int i = 0; i < o->sum.n; i++) {
        whole = whole && put_away(&sums[i], store);
        close_sums(&sums[i]);
    }
    ak_numbered_close(&numbered, store);
    return whole;
}
