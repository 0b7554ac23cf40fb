/* cache.h - root's folder of copies on a node.
 *
 *     lock           flock: held for a moment by whoever links or removes
 *     boot           the boot of the node that the rest is of
 *     store/SHA      a copy, root's, 0444; a link count above 1 says that a job uses it
 *     store/SHA.FILE.part  a copy that is being made from a file of that device and number, under flock
 *     store/SHA.from where copies with that SHA-256 were read (source.h); its time is that of the last use
 *     state/JOB      state.h
 *     jobs/JOB/      what the job sees
 *     gone.*         what is of an earlier boot, until it is removed
 *
 * Only jobs/ can be entered by others than root. */
#ifndef ADMINKIT_DATA_CACHE_H
#define ADMINKIT_DATA_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct da_cache {
    int root, store, state, jobs; /* descriptors */
};

/* Opens it; `make` makes what is missing, and puts aside what is of an earlier boot. 0 or an errno: EPERM
 * where a folder is another user's, or others may write to it. */
int da_cache_open(struct da_cache *cache, const char *path, bool make);
void da_cache_close(struct da_cache *cache);

/* Holds the lock until the descriptor is closed; a negative errno. */
int da_cache_lock(const struct da_cache *cache);

/* Removes jobs/JOB and what is in it. */
void da_cache_remove_job(const struct da_cache *cache, uint32_t job);

/* Removes copies that nobody finishes. */
void da_cache_remove_parts(const struct da_cache *cache);

/* Removes what jobs left whose end nobody saw, and what is of an earlier boot. */
void da_cache_sweep(const struct da_cache *cache);

#endif
