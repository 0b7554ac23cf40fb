/* Any run, through what it adds to the rollups: no number is too large, and what has to hold of an image
 * holds. */
#include "any_run.h"
#include "hours.h"
#include "waits.h"

#define HOUR 3600
#define DAY 86400

static void check(const struct ak_run *run, const struct ak_image *image) {
    const int from[AK_BINS + 1] = {0, AK_ELAPSED_BINS, AK_EVERYBODYS, AK_RUN_COUNTS};
    int64_t end = run->number[AK_RUN_END].i, into;
    if (end > INT64_MIN + DAY) {
        must(image->month <= end && !__builtin_sub_overflow(end, image->month, &into) && into < 31 * DAY);
        must(image->month % DAY == 0 && image->bin[2] == AK_EVERYBODYS + into / DAY);
    }
    must(image->sum[0] == 1);
    for (int i = 1; i < AK_SUMS; i++)
        must(i == 3 || image->sum[i] >= 0);
    for (int i = 0; i < AK_BINS; i++)
        must(image->bin[i] == -1 || (image->bin[i] >= from[i] && image->bin[i] < from[i + 1]));
}

/* A run is in use from its start to its end: what it adds there it takes away here. */
static void check_hours(const struct ak_run *run, const struct ak_hours *hours) {
    int64_t start = run->number[AK_RUN_START].i, end = run->number[AK_RUN_END].i;
    must(hours->hour[0] <= start && start < hours->hour[0] + HOUR);
    must(hours->hour[1] < end + (end == start) && end <= hours->hour[1] + HOUR);
    for (int i = 8; i < AK_HOURS_SUMS; i += 2) {
        const int64_t *first = hours->sum[0], *last = hours->sum[1];
        must(first[i] >= 0 && first[i] == -last[i]);
        int64_t from = first[i] * hours->hour[0] + first[i + 1], to = last[i] * hours->hour[1] + last[i + 1];
        must(from + to == -first[i] * (end - start));
    }
    must(hours->sum[0][0] == 1 && hours->sum[1][1] == 1 && hours->sum[0][1] == 0 && hours->sum[1][0] == 0);
}

/* What is left out says so and nothing else; what counts has a bin that holds its wait. */
static void check_waits(const struct ak_run *run, const struct ak_waits *waits) {
    const int64_t most[AK_WAITS_NUMBERS] = {12, 12, 12, 10, 7, 1, 2};
    int64_t start = run->number[AK_RUN_START].i;
    bool counts = waits->number[AK_WAITS_LEFT_OUT] == 0;
    for (int i = 0; i < AK_WAITS_NUMBERS; i++)
        must(waits->number[i] >= 0 && waits->number[i] <= most[i]);
    for (int i = 0; i < AK_WAITS_LEFT_OUT; i++)
        must(counts || waits->number[i] == 0);
    must(waits->number[AK_WAITS_GPUS] == 0 || waits->number[AK_WAITS_CPUS] == 0);
    must(run->number[AK_RUN_START].known ? start < INT64_MIN + DAY || waits->month <= start
                                         : waits->month == -1 && !counts);
    must(waits->sum[0] == 1 && waits->sum[1] >= 0 && waits->sum[1] <= AK_TOO_LONG);
    must(waits->sum[2] == 0 || (waits->sum[2] == 1 && waits->sum[1] == 0));
    must(counts ? waits->bin >= 0 && waits->bin < AK_ELAPSED_BINS : waits->bin == -1 && waits->sum[1] == 0);
    must((waits->bin == 0) == (counts && waits->sum[1] == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ak_run run = {0};
    struct ak_image image;
    struct ak_hours hours;
    struct ak_waits waits;
    read_run(data, size, &run);
    if (ak_image(&run, &image))
        check(&run, &image);
    if (ak_hours(&run, &hours))
        check_hours(&run, &hours);
    if (ak_waits(&run, &waits))
        check_waits(&run, &waits);
    return 0;
}
