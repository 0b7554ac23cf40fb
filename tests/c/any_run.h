/* any_run.h - for the fuzzers: a run made of any bytes, and what has to hold. */
#ifndef ADMINKIT_ANY_RUN_H
#define ADMINKIT_ANY_RUN_H

#include "image.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {NULL,   "",       "slurmdbd", "trusted",    "demo",
                                    "text", "beyond", "finite",   "COMPLETED",  "REQUEUED",
                                    "gq",   "x'; --", "None",     "MaxPerUser", "unlimited"};
static const int64_t numbers[] = {
    0,         1,         2,         59,        60,      3600,         86400,
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 24, 253402300799, 253402300800};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A byte picks a word; another one a number of the list, or that eight more bytes are it. The bytes taken. */
static inline size_t read_run(const uint8_t *data, size_t size, struct ak_run *run) {
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
    return at;
}

static inline void must(bool holds) {
    if (!holds)
        abort();
}

#endif
