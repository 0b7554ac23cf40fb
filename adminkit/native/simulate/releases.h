/* releases.h - how many processors running jobs are planned to release, and when. Private to the models. */
#ifndef ADMINKIT_RELEASES_H
#define ADMINKIT_RELEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_release_block;

struct sim_releases {
    struct sim_release_block **block; /* in the order of time */
    int64_t *last;                    /* the last time of each block */
    size_t blocks, size;
};

/* The first time at which enough is released. */
struct sim_shadow {
    int64_t time;
    int64_t before; /* processors released earlier than that */
    int64_t until;  /* and with those of that time */
};

void sim_releases_free(struct sim_releases *releases);
/* Adds `procs`, which may be below 0 to take back. False: no memory. */
bool sim_releases_add(struct sim_releases *releases, int64_t time, int64_t procs);
/* Takes out what is released until `now`: how many processors. */
int64_t sim_releases_due(struct sim_releases *releases, int64_t now);
/* When `procs` are released; time INT64_MAX: never. */
struct sim_shadow sim_releases_shadow(const struct sim_releases *releases, int64_t procs);

#endif
