/* word.c - see word.h. Pure. */
#include "word.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurmctld.h"

#define WORD_SIZE 128

/* The number after `key` in the word at p[size]; -1: it is not there. */
static int64_t number(const char *p, size_t size, const char *key) {
    const char *found = memmem(p, size, key, strlen(key));
    return found ? strtoll(found + strlen(key), NULL, 10) : -1;
}

/* Whether a word of the comment goes: it is this node's, or an earlier run's. */
static bool is_replaced(const char *p, size_t size, uint32_t node, int64_t run) {
    return size > 7 && strncmp(p, "st1:at=", 7) == 0 &&
           (number(p, size, ",node=") == (int64_t)node || number(p, size, "st1:at=") < run);
}

bool da_word_put(char *out, size_t size, const char *comment, const struct da_record *record, uint32_t node,
                 int64_t run) {
    char word[WORD_SIZE];
    size_t n = 0;
    out[0] = '\0';
    if (record->copied + record->hit == 0 || node >= DA_WORD_NODES || record->began < run)
        return false;
    snprintf(word, sizeof word,
             "st1:at=%" PRId64 ",node=%" PRIu32 ",bytes=%" PRIu64 ",hit=%" PRIu64 ",s=%" PRIu64 ",mode=%s",
             record->began, node, record->copied, record->hit, (record->ms + 999) / 1000,
             da_mode_name(record->mode));
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
    if (added >= 0 && n + (size_t)added < size && n + (size_t)added <= AK_COMMENT_MAX)
        return true;
full:
    out[0] = '\0';
    return false;
}
