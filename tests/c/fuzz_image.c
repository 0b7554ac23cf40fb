/* Any run, through what it adds to the rollups: no number is too large, and what has to hold of an image
 * holds. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#define HOUR 3600
#define DAY 86400

static const char *const words[] = {NULL,     "",       "slurmdbd",  "trusted",  "demo", "text",
                                    "beyond", "finite", "COMPLETED", "REQUEUED", "gq",   "x'; --"};
static const int64_t numbers[] = {
    0,         1,         2,         59,        60,      3600,         86400,
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 24, 253402300799, 253402300800};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A byte picks a word; another one a number of the list, or that eight more bytes are it. */
static void read_run(const uint8_t *data, size_t size, struct ak_run *run) {
    size_t at = 0;
    for (int i = 0; i < AK_RUN_TEXTS && at < size; i++) {
        const char *word = words[data[at++] % COUNT(words)];
        run->text[i] = (struct ak_slice){word, word ? strlen(word) : 0};
    }
    for (int i = 0; i < AK_RUN_NUMBERS && at < size; i++) {
        uint8_t how = data[at++];
        run->number[i].known = how & 1;
        run->number[i].i = numbers[(how >> 1) % COUNT(numbers)];
        if (how & 0x80 && size - at >= sizeof run->number[i].i) {
            memcpy(&run->number[i].i, data + at, sizeof run->number[i].i);
            at += sizeof run->number[i].i;
        }
        if (!run->number[i].known)
            run->number[i].i = 0;
    }
}

static void must(bool holds) {
    if (!holds)
        abort();
}

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
