/* record.c - see record.h. Pure. */
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FORM                                                                                                 \
    "1 %u %u %u %15s %" PRId32 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32       \
    " %" PRIu32
#define SCAN                                                                                                 \
    "1 %u %u %u %15s %" SCNd32 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32       \
    " %" SCNu32 " %c"

void da_record_print(char *out, const struct da_record *one) {
    char line[DA_RECORD_SIZE];
    int n = snprintf(line, sizeof line, FORM " .", (unsigned)one->phase, (unsigned)one->mode,
                     (unsigned)one->why, one->name[0] ? one->name : "-", one->pid, one->began, one->ms,
                     one->copied, one->hit, one->shards, one->here, one->left);
    memset(out, ' ', DA_RECORD_SIZE);
    memcpy(out, line, (size_t)n); /* the longest is 190 bytes */
    out[DA_RECORD_SIZE - 1] = '\n';
}

bool da_record_parse(struct da_record *one, const char *text, size_t size) {
    char line[DA_RECORD_SIZE], end = 0;
    unsigned phase, mode, why;
    if (size < DA_RECORD_SIZE || text[DA_RECORD_SIZE - 1] != '\n')
        return false;
    memcpy(line, text, sizeof line);
    line[DA_RECORD_SIZE - 1] = '\0';
    memset(one, 0, sizeof *one);
    if (sscanf(line, SCAN, &phase, &mode, &why, one->name, &one->pid, &one->began, &one->ms, &one->copied,
               &one->hit, &one->shards, &one->here, &one->left, &end) != 13 ||
        end != '.' || phase > DA_FAILED || mode > DA_OFF || why >= DA_WHYS)
        return false;
    one->phase = (enum da_phase)phase;
    one->mode = (enum da_mode)mode;
    one->why = (enum da_why)why;
    return true;
}

bool da_record_line(const struct da_record *one, const char *folder, bool impatient, char *out, size_t size) {
    static const char *const WHY[DA_WHYS] = {
        [DA_FULL] = "the cache of the node is full",
        [DA_CHANGED] = "not as long as the index says, or changed while it was read",
        [DA_UNREADABLE] = "it could not be read",
        [DA_WRONG] = "not what the index says: pack the data again",
    };
    static const char *const NOTHING[DA_WHYS] = {
        [DA_MOUNT] = "it is on a file system that a user mounted",
        [DA_NO_INDEX] = "it has no index that you can read; pack it first: adminkit data pack FILES OUT",
        [DA_BAD_INDEX] = "its index is damaged or of another release; pack the data again",
        [DA_NODE] = "this node could not copy it; its administrator finds the reason in slurmd's log",
    };
    if (NOTHING[one->why])
        snprintf(out, size, "%s is read where it is: %s", folder, NOTHING[one->why]);
    else if (one->left > 0)
        snprintf(out, size, "%" PRIu32 " of %" PRIu32 " shards are read from %s, such as %s: %s", one->left,
                 one->shards, folder, one->name, WHY[one->why] ? WHY[one->why] : "they are not here");
    else if (one->phase == DA_FAILED)
        snprintf(out, size, "%s is read where it is: %s", folder,
                 WHY[one->why] ? WHY[one->why] : NOTHING[DA_NODE]);
    else if (impatient)
        snprintf(out, size,
                 "%" PRIu32 " of %" PRIu32 " shards are here; the others are read from %s until they are",
                 one->here, one->shards, folder);
    else
        return false;
    return true;
}
