/* ends.c - a binary heap. */
#include "ends.h"

#include <stdlib.h>

static inline bool before(struct sim_end a, struct sim_end b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
}

void sim_ends_free(struct sim_ends *ends) {
    free(ends->heap);
    *ends = (struct sim_ends){0};
}

bool sim_ends_add(struct sim_ends *ends, struct sim_end end) {
    if (ends->used == ends->size) {
        size_t more = ends->size ? 2 * ends->size : 256;
        struct sim_end *grown = realloc(ends->heap, more * sizeof *grown);
        if (!grown)
            return false;
        ends->heap = grown;
        ends->size = more;
    }
    size_t at = ends->used++;
    for (; at && before(end, ends->heap[(at - 1) / 2]); at = (at - 1) / 2)
        ends->heap[at] = ends->heap[(at - 1) / 2];
    ends->heap[at] = end;
    return true;
}

struct sim_end sim_ends_take(struct sim_ends *ends) {
    const struct sim_end first = ends->heap[0], last = ends->heap[--ends->used];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < ends->used; at = child) {
        if (child + 1 < ends->used && before(ends->heap[child + 1], ends->heap[child]))
            child++;
        if (!before(ends->heap[child], last))
            break;
        ends->heap[at] = ends->heap[child];
    }
    ends->heap[at] = last;
    return first;
}
