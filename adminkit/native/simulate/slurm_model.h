/* slurm_model.h - slurmctld's two loops over a site's nodes. docs/simulate-slurm.md has every rule, with its
 * words. */
#ifndef ADMINKIT_SLURM_MODEL_H
#define ADMINKIT_SLURM_MODEL_H

#include "run.h"
#include "workload.h"

#define SLURM_YEAR (365 * INT64_C(86400))
#define SLURM_NEVER INT64_MAX
#define SLURM_NO_TIME INT64_MIN

/* A set of nodes: as many words as `words` of the model. */
typedef uint64_t slurm_word;

/* What a node has free, and the jobs that run on it. */
struct slurm_room {
    int64_t mem;
    int32_t cpus, gpus, jobs;
};

struct slurm_node {
    int32_t cls;
    int32_t completing; /* jobs */
    int32_t whole;      /* whole jobs that run */
    int32_t down;       /* the line that holds it; -1: none */
};

/* What a job asks for in one queue. Jobs that ask for the same have one shape. */
struct slurm_shape {
    int64_t features, mem;
    int32_t queue, least, most, cpus, gpu_type;
    int32_t share, gpus; /* on each node */
    bool whole;
    bool fits;        /* the empty site */
    size_t nodes;     /* the set of eligible ones: of slurm_sets */
    uint64_t no_room; /* `freed` of the model when too few nodes had room for it */
    size_t next;      /* in its chain */
};

/* Sets that are kept once each. */
struct slurm_sets {
    slurm_word *word;
    size_t n, room;
};

enum slurm_state { SLURM_FREE, SLURM_WAITING, SLURM_RUNNING, SLURM_COMPLETING };

/* CPUs that a job has on a node. */
struct slurm_share {
    int32_t node, cpus;
};

/* A job that waits, runs or completes. */
struct slurm_live {
    struct sim_job *job;
    int32_t turn;
    int32_t shape; /* of the queue in which it runs */
    int32_t state;
    int32_t user, array;          /* dense numbers; -1: none */
    int64_t hard_end, soft_start; /* soft_start: start + plan; SLURM_NO_TIME: plan is not below its limit */
    int64_t limit, asked;         /* in force, and at its start; SIM_NONE: none */
    int64_t raised_at, lowered_at;
    int32_t raises;
    int64_t release;
    bool killed;
    uint64_t planned;              /* the backfill pass in which it got a start */
    uint64_t reserved;             /* and nodes for it */
    struct slurm_share one, *more; /* its nodes: slurm_shares() */
    int32_t shares, next_free;
};

static inline const struct slurm_share *slurm_shares(const struct slurm_live *live) {
    return live->shares > 1 ? live->more : &live->one;
}

/* A waiting job in one of its queues. */
struct slurm_record {
    uint64_t tier_priority; /* both descending: smaller is first */
    uint64_t turn_queue;
    int32_t live, shape;
    uint32_t priority;
    bool main, backfill; /* which loop may start it here */
};

/* The end or the release of a live job. */
struct slurm_event {
    int64_t at;
    int32_t turn, live;
    bool release;
};

/* A running job by its planned end, or by what orders it. */
struct slurm_end {
    int64_t at;
    int32_t turn, live;
};

/* A line of `down` that begins or ends. */
struct slurm_change {
    int64_t at;
    size_t line;
    bool down;
};

enum slurm_loop { SLURM_MAIN, SLURM_BACKFILL, SLURM_LOOPS };

/* What an array has met in a loop's latest pass. */
struct slurm_array {
    struct {
        uint64_t pass, rejected; /* rejected: a bit for each queue */
    } in[SLURM_LOOPS];
    int32_t *reservations; /* in each queue */
};

/* Neighbours of one key that a job could use. */
struct slurm_run {
    int64_t key, cpus;
    int32_t first, n; /* of usable */
};

struct slurm_usage {
    int64_t jobs, cpus, gpus;
};

struct slurm_counts {
    int64_t passes, full_passes, backfill_passes, job_tests, reservations, main_starts, backfill_starts;
    int64_t most_waiting, backfill_repeats;
    int64_t raises, lowered, refused_most, refused_waiting, refused_planned;
};

struct slurm_backfill;

struct slurm {
    struct sim *sim;
    struct sim_settings set; /* with every number in a sane range */
    struct sim_queue *queue;
    bool soft, soft_ends; /* time_min is a soft limit; planned ends follow it */
    bool newer;           /* than 23.11 */

