/* hours.h - what a run adds to the rollup by hour, where it begins and where it ends. No I/O.
 * adminkit/trace/rollup_hours.py has the same as SQL. Private to the store.
 */
#ifndef ADMINKIT_HOURS_H
#define ADMINKIT_HOURS_H

#include "image.h"

/* The parts of its key are texts: cluster, queue, class. */
#define AK_HOURS_PARTS 3
/* The columns, in the order of rollup_hours.SUMS. */
#define AK_HOURS_SUMS 14

struct ak_hours {
    struct ak_slice key[AK_HOURS_PARTS];
    int64_t hour[2]; /* of the start, and of the last second: its first second */
    int64_t sum[2][AK_HOURS_SUMS];
};

/* False: the run has not ended, or did not hold all it had from its start to its end, and adds nothing. */
bool ak_hours(const struct ak_run *run, struct ak_hours *hours);

#endif
