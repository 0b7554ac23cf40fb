/* Any run, through what it adds to the rollups: no number is too large, and what has to hold of an image
 * holds. */
#include "any_run.h"

#define HOUR 3600
#define DAY 86400

static void check(const struct ak_run *run, const struct ak_image *image) {
    int64_t end = run->number[AK_RUN_END].i;
    if (end > INT64_MIN + DAY) {
        must(image->day <= end && end - image->day < DAY && image->day % DAY == 0);
        must(image->month <= image->day && image->day - image->month < 31 * DAY);
    }
    must(image->sum[0] == 1);
    for (int i = 1; i < AK_SUMS; i++)
        must(i == 3 || image->sum[i] >= 0);
    for (int i = 0; i < AK_BINS; i++)
        must(!image->bin[i].known || image->bin[i].i >= 0);
    if (image->held)
        for (int i = 0; i < 3; i++) /* what a run takes it gives back, and its seconds are those between */
            must(image->start.level[i] == -image->end.level[i] && image->start.level[3 + i] >= 0 &&
                 image->end.level[3 + i] <= 0 && image->start.hour <= image->end.hour &&
                 image->start.level[3 + i] + image->end.level[3 + i] +
                         (image->end.hour - image->start.hour) * image->start.level[i] ==
                     image->start.level[i] * (end - run->number[AK_RUN_START].i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ak_run run = {0};
    struct ak_image image;
    read_run(data, size, &run);
    if (ak_image(&run, &image))
        check(&run, &image);
    return 0;
}
