/* word.c - see word.h. Pure. */
#include "word.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurmctld.h"

#define MIB (1024 * 1024)
#define WORD_SIZE 200

static void print_word(char *out, const struct gu_sums *sums) {
    double seconds = 0, busy = 0;
    int64_t last = 0;
    uint64_t memory = 0, of = 0;
    uint32_t measured = 0;
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct gu_gpu *gpu = &sums->gpu[i];
        seconds += gpu->seconds;
        busy += gpu->busy;
        measured += gpu->seconds > 0;
        memory += gpu->memory;
        of += gpu->of;
        last = gpu->last > last ? gpu->last : last;
    }
    int n = snprintf(out, WORD_SIZE,
                     "gu1:at=%" PRId64 ",to=%" PRId64 ",node=%" PRIu32 ",gpus=%" PRIu32
                     ",s=%.0f,busy=%.0f,used=%" PRIu32,
                     sums->at, sums->to, sums->node, measured, seconds, busy, gu_sums_used(sums));
    if (last)
        n += snprintf(out + n, (size_t)(WORD_SIZE - n), ",last=%" PRId64, last);
    if (of)
        snprintf(out + n, (size_t)(WORD_SIZE - n), ",mem=%" PRIu64 ",of=%" PRIu64, memory / MIB, of / MIB);
}

/* The number after `key` in the word at p[size]; -1: it is not there. */
static int64_t number(const char *p, size_t size, const char *key) {
    const char *found = memmem(p, size, key, strlen(key));
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* Whether a word of the comment goes: it is this node's, or an earlier run's. */
static bool is_replaced(const char *p, size_t size, uint32_t node, int64_t run) {
    return size > 7 && strncmp(p, "gu1:at=", 7) == 0 &&
           (number(p, size, ",node=") == (int64_t)node || number(p, size, "gu1:at=") < run);
}

bool gu_word_put(char *out, size_t size, const char *comment, const struct gu_sums *sums) {
    char word[WORD_SIZE];
    size_t n = 0;
    double seconds = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < sums->count; i++)
        seconds += sums->gpu[i].seconds;
    if (seconds < 1)
        return false;
    print_word(word, sums);
    for (const char *p = comment ? comment : ""; *p;) {
        size_t blanks = strspn(p, " "), length = strcspn(p + blanks, " ");
        bool drop = is_replaced(p + blanks, length, sums->node, sums->run);
        size_t whole = drop ? 0 : blanks + length;
        if (n + whole >= size)
            goto full;
        memcpy(out + n, p, whole);
        n += whole;
        p += blanks + length;
    }
    out[n] = '\0';
    int added = snprintf(out + n, size - n, "%s%s", n ? " " : "", word);
    if (added >= 0 && n + (size_t)added < size && n + (size_t)added <= AK_COMMENT_MAX)
        return true;
full:
    out[0] = '\0';
    return false;
}
