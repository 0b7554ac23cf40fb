/* workload.h - what a run of the simulator is given (settings, a site, jobs) and what it says of each job.
 *
 * docs/simulate-spec.md has the meaning of every name; fields.c has the same names as tables. Times are whole
 * seconds, on one clock of the caller's choice. Every number is a signed 64-bit integer on the wire. */
#ifndef ADMINKIT_WORKLOAD_H
#define ADMINKIT_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NONE (-1)     /* a number that is not known, or a limit that is not there */
#define SIM_MAX_QUEUES 64 /* a job names its queues in one mask */
#define SIM_MESSAGE 256

enum sim_outcome {
    SIM_NOT_RUN, /* it fits the site never, or the run ended before it could start */
    SIM_DONE,    /* it ran as long as it needed */
    SIM_KILLED,  /* it ran to its limit */
    SIM_OUTCOMES
};

/* One job. The first four are every model's, the fifth the plain models', the rest the slurm model's. */
struct sim_job {
    int64_t id;       /* breaks ties of submit, and nothing else */
    int64_t submit;   /* when it is eligible to start */
    int32_t run;      /* what it needs, > 0 */
    int32_t limit;    /* the end is at most start + limit; SIM_NONE: its queue's default; 0: not run */
    int32_t procs;    /* of one pool, > 0 */
    int32_t plan;     /* what backfill plans with; SIM_NONE: limit. For the slurm model it is --time-min */
    int32_t priority; /* SIM_NONE: computed from the factors */
    int32_t after; /* the number of an earlier job: it comes once that one has ended; SIM_NONE: by itself */
    int32_t delay; /* it comes this long after that end, if that is later than its submit */
    int32_t if_killed; /* 1: it comes only if that one was ended at its limit */
    int32_t
        resume; /* with if_killed: it needs what that one still needed, and this many seconds; SIM_NONE: run
                 */
    int32_t curve; /* elastic: the number of its curve; SIM_NONE: its GPUs stay what they are */

    int64_t queues;           /* a bit for each queue that it names */
    int64_t features;         /* a bit for each feature that all its nodes have */
    int32_t nodes;            /* how many at least, > 0 */
    int32_t most_nodes;       /* SIM_NONE: as many as nodes */
    int32_t cpus;             /* of the whole job */
    int32_t mem;              /* MiB on each node */
    int32_t gpus;             /* of the whole job */
    int32_t gpu_type;         /* SIM_NONE: any */
    int32_t user, array, qos; /* numbers of their names; SIM_NONE: none */
    int32_t nice, site_factor;
    int32_t whole;      /* 1: it shares no node */
    int32_t most_limit; /* what its limit may be raised to while it runs; SIM_NONE: it stays */
    int32_t step;       /* by how much at once */

    int64_t start, end; /* out; SIM_NONE where not run */
    int32_t outcome;    /* out, enum sim_outcome */
    int32_t order;      /* out: its place among the starts, from 0; SIM_NONE where not run */
};

/* A queue. SIM_NONE: no such limit. */
struct sim_queue {
    int64_t tier;   /* PriorityTier */
    int64_t factor; /* PriorityJobFactor */
    int64_t max_limit, default_limit;
    int64_t min_nodes, max_nodes;
    int64_t whole; /* OverSubscribe=EXCLUSIVE */
    int64_t up;
};

/* `count` nodes that are alike. */
struct sim_nodes {
    int64_t count;
    int64_t cpus, mem, gpus, gpu_type; /* of one; mem in MiB */
    int64_t features, queues;          /* masks */
    int64_t weight;
};

/* From start to end, `count` nodes of the site's class number `nodes` take no new job. */
struct sim_down {
    int64_t nodes, count, start, end;
};

struct sim_qos {
    int64_t priority;                                    /* 0 to the largest of the site's */
    int64_t max_user_cpus, max_user_gpus, max_user_jobs; /* SIM_NONE: no limit */
    int64_t group_cpus, group_gpus, group_jobs;
};

#define SIM_CURVE_SIZES 7 /* 1, 2, 4 … 64 GPUs */

/* How fast one program is on 2^i GPUs, and what they draw. The unit of a rate is the curve's own. 0: not
 * known. */
