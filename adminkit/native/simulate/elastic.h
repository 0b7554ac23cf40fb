/* elastic.h - jobs of GPUs that shrink and grow: the machine, its blocks, and what is known of a job.
 *
 * docs/simulate-elastic.md has the rules; tests/simulate/twin_elastic.py says the same slowly. Every policy
 * but fifo begins with fifo: jobs that are fixed (without a curve, or of high priority) keep the start and
 * the block that fifo gives them, and the others share what those leave. */
#ifndef ADMINKIT_SIMULATE_ELASTIC_H
#define ADMINKIT_SIMULATE_ELASTIC_H

#include "workload.h"

enum elastic_policy { ELASTIC_FIFO, ELASTIC_LAS, ELASTIC_SRTF, ELASTIC_ELASTIC, ELASTIC_POLICIES };

/* The same GPUs (`mask`) of `nodes` nodes from `node` on: 2^i aligned GPUs of one node, or whole nodes. */
struct elastic_block {
    int32_t node, nodes;
    uint64_t mask;
};

struct elastic_node {
    uint64_t used;
    int32_t full;  /* how many are used */
    int64_t since; /* when `used` changed last */
};

struct elastic_machine {
    struct elastic_node *node;
    int32_t nodes, gpus; /* of one node: a power of two, 64 at most */
    uint64_t all;
    int64_t free;         /* GPUs of all nodes */
    int64_t idle, asleep; /* millijoules of GPUs that nobody held */
    const struct sim_settings *set;
};

/* A heap of items: the highest score first, then the earliest `when`, then the lowest item. */
struct elastic_key {
    double score;
    int64_t when;
    int32_t item;
};
struct elastic_heap {
    struct elastic_key *key;
    size_t used, room;
};

/* A job that may shrink and grow. Sizes are powers: 2^size GPUs; SIM_NONE: it waits. */
struct elastic_task {
    const struct sim_curve *curve;
    const double *step;     /* elastic_steps of the curve */
    int64_t left;           /* of its work, in the curve's unit times seconds */
    int64_t at;             /* up to when `left`, its energy and `served` are counted */
    int64_t ready, changed; /* it makes progress from then on; its size changed then */
    int64_t served;         /* GPU-seconds */
    int64_t end;            /* if nothing changes */
    int64_t rank;           /* who comes first: elastic_rank, at the last look or since it waits */
    int32_t job, asked, least, size, target;
    bool ran, held;
    struct elastic_block block;
};

struct elastic {
    struct sim *sim;
    struct elastic_machine machine;
    struct elastic_block *block; /* by job: where fifo put it */
    double *step;                /* elastic_steps of each curve */
    int32_t *started;            /* jobs in the order of fifo's starts */
    size_t starts;
    struct elastic_task *task; /* in the order of sim->turn */
    int32_t *running;          /* tasks that hold GPUs, in that order */
    int32_t *active;           /* at a look: these and who waited and may have GPUs now, in that order */
    struct elastic_key *order; /* room for a sort of the active ones */
    size_t tasks, runs, actives, waits;
    int64_t wanted;                               /* GPUs that all who wait would get first */
    struct elastic_heap waiting[SIM_CURVE_SIZES]; /* who has come and holds none: by first size, then rank */
    struct elastic_heap ends, steps;
    int64_t last_look, next_look, last_end;
};

/* The largest power of two within `gpus`, as a power. */
static inline int32_t elastic_size(int32_t gpus) {
    return 31 - __builtin_clz((uint32_t)gpus);
}
static inline int64_t elastic_ceil(int64_t work, int64_t rate) {
    return work / rate + (work % rate != 0);
}
/* Adds watts times seconds; a sum that is too large stays INT64_MAX. */
void elastic_spend(int64_t *sum, int64_t watts, int64_t seconds);

/* False: no memory. */
bool elastic_machine_new(struct elastic_machine *machine, const struct sim *sim, int64_t now);
/* Finds the smallest block that holds `gpus` GPUs, on the node that is fullest, and takes it. False: none is
 * free. */
bool elastic_take(struct elastic_machine *machine, int32_t gpus, int64_t now, struct elastic_block *block);
/* Takes a block that is free, or gives one back. */
void elastic_set(struct elastic_machine *machine, const struct elastic_block *block, bool used, int64_t now);
/* The first 2^size GPUs of a block. */
struct elastic_block elastic_part(const struct elastic_machine *machine, struct elastic_block block,
                                  int32_t size);
bool elastic_overlap(const struct elastic_block *a, const struct elastic_block *b);
/* Counts the joules of idle GPUs up to now. */
void elastic_settle(struct elastic_machine *machine, int64_t now);

bool elastic_before(const struct elastic_key *a, const struct elastic_key *b);
int elastic_by_key(const void *a, const void *b); /* for qsort */
bool elastic_push(struct elastic_heap *heap, struct elastic_key key);
struct elastic_key elastic_pop(struct elastic_heap *heap);
/* The same as a pop and a push. */
void elastic_replace(struct elastic_heap *heap, struct elastic_key key);

/* Jobs in the order of priority and submission, each with the GPUs it asks for; nobody passes the first. */
bool elastic_fifo(struct elastic *e);
bool elastic_is_fixed(const struct sim_job *job);
void elastic_began(struct sim *sim, struct sim_job *job, int64_t at);

/* Seconds that the rest takes on 2^size GPUs. */
static inline int64_t elastic_rest(const struct elastic_task *task, int32_t size) {
    return elastic_ceil(task->left, task->curve->rate[size]);
}
/* What a task gets before others get more: the fewest GPUs (elastic), or those it asked for. */
int32_t elastic_first_size(const struct elastic *e, const struct elastic_task *task);
/* Seconds of its rest on those GPUs; las: how much it had, in levels. The lowest comes first. */
int64_t elastic_rank(const struct elastic *e, const struct elastic_task *task);
/* Puts a task that holds no GPUs among those who wait. False: no memory. */
bool elastic_wait(struct elastic *e, int32_t number);
/* Gives those in order[0 … count), who run and may change, and those who wait their first size as far as
 * `free` reaches, and lists the active ones. */
void elastic_hand_out(struct elastic *e, size_t count, int64_t *free);
/* After a look: the active ones run, or wait again. False: no memory. */
bool elastic_sort_out(struct elastic *e);

/* For each size the step to twice as many GPUs: seconds saved per joule more; -1: it may not be taken. */
void elastic_steps(const struct sim_settings *set, const struct sim_curve *curve, int32_t least,
                   double *score);
/* Decides the size of every task and acts. False: no memory. */
bool elastic_decide(struct elastic *e, int64_t now);
/* Counts what a task did up to now. */
void elastic_progress(struct elastic *e, struct elastic_task *task, int64_t now);

#endif
