/* compress.h - earlier reservations after a plan gave up time. Private to the models. */
#ifndef ADMINKIT_SIMULATE_COMPRESS_H
#define ADMINKIT_SIMULATE_COMPRESS_H

#include "bunches.h"
#include "profile.h"

struct sim_compressed {
    int64_t due;   /* no reservation is earlier */
    int64_t ready; /* how many jobs may start now */
    int64_t later; /* the first reservation of the others; INT64_MAX: there is none */
    int64_t moved; /* how many reservations moved so far */
};

/* Gives each job, in the order of the queue, its earliest reservation with all others as they are: never a
 * later one. The profile begins at `now`. False: no memory. */
bool sim_compress(struct sim_profile *profile, struct sim_bunches *bunches, int64_t now,
                  struct sim_compressed *done);

#endif
