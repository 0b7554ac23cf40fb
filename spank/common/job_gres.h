/* job_gres.h - what slurmctld has given a job on this node. Blocks as slurmctld.h's calls do. */
#ifndef ADMINKIT_JOB_GRES_H
#define ADMINKIT_JOB_GRES_H

#include <stdbool.h>
#include <stdint.h>

/* What slurmctld has given a running job of a node's GRES, as gres_detail_str has it. */
struct ak_job_gres {
    int error;      /* 0, or Slurm's errno; then nothing else is set */
    int64_t start;  /* epoch seconds */
    uint32_t node;  /* the place of the node in the job's list */
    bool found;     /* the node is known: it is the job's only one, or the job has one of the host's name */
    char text[512]; /* "": none, or a longer text */
};

/* Trap: a step's environment names GPUs too, but it is the user's. */
void ak_job_gres_load(uint32_t job, const char *host, struct ak_job_gres *gres);

#endif
