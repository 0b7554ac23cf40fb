/* sums.h - sums by group, made in memory and given to a statement at the end. Private to the store. */
#ifndef ADMINKIT_SUMS_H
#define ADMINKIT_SUMS_H

#include "store.h"

#define AK_SUMS_GROUPS 2 /* numbers that make a group */

/* An entry is its group's numbers, its sums, and its counts, two to a word. */
struct ak_sums {
    int summed, counted;
    size_t width; /* of an entry, words */
    sqlite3_stmt *put;
    int64_t *bound; /* what the statement's parameters hold */
    struct ak_slots *slots;
    int64_t *entry;
    size_t room; /* entries */
    uint64_t seed;
};

/* `sql` is run for each group in the end, with its numbers, its sums and its counts. False: store->error.
 * ak_sums_close() is due in both cases. */
bool ak_sums_open(struct ak_sums *sums, struct ak_store *store, const char *sql, int summed, int counted);

/* Whether there is no room for a further group: ak_sums_forget() makes room. */
bool ak_sums_full(const struct ak_sums *sums);

/* Adds `sign` times each value to the sums of a group, and `sign` to the counts of `bins` of them that are
 * not -1. False: store->error. */
bool ak_sums_add(struct ak_sums *sums, struct ak_store *store, const int64_t *group, const int64_t *value,
                 const int *bin, int bins, int sign);

/* Adds the sums and counts of one group of others', who have the same sums and at least the same counts, to
 * the group of `key`. False: store->error. */
bool ak_sums_add_entry(struct ak_sums *sums, struct ak_store *store, const struct ak_sums *others,
                       size_t number, int64_t key);

/* The second number of a group, of slots->n. */
int64_t ak_sums_key(const struct ak_sums *sums, size_t number);

/* Runs the statement for each group, in the order of an index on them. Before anything is added to them again
 * they have to be forgotten. False: store->error. */
bool ak_sums_put_away(struct ak_sums *sums, struct ak_store *store);

/* There is no group any more. */
void ak_sums_forget(struct ak_sums *sums);

void ak_sums_close(struct ak_sums *sums);

#endif
