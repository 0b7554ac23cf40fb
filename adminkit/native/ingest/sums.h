/* sums.h - sums by group, made in memory and given to a statement at the end. Private to the store. */
#ifndef ADMINKIT_SUMS_H
#define ADMINKIT_SUMS_H

#include "store.h"

#define AK_MOST_GROUPS 8 /* numbers that make a group, NULLs marked in one more */

/* An entry is its group's values, a bit for each that is NULL, and its sums. */
struct ak_sums {
    int groups, summed;
    size_t width; /* of an entry */
    sqlite3_stmt *put;
    struct ak_slots *slots;
    int64_t *entry;
    size_t room; /* entries */
    uint64_t seed;
};

/* `sql` is run for each group in the end, with its values and its sums. False: store->error. ak_sums_close()
 * is due in both cases. */
bool ak_sums_open(struct ak_sums *sums, struct ak_store *store, const char *sql, int groups, int summed);

/* Adds `sign` times each value to the sums of a group; `group` has one number more, the bits. False: as
 * above.
 */
bool ak_sums_add(struct ak_sums *sums, struct ak_store *store, const int64_t *group, const int64_t *value,
                 int sign);

/* Runs the statement for each group, in the order of an index on them. Nothing may be added afterwards. */
bool ak_sums_put_away(struct ak_sums *sums, struct ak_store *store);

void ak_sums_close(struct ak_sums *sums);

#endif
