/* slots.h - a hash table of places in an array of the caller's. */
#ifndef ADMINKIT_SLOTS_H
#define ADMINKIT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AK_SLOTS_MOST (1u << 17) /* entries; then the caller puts them away and clears the table */

struct ak_slot {
    uint64_t hash;
    size_t at;    /* the caller's */
    int64_t data; /* the caller's */
    bool used;
};

struct ak_slots {
    size_t n;
    struct ak_slot slot[AK_SLOTS_MOST * 2];
};

/* Whether the entry of a slot is the one that `what` describes. */
typedef bool ak_same(const void *what, const struct ak_slot *slot);

/* The slot of `hash` that `same` takes for `what`, or the free one where it belongs: then set its fields and
 * count it in `n`, unless that is AK_SLOTS_MOST. */
static inline struct ak_slot *ak_slots_find(struct ak_slots *slots, uint64_t hash, ak_same *same,
                                            const void *what) {
    size_t mask = AK_SLOTS_MOST * 2 - 1;
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
        struct ak_slot *slot = &slots->slot[place];
        if (!slot->used || (slot->hash == hash && same(what, slot)))
            return slot;
    }
}

#endif
