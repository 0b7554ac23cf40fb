/* models.c - the models by name. */
#include "workload.h"

const struct sim_model_name sim_models[] = {
    {"fcfs", sim_fcfs, true},
    {"slurm", sim_slurm, false},
    {0},
};
