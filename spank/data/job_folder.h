/* job_folder.h - jobs/JOB of the cache: what the job's programs read.
 *
 * It is root's, with an ACL for the job's user, who may look into it and read, and nothing else: who owned it
 * could take a link out of it, and so keep a copy in use for ever. */
#ifndef ADMINKIT_DATA_JOB_FOLDER_H
#define ADMINKIT_DATA_JOB_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache.h"
#include "index.h"

struct da_folder {
    const struct da_cache *cache;
    int fd;
    const char *shared; /* the folder that symbolic links lead to */
};

/* Makes it, or opens what an earlier step of the job made. 0 or an errno, such as EOPNOTSUPP where the file
 * system has no ACLs. */
int da_folder_open(struct da_folder *folder, const struct da_cache *cache, uint32_t job, uid_t uid,
                   const char *shared);

/* Sees that each shard and the index have a name in it; a copy that is there already stays. 0 or an errno. */
int da_folder_fill(const struct da_folder *folder, const struct da_shard *shards, uint32_t count);

/* Puts the copy in place of the shard's symbolic link, by rename. */
bool da_folder_link(const struct da_shard *shard, void *folder);

#endif
