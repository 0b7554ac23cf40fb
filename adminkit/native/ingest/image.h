/* image.h - what a run adds to the rollups: its month, key, sums and bins. No I/O.
 * adminkit/trace/rollup_row.py has the same as SQL, for triggers and the check. Private to the store.
 */
#ifndef ADMINKIT_IMAGE_H
#define ADMINKIT_IMAGE_H

#include "sacct.h"

/* The columns of job that count, in the order in which they are given: texts first. */
enum ak_run_text {
    AK_RUN_CLUSTER,
    AK_RUN_QUEUE,
    AK_RUN_USER,
    AK_RUN_ACCOUNT,
    AK_RUN_STATE,
    AK_RUN_LIMIT_KIND,
    AK_RUN_LIMIT_SOURCE,
    AK_RUN_SOURCE,
    AK_RUN_AUDITED,
    AK_RUN_REASON,
    AK_RUN_TEXTS
};
enum ak_run_number {
    AK_RUN_EXIT_CODE,
    AK_RUN_TIME_LIMIT,
    AK_RUN_LIMIT_ORIGINAL,
    AK_RUN_EXT_ASKED,
    AK_RUN_EXT_LIMIT,
    AK_RUN_EXT_TIMES,
    AK_RUN_RESTARTS,
    AK_RUN_CKPT_REQUEUES,
    AK_RUN_CKPT_HEARD,
    AK_RUN_START,
    AK_RUN_ELIGIBLE,
    AK_RUN_END,
    AK_RUN_ELAPSED,
    AK_RUN_NODES,
    AK_RUN_CPUS,
    AK_RUN_GPUS,
    AK_RUN_REQ_NODES,
    AK_RUN_REQ_CPUS,
    AK_RUN_REQ_GPUS,
    AK_RUN_NODE_LIST, /* 1: it is known */
    AK_RUN_NUMBERS
};

#define AK_LAST 253402300799  /* 9999-12-31T23:59:59Z, the last second that has a month */
#define AK_TOO_LONG INT32_MAX /* seconds: longer durations are nonsense */
#define AK_MOST (1 << 24)     /* nodes, CPUs or GPUs of one run */

/* In the order of the columns. */
enum ak_size { AK_NODES, AK_CPUS, AK_GPUS, AK_SIZES };

/* A text of NULL and a number that is not known are SQL's NULL. */
struct ak_number {
    int64_t i;
    bool known;
};

struct ak_run {
    struct ak_slice text[AK_RUN_TEXTS];
    struct ak_number number[AK_RUN_NUMBERS];
};

/* How large a run was, or as large as was asked for. */
struct ak_number ak_size_of(const struct ak_run *run, enum ak_size size);

/* The most that was ever asked for, seconds; what adminkit gave a running job was not. */
struct ak_number ak_req_limit(const struct ak_run *run);

/* The first second of a time's month; of its day before 1970 and after AK_LAST. */
int64_t ak_month_of(int64_t time);

/* Which bin of elapsed time has these seconds, from 0 to AK_TOO_LONG - 1. */
int ak_bin_of(int64_t seconds);

/* Its class; NULL where its GPUs are unknown. */
struct ak_slice ak_class_of(const struct ak_run *run);

/* The parts of a key, texts first; everybody's key has no user and no account. */
#define AK_KEY_TEXTS 9
#define AK_KEY_NUMBERS 5
#define AK_SUMS 13
/* Counts of runs: by bin of elapsed, by bin of accuracy, by day of the month. */
#define AK_ELAPSED_BINS 29
#define AK_ACCURACY_BINS 22
#define AK_EVERYBODYS (AK_ELAPSED_BINS + AK_ACCURACY_BINS)
#define AK_RUN_COUNTS (AK_EVERYBODYS + 31)
#define AK_BINS 3

struct ak_image {
    struct ak_slice key_text[AK_KEY_TEXTS];
    struct ak_number key_number[AK_KEY_NUMBERS];
    int64_t month; /* of the end: its first second */
    int64_t sum[AK_SUMS];
    int bin[AK_BINS]; /* which of AK_RUN_COUNTS count the run; -1 for one that is unknown */
};

/* False: the run has not ended, and adds nothing. */
bool ak_image(const struct ak_run *run, struct ak_image *image);

#endif