    size_t nodes, words;
    struct slurm_node *node;
    struct slurm_room *room;  /* now */
    struct slurm_room *full;  /* of the empty site */
    struct slurm_room *later; /* a will-run test's; between tests as `room` */
    int64_t *key;             /* 2 * weight */
    int64_t site_cpus;
    slurm_word *up, *busy, *completing, *held, *avail, *set_a, *set_b;
    slurm_word *of_queue;
    uint64_t freed; /* grows when something becomes free */
    size_t completing_jobs;

    struct slurm_sets sets;
    struct slurm_shape *shape;
    size_t shapes, shape_room, *shape_chain, chains;

    struct slurm_live *live;
    size_t lives, live_room;
    int32_t free_live;
    struct slurm_record *line;
    size_t records, record_room, dead;
    size_t waiting;
    struct slurm_event *event;
    size_t events, event_room;
    struct slurm_end *end;
    size_t ends, end_room;
    struct slurm_end *planned; /* a will-run test's: who ends after its start */
    size_t planned_room;

    struct slurm_change *change;
    size_t changes, next_change;
    size_t next_turn;
    int32_t came; /* jobs that have come */

    int32_t *users, *arrays; /* their numbers, ascending */
    size_t user_count, array_count;
    struct slurm_array *array;
    int32_t *array_reservations;             /* of each array in each queue */
    struct slurm_usage *group, **user_usage; /* by QOS; by QOS and user, NULL without such a limit */
    double max_factor, max_qos;
    int32_t tier_rank[SIM_MAX_QUEUES];

    /* chosen by the last pick */
    struct slurm_share *picked;
    size_t npicked;
    int64_t picked_cpus;
    int32_t *usable, *undo;
    size_t undos; /* nodes of `later` that differ from `room` */
    struct slurm_run *run;

    int64_t origin, second; /* second: steps 1 to 5 are over */
    int64_t queued_at, last_sched, last_pass, last_full, last_bf, locked_until, changed;
    uint64_t change_count, states;
    int64_t next_look; /* when a running job may be given more time, or less; SLURM_NEVER: none */
    int32_t *near;     /* a round's: running jobs that it looks at */
    size_t near_room;
    slurm_word *wanted; /* a round's: nodes that a waiting job without a plan could use */
    bool queued, requested, requested_full, idle_full, idle_over;
    uint64_t pass; /* of either loop: how many there were */
    struct slurm_backfill *backfill;
    struct slurm_counts count;
    bool failed; /* out of memory */
};

/* slurm_sets.c */
static inline bool slurm_in(const slurm_word *set, size_t node) {
    return set[node / 64] >> (node % 64) & 1;
}
static inline void slurm_put(slurm_word *set, size_t node) {
    set[node / 64] |= UINT64_C(1) << (node % 64);
}
static inline void slurm_drop(slurm_word *set, size_t node) {
    set[node / 64] &= ~(UINT64_C(1) << (node % 64));
}
bool slurm_within(const struct slurm *m, const slurm_word *set, const slurm_word *of);
bool slurm_meets(const struct slurm *m, const slurm_word *a, const slurm_word *b);
/* Whether at least `least` nodes are in the set. */
bool slurm_has(const struct slurm *m, const slurm_word *set, size_t least);
/* The number of a set equal to this one. */
size_t slurm_keep_set(struct slurm *m, const slurm_word *set);
static inline const slurm_word *slurm_kept(const struct slurm *m, size_t set) {
    return m->sets.word + set * m->words;
}

/* slurm_site.c */
bool slurm_open(struct slurm *m, struct sim *sim);
void slurm_close(struct slurm *m);
/* More room for an array: doubles it. False: out of memory. */
bool slurm_grow(struct slurm *m, void *array, size_t *room, size_t size);
/* The dense number of a user or an array; -1: none. */
int32_t slurm_dense(const int32_t *numbers, size_t n, int32_t number);
void slurm_change_nodes(struct slurm *m, int64_t at);

/* slurm_shapes.c */
/* The number of the shape of a job in a queue. */
int32_t slurm_shape_of(struct slurm *m, const struct sim_job *job, size_t queue);
/* False: too few of its nodes have room, whether they complete or not. */
bool slurm_has_room(struct slurm *m, struct slurm_shape *shape);

/* slurm_pick.c */
static inline bool slurm_usable(const struct slurm_shape *shape, const struct slurm_room *room) {
    return room->cpus >= shape->share && room->gpus >= shape->gpus && room->mem >= shape->mem &&
           (!shape->whole || room->jobs == 0);
}
/* Chooses nodes of a set: m->picked. `avoid`: completing nodes come after others of their weight. */
bool slurm_pick(struct slurm *m, const struct slurm_shape *shape, const slurm_word *set,
                const struct slurm_room *room, bool avoid);

