/* room.h - how much the copies may take. */
#ifndef ADMINKIT_DATA_ROOM_H
#define ADMINKIT_DATA_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"

/* Makes the file, a new part, `need` bytes long, with its blocks, so that copies which are made at the same
 * time count it. `size`: as in site.h; `evict`: copies that no job uses go for it, the one that was used
 * longest ago first. A twentieth of the file system stays free. False: there is no room. */
bool da_room_take(const struct da_cache *cache, int part, uint64_t need, uint64_t size, bool evict);

/* Whether `count` symbolic links, with targets of `length` bytes, leave a fortieth of the file system and of
 * its inodes free: half of what copies leave. */
bool da_room_for_links(const struct da_cache *cache, uint64_t count, uint64_t length);

#endif
