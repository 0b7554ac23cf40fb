/* image.h - what a run adds to the rollups: its key, bins and sums. No I/O. adminkit/trace/rollup.py has the
 * same as SQL, for triggers and the check. Private to the store.
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
    AK_RUN_TEXTS
};
enum ak_run_number {
    AK_RUN_EXIT_CODE,
    AK_RUN_TIME_LIMIT,
    AK_RUN_LIMIT_ORIGINAL,
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
    AK_RUN_NUMBERS
};

/* A text of NULL and a number that is not known are SQL's NULL. */
struct ak_number {
    int64_t i;
    bool known;
};

struct ak_run {
    struct ak_slice text[AK_RUN_TEXTS];
    struct ak_number number[AK_RUN_NUMBERS];
};

/* The parts of a key, texts first, and of these cluster and queue. */
#define AK_KEY_TEXTS 9
#define AK_QUEUE_TEXTS 2
#define AK_KEY_NUMBERS 4
#define AK_BINS 2
#define AK_SUMS 13
#define AK_LEVELS 7

struct ak_image {
    struct ak_slice key_text[AK_KEY_TEXTS];
    struct ak_number key_number[AK_KEY_NUMBERS];
    int64_t month, day; /* of the end: their first second */
    struct ak_number bin[AK_BINS];
    int64_t sum[AK_SUMS];
    bool held; /* has a start and an end that count */
    struct {
        int64_t hour, level[AK_LEVELS];
    } start, end;
};

/* False: the run has not ended, and adds nothing. */
bool ak_image(const struct ak_run *run, struct ak_image *image);

#endif
