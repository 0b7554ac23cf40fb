/* record.h - how far the staging of a job is on this node, as text in root's file. Pure. */
#ifndef ADMINKIT_DATA_RECORD_H
#define ADMINKIT_DATA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"
#include "request.h"

#define DA_RECORD_SIZE 256 /* bytes, padded with blanks */

enum da_phase {
    DA_STARTED, /* the helper runs, and the job's folder may not be whole */
    DA_READY,   /* each shard has its name in the job's folder */
    DA_PART,    /* this node's part was copied as far as it can be */
    DA_DONE,    /* so was the rest */
    DA_FAILED   /* the job has no folder here */
};

/* Why something is not here, the worst that was met. */
enum da_why {
    DA_WHOLE,      /* nothing is missing */
    DA_FULL,       /* the cache has no room */
    DA_CHANGED,    /* a shard has another size, or changed while it was read */
    DA_UNREADABLE, /* its user cannot read a shard, or the file system failed */
    DA_WRONG,      /* a shard is not what the index says */
    DA_MOUNT,      /* the folder is on a file system that a user mounted */
    DA_NO_INDEX,   /* the folder has no index that this user can read */
    DA_BAD_INDEX,  /* the index is not one */
    DA_NODE        /* something of the node's: its log says what */
};
#define DA_WHYS (DA_NODE + 1)

struct da_record {
    enum da_phase phase;
    enum da_mode mode;
    enum da_why why;
    char name[DA_NAME_SIZE];     /* of a shard that is not here; "-": none */
    int32_t pid;                 /* the helper's; 0: not known yet */
    int64_t began;               /* epoch seconds */
    uint64_t ms;                 /* that it took so far; of mode first, up to the end of the part */
    uint64_t copied, hit;        /* bytes: read from the shared folder; here already */
    uint32_t shards, here, left; /* of the set; linked here; given up */
};

/* Writes DA_RECORD_SIZE bytes. */
void da_record_print(char *out, const struct da_record *record);

/* False: it is not whole. */
bool da_record_parse(struct da_record *record, const char *text, size_t size);

/* What a job's log says of what is missing, as an end of "adminkit: data: "; false: nothing is. `folder` is
 * the shared one. */
bool da_record_line(const struct da_record *record, const char *folder, bool impatient, char *out,
                    size_t size);

#endif
