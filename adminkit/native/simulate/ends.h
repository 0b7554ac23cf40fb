/* ends.h - what happens to running jobs, in the order of time. Private to the models. */
#ifndef ADMINKIT_ENDS_H
#define ADMINKIT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job outlives its plan or ends. At the same time those who outlive come first; then the order of starts
 * counts. */
struct sim_end {
    int64_t time;
    uint32_t order; /* of its start; with SIM_ENDS where it ends */
    int32_t place;
};
#define SIM_ENDS (UINT32_C(1) << 31)

struct sim_ends {
    struct sim_end *heap;
    size_t used, size;
};

void sim_ends_free(struct sim_ends *ends);
/* False: no memory. */
bool sim_ends_add(struct sim_ends *ends, struct sim_end end);
/* Takes the first of at least one. */
struct sim_end sim_ends_take(struct sim_ends *ends);

/* The next one is that of a job that outlives its plan at `now`. */
static inline bool sim_ends_outlives(const struct sim_ends *ends, int64_t now) {
    return ends->used && ends->heap[0].time == now && !(ends->heap[0].order & SIM_ENDS);
}

#endif
