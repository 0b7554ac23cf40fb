/* waiting.c - a tree of minima over ranks, 16 to a group. */
#include "waiting.h"

#include <stdlib.h>

#define WIDTH 16
#define SHIFT 4

bool sim_waiting_new(struct sim_waiting *waiting, int32_t ranks) {
    *waiting = (struct sim_waiting){0};
    for (int64_t size = ranks > 0 ? ranks : 1;; size = (size + WIDTH - 1) / WIDTH) {
        int64_t padded = (size + WIDTH - 1) / WIDTH * WIDTH;
        int32_t *place = malloc(2 * (size_t)padded * sizeof *place);
        if (!place) {
            sim_waiting_free(waiting);
            return false;
        }
        for (int64_t i = 0; i < 2 * padded; i++)
            place[i] = INT32_MAX;
        waiting->size[waiting->levels] = (int32_t)size;
        waiting->procs[waiting->levels] = place;
        waiting->plan[waiting->levels++] = place + padded;
        if (size == 1)
            return true;
    }
}

void sim_waiting_free(struct sim_waiting *waiting) {
    for (int32_t level = 0; level < waiting->levels; level++)
        free(waiting->procs[level]);
    *waiting = (struct sim_waiting){0};
}

void sim_waiting_add(struct sim_waiting *waiting, int32_t rank, int32_t procs, int32_t plan) {
    waiting->procs[0][rank] = procs;
    waiting->plan[0][rank] = plan;
    for (int32_t level = 1; level < waiting->levels; level++) {
        rank >>= SHIFT;
        int32_t *least_procs = &waiting->procs[level][rank], *least_plan = &waiting->plan[level][rank];
        if (*least_procs <= procs && *least_plan <= plan)
            return;
        if (procs < *least_procs)
            *least_procs = procs;
        if (plan < *least_plan)
            *least_plan = plan;
    }
}

static inline int32_t least(const int32_t *group) {
    int32_t found = group[0];
    for (int i = 1; i < WIDTH; i++)
        found = group[i] < found ? group[i] : found;
    return found;
}

void sim_waiting_remove(struct sim_waiting *waiting, int32_t rank) {
    int32_t was_procs = waiting->procs[0][rank], was_plan = waiting->plan[0][rank];
    waiting->procs[0][rank] = INT32_MAX;
    waiting->plan[0][rank] = INT32_MAX;
    for (int32_t level = 1; level < waiting->levels; level++) {
        rank >>= SHIFT;
        int32_t *procs = &waiting->procs[level][rank], *plan = &waiting->plan[level][rank];
        const bool counts = was_procs == *procs, plan_counts = was_plan == *plan;
        if (!counts && !plan_counts)
            return;
        was_procs = *procs;
        was_plan = *plan;
        if (counts)
            *procs = least(waiting->procs[level - 1] + ((int64_t)rank << SHIFT));
        if (plan_counts)
            *plan = least(waiting->plan[level - 1] + ((int64_t)rank << SHIFT));
        if (*procs == was_procs && *plan == was_plan)
            return;
    }
}

static inline bool fits(const struct sim_waiting *waiting, int32_t level, int32_t at, struct sim_room room) {
    const int32_t procs = waiting->procs[level][at];
    return procs <= room.procs && (procs <= room.extra || waiting->plan[level][at] <= room.window);
}

/* Goes right along a group, up at its end, and down where a group's minima fit. No single job of a group
 * need have both minima, so the way down may find nobody and continues to the right. */
int32_t sim_waiting_next(const struct sim_waiting *waiting, int32_t rank, struct sim_room room) {
    int32_t level = 0, at = rank;
    if (!fits(waiting, waiting->levels - 1, 0, room))
        return -1;
    while (at < waiting->size[level]) {
        const int32_t stop = (at | (WIDTH - 1)) + 1; /* the arrays are padded to it */
        while (at < stop && !fits(waiting, level, at, room))
            at++;
        if (at == stop) {
            if (++level == waiting->levels)
                return -1;
            at >>= SHIFT;
        } else if (level == 0) {
            return at;
        } else {
            level--;
            at <<= SHIFT;
        }
    }
    return -1;
}

int32_t sim_waiting_first(const struct sim_waiting *waiting, int32_t rank) {
    return sim_waiting_next(waiting, rank, (struct sim_room){INT32_MAX - 1, INT32_MAX - 1, 0});
}
