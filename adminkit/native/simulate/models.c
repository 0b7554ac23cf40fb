/* models.c - the models by name. */
#include "workload.h"

const struct sim_model_name sim_models[] = {
    {"fcfs", sim_fcfs, true},
    {"easy", sim_easy, true},
    {"easy-sjbf", sim_easy_sjbf, true},
    {"conservative", sim_conservative, true},
    {"slurm", sim_slurm, false},
    {"elastic", sim_elastic, false},
    {0},
};
