/* sums.c - sums by group. */
#include "sums.h"
#include "fingerprint.h"
#include "slots.h"
#include "statement.h"

#include <stdlib.h>
#include <string.h>

struct group {
    const struct ak_sums *sums;
    const int64_t *value; /* and which are NULL */
};

static bool same(const void *what, const struct ak_slot *slot) {
    const struct group *group = what;
    return memcmp(group->sums->entry + slot->at * group->sums->width, group->value,
                  sizeof(int64_t) * ((size_t)group->sums->groups + 1)) == 0;
}

bool ak_sums_open(struct ak_sums *sums, struct ak_store *store, const char *sql, int groups, int summed) {
    *sums = (struct ak_sums){.groups = groups, .summed = summed, .width = (size_t)(groups + 1 + summed)};
    if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &sums->put, NULL) != SQLITE_OK)
        return ak_store_failed(store, "--rollup");
    if (sqlite3_bind_parameter_count(sums->put) != groups + summed)
        return ak_store_fault(store, "--rollup: a parameter for each column, no more and no less");
    sums->slots = calloc(1, sizeof *sums->slots);
    sqlite3_randomness(sizeof sums->seed, &sums->seed);
    return sums->slots || ak_store_fault(store, "out of memory");
}

void ak_sums_close(struct ak_sums *sums) {
    sqlite3_finalize(sums->put);
    free(sums->slots);
    free(sums->entry);
}

static int compare(const void *a, const void *b, void *of) {
    const struct ak_sums *sums = of;
    const int64_t *x = sums->entry + *(const uint32_t *)a * sums->width;
    const int64_t *y = sums->entry + *(const uint32_t *)b * sums->width;
    for (int i = 0; i <= sums->groups; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Of a group whose rows were all taken away again nothing is left to say. */
static bool is_nothing(const struct ak_sums *sums, const int64_t *entry) {
    for (int i = 0; i < sums->summed; i++)
        if (entry[sums->groups + 1 + i])
            return false;
    return true;
}

static int put(struct ak_sums *sums, const int64_t *entry) {
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

bool ak_sums_put_away(struct ak_sums *sums, struct ak_store *store) {
    size_t n = sums->slots->n;
    uint32_t *order = malloc(sizeof *order * (n + 1));
    bool whole = order || ak_store_fault(store, "out of memory");
    for (size_t i = 0; i < n && whole; i++)
        order[i] = (uint32_t)i;
    if (whole)
        qsort_r(order, n, sizeof *order, compare, sums);
    for (size_t i = 0; i < n && whole; i++) {
        const int64_t *entry = sums->entry + order[i] * sums->width;
        whole =
            is_nothing(sums, entry) || put(sums, entry) == SQLITE_DONE || ak_store_failed(store, "--rollup");
    }
    free(order);
    return whole;
}

/* The entry of the group, with sums of 0 where it is new. NULL: no memory. */
static int64_t *entry_of(struct ak_sums *sums, const int64_t *group) {
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

bool ak_sums_add(struct ak_sums *sums, struct ak_store *store, const int64_t *group, const int64_t *value,
                 int sign) {
    if (sums->slots->n == AK_SLOTS_MOST) {
        if (!ak_sums_put_away(sums, store))
            return false;
        memset(sums->slots, 0, sizeof *sums->slots);
    }
    int64_t *entry = entry_of(sums, group);
    if (!entry)
        return ak_store_fault(store, "out of memory");
    for (int i = 0; i < sums->summed; i++) {
        int64_t *sum = &entry[sums->groups + 1 + i];
        if (sign < 0 ? __builtin_sub_overflow(*sum, value[i], sum)
                     : __builtin_add_overflow(*sum, value[i], sum))
            return ak_store_fault(store, "--rollup: a sum is no whole number of 64 bits");
    }
    return true;
}
