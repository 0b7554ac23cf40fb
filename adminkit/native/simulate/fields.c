#include "fields.h"

#include <string.h>

/* Times, counts and weights. Sums of a time and of what 2^30 jobs run and wait for are below 2^63. */
#define MOST (INT64_C(1) << 53)

/* least: -1 where SIM_NONE has a meaning. */
#define WIDE(type, name, least, usual)                                                                       \
    { #name, offsetof(struct type, name), true, least, MOST, usual }
#define NARROW(type, name, least, usual)                                                                     \
    { #name, offsetof(struct type, name), false, least, INT32_MAX, usual }
/* A mask, or what is only compared. */
#define ANY(type, name, usual)                                                                               \
    { #name, offsetof(struct type, name), true, INT64_MIN, INT64_MAX, usual }
#define SET(name, least, usual) WIDE(sim_settings, name, least, usual)
/* A rate times a run of 2^31 s stays below 2^63. */
#define CURVE(i, gpus)                                                                                       \
    {"rate" #gpus, offsetof(struct sim_curve, rate[i]), false, 0, 1 << 30, 0}, {                             \
        "watts" #gpus, offsetof(struct sim_curve, watts[i]), false, 0, INT32_MAX, 0                          \
    }
#define JOB(name, least, usual) NARROW(sim_job, name, least, usual)

/* Slurm's own defaults, but for `release` and `test_micros`, which have none. */
const struct sim_field sim_set_fields[] = {
    SET(procs, 1, SIM_NONE),
    SET(order, 0, SIM_BY_SUBMIT),
    SET(depth, SIM_NONE, SIM_NONE),
    SET(promises, 0, 0),
    SET(release, 2205, 2605),
    SET(default_queue_depth, 0, 100),
    SET(partition_job_depth, 0, 0),
    SET(sched_interval, 1, 60),
    SET(sched_min_interval, 0, 2),
    SET(batch_sched_delay, 0, 3),
    SET(backfill, 0, 1),
    SET(bf_interval, 1, 30),
    SET(bf_window, 60, 86400),
    SET(bf_resolution, 1, 60),
    SET(bf_max_job_test, 1, 500),
    SET(bf_max_job_start, 0, 0),
    SET(bf_max_job_user, 0, 0),
    SET(bf_max_job_part, 0, 0),
    SET(bf_max_job_array_resv, 0, 20),
    SET(bf_max_time, SIM_NONE, SIM_NONE),
    SET(bf_continue, 0, 0),
    SET(bf_min_prio_reserve, 0, 0),
    SET(bf_min_age_reserve, 0, 0),
    SET(bf_job_part_count_reserve, 0, 0),
    SET(bf_one_resv_per_job, 0, 0),
    SET(bf_window_linear, 0, 0),
    SET(bf_yield_interval, 1, 2000000),
    SET(bf_yield_sleep, 1, 500000),
    SET(time_min_as_soft_limit, 0, 0),
    SET(kill_wait, 0, 30),
    SET(complete_wait, 0, 0),
    SET(epilog, 0, 0),
    SET(over_time_limit, 0, 0),
    SET(tick, 1, 30),
    SET(priority_calc_period, 1, 300),
    SET(priority_max_age, 1, 604800),
    SET(priority_favor_small, 0, 0),
    SET(priority_weight_age, 0, 0),
    SET(priority_weight_job_size, 0, 0),
    SET(priority_weight_partition, 0, 0),
    SET(priority_weight_qos, 0, 0),
    SET(test_micros, 0, 0),
    SET(extend_every, 0, 0),
    SET(extend_lead, 0, 600),
    SET(extend_times, 0, 8),
    SET(policy, 0, 0),
    SET(restart, 0, 0),
    SET(hold, 1, 1),
    SET(look, 1, 1),
    SET(efficiency, 0, 0),
    SET(idle_watts, 0, 0),
    SET(sleep_watts, 0, 0),
    SET(sleep_after, SIM_NONE, SIM_NONE),
    {0},
};

const struct sim_field sim_queue_fields[] = {
    WIDE(sim_queue, tier, 0, 1),
    WIDE(sim_queue, factor, 0, 1),
    WIDE(sim_queue, max_limit, SIM_NONE, SIM_NONE),
    WIDE(sim_queue, default_limit, SIM_NONE, SIM_NONE),
    WIDE(sim_queue, min_nodes, SIM_NONE, SIM_NONE),
    WIDE(sim_queue, max_nodes, SIM_NONE, SIM_NONE),
    WIDE(sim_queue, whole, 0, 0),
    WIDE(sim_queue, up, 0, 1),
    {0},
};

const struct sim_field sim_nodes_fields[] = {
    WIDE(sim_nodes, count, 0, 1),
    WIDE(sim_nodes, cpus, 1, 1),
    WIDE(sim_nodes, mem, 0, 0),
    WIDE(sim_nodes, gpus, 0, 0),
    WIDE(sim_nodes, gpu_type, SIM_NONE, SIM_NONE),
    ANY(sim_nodes, features, 0),
    ANY(sim_nodes, queues, 1),
    WIDE(sim_nodes, weight, 0, 1),
    {0},
};

const struct sim_field sim_down_fields[] = {
    WIDE(sim_down, nodes, 0, 0),
    WIDE(sim_down, count, 0, 1),
    WIDE(sim_down, start, -MOST, 0),
    WIDE(sim_down, end, -MOST, 0),
    {0},
};

const struct sim_field sim_qos_fields[] = {
    WIDE(sim_qos, priority, 0, 0),
    WIDE(sim_qos, max_user_cpus, SIM_NONE, SIM_NONE),
    WIDE(sim_qos, max_user_gpus, SIM_NONE, SIM_NONE),
    WIDE(sim_qos, max_user_jobs, SIM_NONE, SIM_NONE),
    WIDE(sim_qos, group_cpus, SIM_NONE, SIM_NONE),
    WIDE(sim_qos, group_gpus, SIM_NONE, SIM_NONE),
    WIDE(sim_qos, group_jobs, SIM_NONE, SIM_NONE),
    {0},
};

const struct sim_field sim_curve_fields[] = {
    CURVE(0, 1), CURVE(1, 2), CURVE(2, 4), CURVE(3, 8), CURVE(4, 16), CURVE(5, 32), CURVE(6, 64), {0},
};

const struct sim_field sim_job_fields[] = {
    ANY(sim_job, id, SIM_NONE),
    WIDE(sim_job, submit, -MOST, SIM_NONE),
    ANY(sim_job, queues, 1),
    ANY(sim_job, features, 0),
    JOB(run, INT32_MIN, SIM_NONE),
    JOB(limit, SIM_NONE, SIM_NONE),
    JOB(procs, INT32_MIN, SIM_NONE),
    JOB(plan, SIM_NONE, SIM_NONE),
    JOB(priority, SIM_NONE, SIM_NONE),
    JOB(after, SIM_NONE, SIM_NONE),
    JOB(delay, 0, 0),
    JOB(if_killed, 0, 0),
    JOB(resume, SIM_NONE, SIM_NONE),
    JOB(curve, SIM_NONE, SIM_NONE),
    JOB(nodes, 0, 1),
    JOB(most_nodes, SIM_NONE, SIM_NONE),
    JOB(cpus, 0, 1),
    JOB(mem, 0, 0),
    JOB(gpus, 0, 0),
    JOB(gpu_type, SIM_NONE, SIM_NONE),
    JOB(user, SIM_NONE, SIM_NONE),
    JOB(array, SIM_NONE, SIM_NONE),
    JOB(qos, SIM_NONE, SIM_NONE),
    JOB(nice, INT32_MIN, 0),
    JOB(site_factor, INT32_MIN, 0),
    JOB(whole, 0, 0),
    JOB(most_limit, SIM_NONE, SIM_NONE),
    JOB(step, 0, 0),
    {0},
};

const struct sim_field *sim_field_named(const struct sim_field *fields, const char *name) {
    for (; fields->name; fields++)
        if (strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

bool sim_field_put(const struct sim_field *field, void *record, int64_t value) {
    char *at = (char *)record + field->offset;
    if (value < field->least || value > field->most)
        return false;
    if (field->wide)
        *(int64_t *)at = value;
    else
        *(int32_t *)at = (int32_t)value;
    return true;
}

void sim_fields_usual(const struct sim_field *fields, void *record) {
    for (; fields->name; fields++) {
        char *at = (char *)record + fields->offset;
        if (fields->wide)
            *(int64_t *)at = fields->usual;
        else
            *(int32_t *)at = (int32_t)fields->usual;
    }
}
