/* slurm_backfill.h - what a pass of backfill has: its time line, its clock, what it counted. */
#ifndef ADMINKIT_SLURM_BACKFILL_H
#define ADMINKIT_SLURM_BACKFILL_H

#include "slurm_timeline.h"

struct slurm_memo;
struct slurm_memos {
    struct slurm_memo *memo;
    slurm_word *set;
};

struct slurm_backfill {
    struct slurm_timeline line;
    struct slurm_memos memos;
    uint64_t pass;
    int64_t began, now, resumed, window_end;
    int64_t micros, yielded, tests, starts;
    int64_t tests_of[SIM_MAX_QUEUES], reserved_of[SIM_MAX_QUEUES];
    int64_t *tests_by; /* by user */
    slurm_word *free, *nodes, *able;
    struct slurm_plan *plan; /* of this pass, or the last one */
    slurm_word *plan_nodes;
    size_t plans, plan_room, plan_nodes_room;
    struct slurm_record *record; /* the list of this pass, where locks are yielded */
    size_t record_room;

    /* Until then, and while m->states is this, a pass does the same as the last one. */
    int64_t same_until;
    uint64_t states;
    int64_t job_tests, reservations; /* of the last pass */
};

/* What a pass planned for a job; its nodes are beside it. */
struct slurm_plan {
    int32_t live, turn;
    int64_t when;
};

/* A record that is tested. */
struct slurm_candidate {
    const struct slurm_record *record;
    struct slurm_shape *shape;
    struct slurm_array *array;
    size_t queue;
    int64_t limit, plan; /* L and P */
    bool noreserve;
};

/* On to the next record, or the pass ends. */
enum slurm_go { SLURM_NEXT, SLURM_STOP };

/* The pass met a time that now will have reached by `at`. */
static inline void slurm_same_until(struct slurm_backfill *b, int64_t at) {
    b->same_until = at < b->same_until ? at : b->same_until;
}

/* slurm_backfill.c: lets others have the locks when it is time. False: the pass ends. */
bool slurm_yield(struct slurm *m, struct slurm_backfill *b);

/* slurm_memo.c: as slurm_willrun, and the nodes; the same test is made once, as long as nothing changes. */
bool slurm_willrun_once(struct slurm *m, struct slurm_memos *memos, const struct slurm_test *test,
                        int64_t *when, slurm_word *nodes);
bool slurm_memos_open(struct slurm *m, struct slurm_memos *memos);
void slurm_memos_close(struct slurm_memos *memos);

/* slurm_candidate.c: tries one start after the other. */
enum slurm_go slurm_try_starts(struct slurm *m, struct slurm_backfill *b, struct slurm_candidate *job);

#endif
