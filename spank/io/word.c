/* word.c - see word.h. Pure. */
#include "word.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurmctld.h"

#define WORD_SIZE 200

static void print_word(char *out, uint32_t node, const struct io_sums *sums) {
    const char *most = io_sums_most(sums);
    int n = snprintf(out, WORD_SIZE,
                     "io1:at=%" PRId64 ",to=%" PRId64 ",node=%" PRIu32 ",n=%" PRIu64 ",wait=%" PRIu64
                     ",only=%" PRIu64 ",full=%" PRIu64,
                     sums->at, sums->to, node, sums->n, sums->wait, sums->only, sums->full);
    if (*most && n > 0 && n < WORD_SIZE)
        snprintf(out + n, (size_t)(WORD_SIZE - n), ",fs=%s", most);
}

/* The number after `key` in the word at p[size]; -1: it is not there. */
static int64_t number(const char *p, size_t size, const char *key) {
    const char *found = memmem(p, size, key, strlen(key));
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* Whether a word of the comment goes: it is this node's, or an earlier run's. */
static bool is_replaced(const char *p, size_t size, uint32_t node, int64_t run) {
    return size > 7 && strncmp(p, "io1:at=", 7) == 0 &&
           (number(p, size, ",node=") == (int64_t)node || number(p, size, "io1:at=") < run);
}

bool io_word_put(char *out, size_t size, const char *comment, uint32_t node, int64_t run,
                 const struct io_sums *sums) {
    char word[WORD_SIZE];
    size_t n = 0;
    out[0] = '\0';
    if (!sums->n)
        return false;
    print_word(word, node, sums);
    for (const char *p = comment ? comment : ""; *p;) {
        size_t blanks = strspn(p, " "), length = strcspn(p + blanks, " ");
        size_t whole = is_replaced(p + blanks, length, node, run) ? 0 : blanks + length;
        if (n + whole >= size)
            goto full;
        memcpy(out + n, p, whole);
        n += whole;
        p += blanks + length;
    }
    out[n] = '\0';
    int added = snprintf(out + n, size - n, "%s%s", n ? " " : "", word);
    if (added >= 0 && n + (size_t)added < size && n + (size_t)added <= AK_COMMENT_MAX - IO_WORD_LEAVES)
        return true;
full:
    out[0] = '\0';
    return false;
}
