/* store.h - the copies: found, made, and removed where room is needed. */
#ifndef ADMINKIT_DATA_STORE_H
#define ADMINKIT_DATA_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"
#include "index.h"
#include "record.h"
#include "source.h"

struct da_store {
    const struct da_cache *cache;
    uint64_t size;      /* as in site.h */
    char part[128];     /* the copy that is being made; "": none */
    uint64_t copied;    /* bytes read from sources, ever */
    void (*look)(void); /* called now and then while a copy is made; it may end the process */
};

enum da_result {
    DA_HIT,    /* it was here, and this user's file is what it was copied from */
    DA_COPIED, /* it is here now */
    DA_BUSY,   /* another job copies it */
    DA_LEFT    /* it is not here: `why` */
};

/* Sees that the shard is in the store and links it, by link(), into the job's folder. `evict`: others'
 * unused copies may go for it. */
enum da_result da_store_get(struct da_store *store, const struct da_shard *shard, int source, bool evict,
                            bool (*link)(const struct da_shard *shard, void *arg), void *arg,
                            enum da_why *why);

#endif
