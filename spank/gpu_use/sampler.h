/* sampler.h - the process that reads the GPUs (sampler_main.c), as the plugin starts and ends it. */
#ifndef ADMINKIT_GPU_USE_SAMPLER_H
#define ADMINKIT_GPU_USE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site.h"

#define GU_SAMPLER_END 1000 /* ms, that it has for a last reading */

struct gu_sampler {
    int socket; /* its standard input; -1: none runs */
};

/* What it is to read: sums.h has `run`, `node` and `minor`. */
struct gu_order {
    uint32_t job, node, count;
    int64_t run;
    const uint32_t *minor;
    const char *file;
};

/* 0 or an errno. */
int gu_sampler_start(struct gu_sampler *sampler, const struct gu_site *site, const struct gu_order *order);

/* Whether it runs; where it has ended, `why` is what it said last. */
bool gu_sampler_runs(struct gu_sampler *sampler, char *why, size_t size);

/* Lets it take a last reading, for GU_SAMPLER_END at most. */
void gu_sampler_stop(struct gu_sampler *sampler);

#endif
