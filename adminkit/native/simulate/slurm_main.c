/* slurm_main.c - the main loop: by priority, until a queue's first job that must wait for nodes. */
#include "slurm_model.h"

#include <string.h>

struct pass {
    int64_t at;
    bool full;
    uint64_t number, blocked;
    int64_t looked_at, tested, of_queue[SIM_MAX_QUEUES];
};

/* Whether nodes that the job waits for are only taken, not missing. */
static bool busy(struct slurm *m, const struct slurm_shape *shape) {
    const slurm_word *nodes = slurm_kept(m, shape->nodes);
    slurm_word *set = m->set_b;
    bool all = true;
    for (size_t i = 0; i < m->words; i++) {
        set[i] = nodes[i] & m->avail[i];
        all = all && set[i] == nodes[i];
        if (set[i] & (m->completing[i] | (shape->whole ? m->busy[i] : m->held[i])))
            return true;
    }
    return all || slurm_pick(m, shape, set, m->full, false);
}

static void block(struct slurm *m, struct pass *pass, size_t queue) {
    const slurm_word *nodes = m->of_queue + queue * m->words;
    pass->blocked |= UINT64_C(1) << queue;
    for (size_t i = 0; i < m->words; i++)
        m->avail[i] &= ~nodes[i];
}

static bool enough_nodes(const struct slurm *m, const struct slurm_shape *shape) {
    const slurm_word *nodes = m->of_queue + (size_t)shape->queue * m->words;
    size_t n = 0, least = (size_t)shape->least;
    for (size_t i = 0; i < m->words && n < least; i++)
        n += (size_t)__builtin_popcountll(nodes[i] & m->avail[i]);
    return n >= least;
}

static bool place(struct slurm *m, struct slurm_shape *shape) {
    const slurm_word *nodes = slurm_kept(m, shape->nodes);
    if (!slurm_has_room(m, shape))
        return false;
    for (size_t i = 0; i < m->words; i++)
        m->set_a[i] = nodes[i] & m->avail[i] & ~m->completing[i];
    return slurm_pick(m, shape, m->set_a, m->room, false);
}

/* Whether the loop's limits let this record be tested. *over: the pass ends. */
static bool in_depth(struct slurm *m, struct pass *pass, size_t queue, bool *over) {
    if (m->set.partition_job_depth > 0 && ++pass->of_queue[queue] > m->set.partition_job_depth)
        return false;
    *over = !pass->full && pass->tested++ > m->set.default_queue_depth;
    return !*over && !(pass->blocked >> queue & 1);
}

static bool waits_its_turn(const struct slurm *m, const struct pass *pass,
                           const struct slurm_record *record) {
    return pass->at - m->live[record->live].job->submit >= m->set.bf_min_age_reserve &&
           (int64_t)record->priority >= m->set.bf_min_prio_reserve;
}

/* False: the pass ends. */
static bool record(struct slurm *m, struct pass *pass, const struct slurm_record *record) {
    size_t queue = record->turn_queue % SIM_MAX_QUEUES;
    struct slurm_live *live = &m->live[record->live];
    struct slurm_shape *shape = &m->shape[record->shape];
    struct slurm_array *array = slurm_array_of(m, live, SLURM_MAIN, pass->number);
    bool over = false;
    if (slurm_rejected(array, SLURM_MAIN, queue))
        return true;
    if (!in_depth(m, pass, queue, &over))
        return !over;
    bool held = slurm_qos_holds(m, live), nodes = !held && enough_nodes(m, shape);
    m->count.job_tests += nodes;
    if (nodes && place(m, shape)) {
        const struct sim_queue *q = &m->queue[queue];
        int64_t limit = live->job->limit != SIM_NONE ? live->job->limit : q->default_limit;
        m->count.main_starts++;
        return slurm_start(m, record, pass->at, limit != SIM_NONE ? limit : q->max_limit);
    }
    slurm_reject(array, SLURM_MAIN, queue);
    if (!held && (!nodes || busy(m, shape)) && waits_its_turn(m, pass, record))
        block(m, pass, queue);
    return true;
}

bool slurm_main_pass(struct slurm *m, int64_t at, bool full) {
    struct pass pass = {.at = at, .full = full, .number = ++m->pass};
    int64_t starts = m->count.main_starts;
    slurm_tidy(m);
    memcpy(m->avail, m->up, m->words * sizeof *m->avail);
    for (size_t i = 0; i < m->records; i++) {
        const struct slurm_record *next = &m->line[i];
        if (!next->main || !slurm_waits(m, next))
            continue;
        pass.looked_at++;
        if (!record(m, &pass, next))
            break;
    }
    if (pass.looked_at > 0) {
        m->count.passes++;
        m->count.full_passes += full;
        slurm_touched(m, at);
    }
    m->idle_full = m->count.main_starts == starts && (full || m->idle_full);
    return !m->failed;
}