/* slurm_queue.c */
/* The job is waiting from now on; or never can be. `turn`: how many came before it. */
bool slurm_submit(struct slurm *m, int32_t number, int32_t turn);
/* Computes them again. True: a pass could see the difference. */
bool slurm_priorities(struct slurm *m, int64_t at);
/* Records of jobs that do not wait any more leave the line. */
void slurm_tidy(struct slurm *m);
static inline bool slurm_waits(const struct slurm *m, const struct slurm_record *record) {
    const struct slurm_live *live = &m->live[record->live];
    return live->state == SLURM_WAITING && (uint64_t)live->turn == record->turn_queue / SIM_MAX_QUEUES;
}
bool slurm_qos_holds(const struct slurm *m, const struct slurm_live *live);
void slurm_qos_count(struct slurm *m, const struct slurm_live *live, int64_t sign);
/* The job's array, with what it met in this pass; NULL: the job is of none. */
struct slurm_array *slurm_array_of(struct slurm *m, const struct slurm_live *live, enum slurm_loop loop,
                                   uint64_t pass);
static inline bool slurm_rejected(const struct slurm_array *array, enum slurm_loop loop, size_t queue) {
    return array && array->in[loop].rejected >> queue & 1;
}
static inline void slurm_reject(struct slurm_array *array, enum slurm_loop loop, size_t queue) {
    if (array)
        array->in[loop].rejected |= UINT64_C(1) << queue;
}

/* slurm_running.c */
/* Starts the job on what was picked. limit: SIM_NONE for none. False: out of memory. */
bool slurm_start(struct slurm *m, const struct slurm_record *record, int64_t at, int64_t limit);
/* The next end or release up to `at`: done. False: there is none. */
bool slurm_finish(struct slurm *m, int64_t at);
/* The running job has another limit. False: out of memory. */
bool slurm_set_limit(struct slurm *m, int32_t at, int64_t limit, int64_t now);
void slurm_give_back(struct slurm *m, const struct slurm_live *live, struct slurm_room *room);
int64_t slurm_soft_end(const struct slurm_live *live, int64_t now);
bool slurm_just_ended(const struct slurm *m, int64_t at);
/* The background will ask for a pass, beginning with the next second. */
static inline void slurm_queue_pass(struct slurm *m, int64_t at) {
    m->queued_at = m->queued ? m->queued_at : at;
    m->queued = true;
}
/* As slurmctld notes a change: also where a pass only looked. */
static inline void slurm_touched(struct slurm *m, int64_t at) {
    m->changed = at > m->changed ? at : m->changed;
    m->change_count++;
}
/* Something that a pass could see is another. */
static inline void slurm_changed(struct slurm *m, int64_t at) {
    slurm_touched(m, at);
    m->states++;
}

/* slurm_main.c: one pass of the main loop. False: out of memory. */
bool slurm_main_pass(struct slurm *m, int64_t at, bool full);

/* slurm_willrun.c: where and when a job could start. */
struct slurm_test {
    struct slurm_shape *shape;
    const slurm_word *set;
    int64_t now, start, later; /* later: SLURM_NO_TIME for none */
    bool noreserve;
};
bool slurm_willrun(struct slurm *m, const struct slurm_test *test, int64_t *when);

/* slurm_backfill.c: one pass. False: out of memory. */
bool slurm_backfill_pass(struct slurm *m, int64_t at);
void slurm_backfill_close(struct slurm *m);

/* slurm_extend.c: raises and lowers limits of running jobs, where a round is due. False: out of memory. */
bool slurm_extend(struct slurm *m, int64_t at);
bool slurm_extend_open(struct slurm *m);
/* When the next round may have something to do, where next_look is not SLURM_NEVER. */
int64_t slurm_next_round(const struct slurm *m);
/* A job with a limit that may be raised has started, or has another limit. */
void slurm_look_at(struct slurm *m, const struct slurm_live *live);

/* slurm_events.c: all that is due up to a second, but for backfill while it runs. */
bool slurm_advance(struct slurm *m, int64_t until);

static inline int64_t slurm_floor(int64_t value, int64_t unit) {
    int64_t over = value % unit;
    return value - (over < 0 ? over + unit : over);
}
static inline int64_t slurm_ceil(int64_t value, int64_t unit) {
    return slurm_floor(value + unit - 1, unit);
}

#endif
