/* sums.h - what was measured of a job's GPUs on one node, as the sampler adds it up and leaves it in a file.
 * Pure, but for the file.
 *
 * The file is for the next sampler of the same run, as each step may bring one, and for the plugin, which
 * makes the word in the job's comment from it (word.h). Only root can look into its
 * folder. */
#ifndef ADMINKIT_GPU_USE_SUMS_H
#define ADMINKIT_GPU_USE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GU_GPUS 64    /* of a node */
#define GU_WINDOW 600 /* s: a GPU that was in use within it counts as used */

struct gu_gpu {
    uint32_t minor;
    double seconds, busy; /* measured; and of these in use, by the mean of the share */
    int64_t last;         /* epoch seconds when it was seen in use last; 0: never */
    uint64_t memory, of;  /* bytes: the most that was in use, and what is there; of = 0: not known */
    double use;           /* of the last reading */
    bool known;           /* the last reading succeeded */
};

struct gu_sums {
    int64_t run;    /* epoch seconds: when the run of the job began; of another run nothing is taken over */
    uint32_t node;  /* the place of the node in the job's list */
    int64_t at, to; /* epoch seconds of the first and the last reading that succeeded; 0: none */
    uint32_t count;
    struct gu_gpu gpu[GU_GPUS];
};

/* A reading of GPU `i` at `now`, epoch seconds, that stands for the `span` seconds before. */
void gu_sums_add(struct gu_sums *sums, uint32_t i, int64_t now, double span, double use);

/* The GPUs in use during the last GU_WINDOW seconds before sums->to. */
uint32_t gu_sums_used(const struct gu_sums *sums);

/* Reads the file; false: it is not there, or not whole. */
bool gu_sums_read(const char *path, struct gu_sums *sums);

/* Writes the file aside and renames it; 0 or an errno. */
int gu_sums_write(const char *path, const struct gu_sums *sums);

/* The GPUs of gres_detail_str, such as "gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:3)", into minor[GU_GPUS]. Returns
 * how many; 0: none, or not all are named. Trap: a shard's GPU is another job's too, so what it does is
 * nobody's. */
uint32_t gu_gres_gpus(const char *detail, uint32_t *minor);

#endif
