/* hours.c - what a run adds to the rollup by hour. */
#include "hours.h"

#define HOUR 3600

/* Where the columns of one kind begin. */
enum column { BEGUN, OVER, KNOWN, CHANGES = KNOWN + 2 * AK_SIZES };

/* The sizes in the order of the columns. */
static const enum ak_size order[AK_SIZES] = {AK_GPUS, AK_CPUS, AK_NODES};

static bool is_even(const struct ak_run *run) {
    const struct ak_number *n = run->number;
    int64_t length;
    if (!n[AK_RUN_START].known || !n[AK_RUN_END].known || !n[AK_RUN_ELAPSED].known)
        return false;
    if (n[AK_RUN_START].i <= 0 || n[AK_RUN_END].i > AK_LAST ||
        __builtin_sub_overflow(n[AK_RUN_END].i, n[AK_RUN_START].i, &length))
        return false;
    if (length != n[AK_RUN_ELAPSED].i || length < 0 || length >= AK_TOO_LONG)
        return false;
    for (int i = 0; i < AK_SIZES; i++) {
        struct ak_number size = ak_size_of(run, order[i]);
        if (size.known && (size.i < 0 || size.i > AK_MOST))
            return false;
    }
    return true;
}

/* What changes `passed` seconds after the hour began, where a run begins (`over` 0) or has ended (1). */
static void set_point(const struct ak_run *run, int64_t at, int64_t passed, int over,
                      struct ak_hours *hours) {
    int64_t *sum = hours->sum[over];
    hours->hour[over] = at - at % HOUR;
    sum[BEGUN + over] = 1;
    for (int i = 0; i < AK_SIZES; i++) {
        struct ak_number size = ak_size_of(run, order[i]);
        int64_t change = size.known ? over ? -size.i : size.i : 0;
        sum[KNOWN + 2 * i + over] = size.known;
        sum[CHANGES + 2 * i] = change;
        sum[CHANGES + 2 * i + 1] = change * passed;
    }
}

bool ak_hours(const struct ak_run *run, struct ak_hours *hours) {
    int64_t start = run->number[AK_RUN_START].i, end = run->number[AK_RUN_END].i;
    *hours = (struct ak_hours){0};
    if (!is_even(run))
        return false;
    int64_t last = end > start ? end - 1 : start; /* second; its start where it took no time */
    hours->key[0] = run->text[AK_RUN_CLUSTER];
    hours->key[1] = run->text[AK_RUN_QUEUE];
    hours->key[2] = ak_class_of(run);
    set_point(run, start, start % HOUR, 0, hours);
    set_point(run, last, last % HOUR + end - last, 1, hours);
    return true;
}
