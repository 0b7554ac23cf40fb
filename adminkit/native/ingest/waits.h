/* waits.h - what a run adds to the rollup by the month of its start. No I/O.
 * adminkit/trace/rollup_waits.py has the same as SQL. Private to the store.
 */
#ifndef ADMINKIT_WAITS_H
#define ADMINKIT_WAITS_H

#include "image.h"

/* The parts of its key: cluster, queue, class; then numbers, of a run that is left out 0 but for the last. */
#define AK_WAITS_TEXTS 3
enum ak_waits_number {
    AK_WAITS_GPUS,
    AK_WAITS_NODES,
    AK_WAITS_CPUS,
    AK_WAITS_LIMIT,
    AK_WAITS_CAUSE,
    AK_WAITS_UNTOLD,
    AK_WAITS_LEFT_OUT,
    AK_WAITS_NUMBERS
};
/* The columns: jobs, seconds, how many below 0; and the counts by bin of AK_ELAPSED_BINS. */
#define AK_WAITS_SUMS 3

struct ak_waits {
    struct ak_slice text[AK_WAITS_TEXTS];
    int64_t number[AK_WAITS_NUMBERS];
    int64_t month; /* of the start: its first second; -1 where there is none */
    int64_t sum[AK_WAITS_SUMS];
    int bin; /* -1: left out */
};

/* False: the run has not ended, and adds nothing. */
bool ak_waits(const struct ak_run *run, struct ak_waits *waits);

#endif
