/* waiting.h - the jobs that wait, by rank, and a quick search for one that can start. Private to the models.
 *
 * A rank is a job's place in an order that never changes. The tree keeps the least size and the least plan of
 * each group of ranks, so whole groups that cannot start are passed over. */
#ifndef ADMINKIT_WAITING_H
#define ADMINKIT_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_WAITING_LEVELS 9 /* 16^8 ranks are more than an int32_t has */

struct sim_waiting {
    int32_t levels;
    int32_t size[SIM_WAITING_LEVELS];
    int32_t *procs[SIM_WAITING_LEVELS], *plan[SIM_WAITING_LEVELS]; /* INT32_MAX: nobody waits */
};

/* What a job may take: it fits `procs`, and it plans at most `window` seconds or fits `extra`. */
struct sim_room {
    int32_t procs, extra;
    int64_t window;
};

/* An empty set for `ranks` ranks. False: no memory. sim_waiting_free takes a zeroed one, too. */
bool sim_waiting_new(struct sim_waiting *waiting, int32_t ranks);
void sim_waiting_free(struct sim_waiting *waiting);

/* `procs` and `plan` are below INT32_MAX. */
void sim_waiting_add(struct sim_waiting *waiting, int32_t rank, int32_t procs, int32_t plan);
void sim_waiting_remove(struct sim_waiting *waiting, int32_t rank);
/* The first from `rank` on that fits the room; -1: none. */
int32_t sim_waiting_next(const struct sim_waiting *waiting, int32_t rank, struct sim_room room);
/* The first from `rank` on; -1: none. */
int32_t sim_waiting_first(const struct sim_waiting *waiting, int32_t rank);

/* The fewest processors that a waiting job needs; INT32_MAX: nobody waits. */
static inline int32_t sim_waiting_least(const struct sim_waiting *waiting) {
    return waiting->procs[waiting->levels - 1][0];
}

#endif
