/* Any run, through what it adds to the rollups: no number is too large, and what has to hold of an image
 * holds. */
#include "any_run.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ak_run run = {0};
    struct ak_image image;
    read_run(data, size, &run);
    if (ak_image(&run, &image))
        check(&run, &image);
    return 0;
}
