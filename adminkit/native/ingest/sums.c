/* sums.c - sums and counts by group. */
#include "sums.h"
#include "fingerprint.h"
#include "slots.h"
#include "statement.h"

#include <stdlib.h>
#include <string.h>

struct group {
    const struct ak_sums *sums;
    const int64_t *value;
};

static int64_t *at(const struct ak_sums *sums, size_t number) {
    return sums->entry + number * sums->width;
}

/* Trap: counts are half a word each, so a batch of 2^31 runs of one group is a fault. */
static int32_t *counts_of(const struct ak_sums *sums, int64_t *entry) {
    return (int32_t *)(entry + AK_SUMS_GROUPS + sums->summed);
}

static bool same(const void *what, const struct ak_slot *slot) {
    const struct group *group = what;
    return memcmp(at(group->sums, slot->at), group->value, sizeof(int64_t) * AK_SUMS_GROUPS) == 0;
}

bool ak_sums_open(struct ak_sums *sums, struct ak_store *store, const char *sql, int summed, int counted) {
    int columns = AK_SUMS_GROUPS + summed + counted;
    *sums = (struct ak_sums){.summed = summed, .counted = counted};
    sums->width = (size_t)(AK_SUMS_GROUPS + summed + (counted + 1) / 2);
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &sums->put, NULL) != SQLITE_OK)
        return ak_store_failed(store, "--rollup");
    if (sqlite3_bind_parameter_count(sums->put) != columns)
        return ak_store_fault(store, "--rollup: needs exactly one parameter for each column");
    sums->slots = calloc(1, sizeof *sums->slots);
    sums->bound = calloc((size_t)columns, sizeof *sums->bound);
    sqlite3_randomness(sizeof sums->seed, &sums->seed);
    if (!sums->slots || !sums->bound)
        return ak_store_fault(store, "out of memory");
    for (int i = 0; i < columns; i++)
        sqlite3_bind_int64(sums->put, i + 1, 0);
    return true;
}

void ak_sums_close(struct ak_sums *sums) {
    sqlite3_finalize(sums->put);
    free(sums->bound);
    free(sums->slots);
    free(sums->entry);
}

bool ak_sums_full(const struct ak_sums *sums) {
    return sums->slots->n == AK_SLOTS_MOST;
}

int64_t ak_sums_key(const struct ak_sums *sums, size_t number) {
    return at(sums, number)[1];
}

/* ---- putting away ---- */

static int compare(const void *a, const void *b, void *of) {
    const int64_t *x = at(of, *(const uint32_t *)a), *y = at(of, *(const uint32_t *)b);
    for (int i = 0; i < AK_SUMS_GROUPS; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Whether all rows of a group were taken away again, so that nothing is left to say. */
static bool is_nothing(const struct ak_sums *sums, const int64_t *entry) {
    for (size_t i = AK_SUMS_GROUPS; i < sums->width; i++)
        if (entry[i])
            return false;
    return true;
}

/* Binding is half of what a row costs, and most counts are 0 in one row as in the next. */
static int bind(struct ak_sums *sums, int place, int64_t value) {
    if (sums->bound[place] == value)
        return SQLITE_OK;
    sums->bound[place] = value;
    return sqlite3_bind_int64(sums->put, place + 1, value);
}

static int put(struct ak_sums *sums, int64_t *entry) {
    int values = AK_SUMS_GROUPS + sums->summed, code = SQLITE_OK;
    for (int i = 0; i < values; i++)
        code |= bind(sums, i, entry[i]);
    for (int i = 0; i < sums->counted; i++)
        code |= bind(sums, values + i, counts_of(sums, entry)[i]);
    if (code == SQLITE_OK)
        code = ak_statement_finish(sums->put);
    sqlite3_reset(sums->put);
    return code;
}

bool ak_sums_put_away(struct ak_sums *sums, struct ak_store *store) {
    size_t n = sums->slots->n;
    uint32_t *order = malloc(sizeof *order * (n + 1));
    bool whole = order || ak_store_fault(store, "out of memory");
    for (size_t i = 0; i < n && whole; i++)
        order[i] = (uint32_t)i;
    if (whole)
        qsort_r(order, n, sizeof *order, compare, sums);
    for (size_t i = 0; i < n && whole; i++) {
        int64_t *entry = at(sums, order[i]);
        whole =
            is_nothing(sums, entry) || put(sums, entry) == SQLITE_DONE || ak_store_failed(store, "--rollup");
    }
    free(order);
    return whole;
}

void ak_sums_forget(struct ak_sums *sums) {
    memset(sums->slots, 0, sizeof *sums->slots);
}

/* ---- adding ---- */

/* The entry of the group, with sums of 0 where it is new. NULL: no memory. */
static int64_t *entry_of(struct ak_sums *sums, const int64_t *group) {
    struct group what = {sums, group};
    size_t bytes = sizeof *group * AK_SUMS_GROUPS;
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
        memset(at(sums, n), 0, sums->width * sizeof *sums->entry);
        memcpy(at(sums, n), group, bytes);
    }
    return at(sums, slot->at);
}

static bool too_large(struct ak_store *store) {
    return ak_store_fault(store, "--rollup: a sum does not fit into 64 bits");
}

bool ak_sums_add(struct ak_sums *sums, struct ak_store *store, const int64_t *group, const int64_t *value,
                 const int *bin, int bins, int sign) {
    int64_t *entry = entry_of(sums, group);
    if (!entry)
        return ak_store_fault(store, "out of memory");
    for (int i = 0; i < sums->summed; i++) {
        int64_t *sum = &entry[AK_SUMS_GROUPS + i];
        if (sign < 0 ? __builtin_sub_overflow(*sum, value[i], sum)
                     : __builtin_add_overflow(*sum, value[i], sum))
            return too_large(store);
    }
    int32_t *count = counts_of(sums, entry);
    for (int i = 0; i < bins; i++)
        if (bin[i] >= 0 && __builtin_add_overflow(count[bin[i]], sign, &count[bin[i]]))
            return too_large(store);
    return true;
}

bool ak_sums_add_entry(struct ak_sums *sums, struct ak_store *store, const struct ak_sums *others,
                       size_t number, int64_t key) {
    int64_t *other = at(others, number), *entry = entry_of(sums, (int64_t[]){other[0], key});
    bool whole = true;
    if (!entry)
        return ak_store_fault(store, "out of memory");
    for (int i = AK_SUMS_GROUPS; i < AK_SUMS_GROUPS + sums->summed; i++)
        whole &= !__builtin_add_overflow(entry[i], other[i], &entry[i]);
    int32_t *count = counts_of(sums, entry), *more = counts_of(others, other);
    for (int i = 0; i < sums->counted; i++)
        whole &= !__builtin_add_overflow(count[i], more[i], &count[i]);
    return whole || too_large(store);
}