struct sim_curve {
    int32_t rate[SIM_CURVE_SIZES];
    int32_t watts[SIM_CURVE_SIZES]; /* milliwatts, of all the GPUs */
};

enum sim_order { SIM_BY_SUBMIT, SIM_BY_NEED, SIM_BY_PRIORITY };

struct sim_settings {
    int64_t procs;    /* of the pool of the plain models */
    int64_t order;    /* enum sim_order: of the plain models' queue */
    int64_t depth;    /* conservative: how many waiting jobs have a reservation; SIM_NONE: all */
    int64_t promises; /* easy, easy-sjbf, slurm: whether to say what jobs were promised; 0 or 1 */

    int64_t release; /* of Slurm, as 2205, 2411, 2605 */
    /* below, slurm.conf's own names; seconds, and 0 or 1 for a flag */
    int64_t default_queue_depth, partition_job_depth, sched_interval, sched_min_interval, batch_sched_delay;
    int64_t backfill, bf_interval, bf_window, bf_resolution, bf_max_job_test, bf_max_job_start,
        bf_max_job_user;
    int64_t bf_max_job_part, bf_max_job_array_resv, bf_max_time, bf_continue, bf_min_prio_reserve;
    int64_t bf_min_age_reserve, bf_job_part_count_reserve, bf_one_resv_per_job, bf_window_linear;
    int64_t bf_yield_interval, bf_yield_sleep; /* microseconds */
    int64_t time_min_as_soft_limit;
    int64_t kill_wait, complete_wait, epilog, over_time_limit, tick; /* tick: how often limits are enforced */
    int64_t priority_calc_period, priority_max_age, priority_favor_small;
    int64_t priority_weight_age, priority_weight_job_size, priority_weight_partition, priority_weight_qos;
    int64_t test_micros;  /* what one test of a job takes slurmctld, microseconds */
    int64_t extend_every; /* how often limits of running jobs may be raised, seconds; 0: never */
    int64_t extend_lead;  /* how long before its end a job is given more, seconds */
    int64_t extend_times; /* how often one job */

    /* elastic: docs/simulate-elastic.md */
    int64_t policy;                  /* enum elastic_policy */
    int64_t restart, hold, look;     /* seconds */
    int64_t efficiency;              /* thousandths */
    int64_t idle_watts, sleep_watts; /* milliwatts of a GPU */
    int64_t sleep_after;             /* seconds; SIM_NONE: never */
};

struct sim_fact {
    const char *name;
    int64_t value;
};
#define SIM_MAX_FACTS 32

struct sim {
    int64_t model; /* of sim_models */
    struct sim_settings set;
    struct sim_queue *queue;
    struct sim_nodes *nodes;
    struct sim_down *down;
    struct sim_qos *qos;
    struct sim_curve *curve;
    struct sim_job *job; /* as it was given */
    size_t queues, classes, downs, qoses, curves, jobs;
    int32_t
        *turn; /* the jobs that can run and follow no other, by submit, then id: what a model goes through */
    size_t turns;
    struct sim_followers *followers; /* follow.h; NULL: no job follows another */
    int64_t *promised; /* out, by job: see docs/simulate-spec.md; SIM_NONE: none; NULL: nobody asks */
    int64_t *energy;  /* out, by job, of elastic: millijoules; SIM_NONE: no curve says; NULL: another model */
    int64_t *resizes; /* the same: how often its GPUs changed once it had started */
    int64_t *last_limit; /* out, by job, where limits are raised: the one at its end; SIM_NONE: none */
    int64_t *raises;     /* the same: how often it was raised */
    struct sim_fact fact[SIM_MAX_FACTS]; /* out: what the run counted */
    size_t facts, started;
    bool progress;
    char error[SIM_MESSAGE];
};

/* A model starts each job of `turn` that fits. False: sim->error. */
typedef bool sim_model(struct sim *sim);
sim_model sim_fcfs, sim_easy, sim_easy_sjbf, sim_conservative, sim_slurm, sim_elastic;

struct sim_model_name {
    const char *name;
    sim_model *run;
    bool pool; /* its jobs take procs of one pool */
};
extern const struct sim_model_name sim_models[]; /* ends with a name of NULL */

#endif
