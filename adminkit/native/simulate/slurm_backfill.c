/* slurm_backfill.c - the backfill loop: a start now, or a reservation, for each job that is tested. */
#include "slurm_model.h"

#include <stdlib.h>
#include <string.h>

struct slurm_backfill {
    struct slurm_timeline line;
    uint64_t pass;
    int64_t began, now, resumed, window_end;
    int64_t micros, yielded, tests, starts;
    int64_t tests_of[SIM_MAX_QUEUES], reserved_of[SIM_MAX_QUEUES];
    int64_t *tests_by; /* by user */
    slurm_word *free, *nodes, *able;
    struct slurm_record *record; /* the list of this pass, where locks are yielded */
    size_t record_room;
};

/* One record. */
struct job {
    const struct slurm_record *record;
    struct slurm_shape *shape;
    struct slurm_array *array;
    size_t queue;
    int64_t limit, plan; /* L and P */
    bool noreserve;
};

enum go { NEXT, STOP };

static struct slurm_backfill *open_pass(struct slurm *m, int64_t at) {
    const struct sim_settings *set = &m->set;
    struct slurm_backfill *b = m->backfill;
    if (!b) {
        m->backfill = b = calloc(1, sizeof *b);
        if (!b || !(b->tests_by = calloc(m->user_count + 1, sizeof *b->tests_by)) ||
            !(b->free = calloc(3 * m->words, sizeof *b->free)))
            return NULL;
        b->nodes = b->free + m->words;
        b->able = b->nodes + m->words;
    }
    b->began = b->now = b->resumed = at;
    b->window_end = slurm_floor(at + set->bf_window, set->bf_resolution);
    b->micros = b->yielded = b->tests = b->starts = 0;
    memset(b->tests_of, 0, sizeof b->tests_of);
    memset(b->reserved_of, 0, sizeof b->reserved_of);
    if (set->bf_max_job_user > 0)
        memset(b->tests_by, 0, m->user_count * sizeof *b->tests_by);
    return slurm_timeline_open(m, &b->line, slurm_floor(at, set->bf_resolution), b->window_end) ? b : NULL;
}

void slurm_backfill_close(struct slurm *m) {
    struct slurm_backfill *b = m->backfill;
    if (!b)
        return;
    free(b->line.slot);
    free(b->line.free);
    free(b->tests_by);
    free(b->free);
    free(b->record);
    free(b);
}

/* Lets others have the locks when it is time. False: the pass ends. */
static bool yield(struct slurm *m, struct slurm_backfill *b) {
    if (b->micros - b->yielded < m->set.bf_yield_interval)
        return true;
    uint64_t changes = m->change_count;
    m->locked_until = b->now;
    b->micros += m->set.bf_yield_sleep;
    b->yielded = b->micros;
    b->now = b->resumed = b->began + b->micros / 1000000;
    return slurm_advance(m, b->now) && (m->set.bf_continue || m->change_count == changes);
}

/* One try of a start. */
struct try {
    int64_t start, end, later; /* later: where the line frees other nodes; SLURM_NO_TIME: nowhere */
    size_t slot, later_slot;   /* those before it end before start; before later */
};

/* Whether after `slot` other nodes are free than are left until its end. */
static bool frees_others(const struct slurm *m, const struct slurm_backfill *b, size_t slot) {
    const slurm_word *here = slurm_slot_free(m, &b->line, slot);
    const slurm_word *there = slurm_slot_free(m, &b->line, b->line.slot[slot].next);
    for (size_t i = 0; i < m->words; i++)
        if (b->able[i] & there[i] & ~(b->free[i] & here[i]))
            return true;
    return false;
}

/* How many nodes are left of b->free with those of the slot; SIZE_MAX: as many as before. */
static size_t leave(const struct slurm *m, struct slurm_backfill *b, size_t slot) {
    const slurm_word *here = slurm_slot_free(m, &b->line, slot);
    slurm_word gone = 0;
    for (size_t i = 0; i < m->words; i++) {
        gone |= b->free[i] & ~here[i];
        b->free[i] &= here[i];
    }
    return gone ? slurm_size(m, b->free) : SIZE_MAX;
}

/* The nodes that the job may have from start to end: b->free. False: fewer than it needs. */
static bool free_nodes(struct slurm *m, struct slurm_backfill *b, const struct job *job, struct try *try) {
    const slurm_word *eligible = slurm_kept(m, job->shape->nodes);
    const struct slurm_slot *slots = b->line.slot;
    size_t least = (size_t)job->shape->least, left;
    try->later = SLURM_NO_TIME;
    for (size_t i = 0; i < m->words; i++)
        b->free[i] = b->able[i] = eligible[i] & m->up[i];
    bool enough = slurm_size(m, b->free) >= least;
    for (size_t at = try->slot;; at = slots[at].next) {
        const struct slurm_slot *slot = &slots[at];
        if (slot->end > try->start) {
            if (slot->next && try->later == SLURM_NO_TIME && frees_others(m, b, at)) {
                try->later = slot->end;
                try->later_slot = at;
            }
            if (slot->begin > try->end) {
                if (m->newer && try->later == SLURM_NO_TIME && slot->next && slots[slot->next].next) {
                    try->later = slots[slot->next].end;
                    try->later_slot = slot->next;
                }
                return enough;
            }
            if ((left = leave(m, b, at)) != SIZE_MAX)
                enough = left >= least;
            if (!enough && try->later != SLURM_NO_TIME)
                return false;
        }
        if (!slot->next)
            return enough;
    }
}

static void gather(const struct slurm *m, slurm_word *set) {
    memset(set, 0, m->words * sizeof *set);
    for (size_t i = 0; i < m->npicked; i++)
        slurm_put(set, (size_t)m->picked[i].node);
}

static bool overlaps(const struct slurm *m, const struct slurm_backfill *b, const struct job *job,
                     int64_t when) {
    int64_t unit = m->set.bf_resolution, end = when + job->plan;
    return slurm_timeline_overlaps(m, &b->line, slurm_floor(when, unit),
                                   m->newer ? slurm_ceil(end, unit) : slurm_floor(end, unit), b->nodes);
}

/* The limit of a job that backfill starts on what was picked; SIM_NONE: none. */
static int64_t limit_of(struct slurm *m, struct slurm_backfill *b, const struct job *job) {
    const struct sim_job *given = m->live[job->record->live].job;
    const struct sim_queue *queue = &m->queue[job->queue];
    if (m->soft || job->plan == job->limit) {
        int64_t limit = given->limit != SIM_NONE ? given->limit : queue->default_limit;
        return limit != SIM_NONE ? limit : queue->max_limit;
    }
    if (m->set.release < 2505)
        return job->plan;
    int64_t limit = job->limit;
    gather(m, b->able);
    for (size_t at = 0;; at = b->line.slot[at].next) {
        const struct slurm_slot *slot = &b->line.slot[at];
        int64_t until = slurm_floor(slot->begin - b->now, 60);
        if (slot->begin != b->now && slot->begin < b->now + job->limit && until < limit &&
            !slurm_within(m, b->able, slurm_slot_free(m, &b->line, at)))
            limit = until;
        if (!slot->next)
            break;
    }
    return limit > job->plan ? limit : job->plan;
}

/* Starts the job now, where nodes that do not complete have room for it. */
static bool start_now(struct slurm *m, struct slurm_backfill *b, const struct job *job) {
    const struct slurm_live *live = &m->live[job->record->live];
    for (size_t i = 0; i < m->words; i++)
        m->set_a[i] = b->free[i] & ~m->completing[i];
    if (!slurm_pick(m, job->shape, m->set_a, m->room, false))
        return false;
    int64_t limit = limit_of(m, b, job);
    if (!slurm_start(m, job->record, b->now, limit))
        return true;
    if (job->shape->whole && (int64_t)b->line.n < m->set.bf_max_job_test) {
        gather(m, b->able);
        slurm_timeline_add(m, &b->line, b->line.slot[0].begin,
                           slurm_ceil(slurm_soft_end(live, b->now), m->set.bf_resolution), b->able);
    }
    b->starts++;
    m->count.backfill_starts++;
    return true;
}

static void accept(const struct job *job) {
    if (job->array)
        job->array->in[SLURM_BACKFILL].rejected &= ~(UINT64_C(1) << job->queue);
}

static enum go reserve(struct slurm *m, struct slurm_backfill *b, const struct job *job, int64_t when) {
    int64_t unit = m->set.bf_resolution, end = when + job->plan;
    b->reserved_of[job->queue]++;
    accept(job);
    m->live[job->record->live].planned = b->pass;
    if ((int64_t)b->line.n >= m->set.bf_max_job_test)
        return STOP;
    slurm_timeline_add(m, &b->line, slurm_floor(when, unit),
                       m->newer ? slurm_ceil(end, unit) : slurm_floor(end, unit), b->nodes);
    m->count.reservations++;
    if (job->array)
        job->array->reservations[job->queue]++;
    return m->failed ? STOP : NEXT;
}

/* Steps 9 to 15 of the page, from a start that was found. *start: when to try again, or as it was. */
static enum go decide(struct slurm *m, struct slurm_backfill *b, const struct job *job, int64_t when,
                      int64_t later, int64_t *start) {
    bool checked = m->newer && when > b->now;
    if (checked && overlaps(m, b, job, when)) {
        *start = when;
        return NEXT;
    }
    if (when <= b->now && slurm_meets(m, b->nodes, m->completing)) {
        when = b->now + 1;
        later = SLURM_NO_TIME;
    }
    if (when <= b->now) {
        if (start_now(m, b, job)) {
            accept(job);
            return m->failed || (m->set.bf_max_job_start > 0 && b->starts >= m->set.bf_max_job_start) ? STOP
                                                                                                      : NEXT;
        }
        later = SLURM_NO_TIME;
    }
    if (when > b->now && job->noreserve) {
        m->live[job->record->live].planned = b->pass;
        return NEXT;
    }
    if (later != SLURM_NO_TIME && when > later) {
        *start = later;
        return NEXT;
    }
    if (when > b->resumed + m->set.bf_window) {
        m->live[job->record->live].planned = b->pass;
        return NEXT;
    }
    if ((m->newer ? !checked : when > b->now) && overlaps(m, b, job, when)) {
        *start = when;
        return NEXT;
    }
    return job->noreserve ? NEXT : reserve(m, b, job, when);
}

/* Steps 6 to 15: tries one start after the other. */
static enum go try_starts(struct slurm *m, struct slurm_backfill *b, struct job *job) {
    int64_t next = b->now, when;
    struct try try = {.later = SLURM_NO_TIME};
    bool counted = false;
    do {
        try.start = next;
        if (try.later != SLURM_NO_TIME && try.start >= try.later)
            try.slot = try.later_slot;
        if (b->now - b->began >= m->set.bf_max_time || !yield(m, b))
            return STOP;
        if (!slurm_waits(m, job->record) || b->window_end < try.start)
            return NEXT;
        job->shape = &m->shape[job->record->shape]; /* submissions may have moved it */
        try.end = (try.start > b->now ? try.start : b->now) + job->plan;
        bool enough = free_nodes(m, b, job, &try);
        next = try.later == SLURM_NO_TIME || job->noreserve ? try.start : try.later;
        if (!enough)
            continue;
        b->tests += !counted;
        counted = true;
        b->micros += m->set.test_micros;
        m->count.job_tests++;
        struct slurm_test test = {job->shape, b->free, b->now, try.start, try.later, job->noreserve};
        bool found = slurm_willrun(m, &test, &when);
        b->now = b->began + b->micros / 1000000;
        if (!found)
            continue;
        gather(m, b->nodes);
        next = try.start;
        enum go go = decide(m, b, job, when > try.start ? when : try.start, try.later, &next);
        if (next == try.start)
            return go;
    } while (next != try.start);
    return NEXT;
}

/* Whether the pass's limits let this record be tested; counts it. */
static bool in_depth(struct slurm *m, struct slurm_backfill *b, const struct job *job) {
    const struct sim_settings *set = &m->set;
    int32_t user = m->live[job->record->live].user;
    if (job->array) {
        if (slurm_rejected(job->array, SLURM_BACKFILL, job->queue) ||
            job->array->reservations[job->queue] >= set->bf_max_job_array_resv)
            return false;
        slurm_reject(job->array, SLURM_BACKFILL, job->queue);
    }
    if ((set->bf_max_job_part > 0 && b->tests_of[job->queue] >= set->bf_max_job_part) ||
        (set->bf_max_job_user > 0 && user >= 0 && b->tests_by[user] >= set->bf_max_job_user))
        return false;
    b->tests_of[job->queue]++;
    if (user >= 0)
        b->tests_by[user]++;
    return true;
}

static enum go one_record(struct slurm *m, struct slurm_backfill *b, const struct slurm_record *record) {
    const struct sim_settings *set = &m->set;
    size_t queue = record->turn_queue % SIM_MAX_QUEUES;
    if (b->tests >= set->bf_max_job_test || b->window_end < b->now || b->now - b->began >= set->bf_max_time ||
        !yield(m, b))
        return STOP;
    if (!record->backfill || !slurm_waits(m, record) || slurm_qos_holds(m, &m->live[record->live]))
        return NEXT;
    const struct slurm_live *live = &m->live[record->live];
    const struct sim_job *given = live->job;
    struct job job = {record,
                      &m->shape[record->shape],
                      slurm_array_of(m, live, SLURM_BACKFILL, b->pass),
                      queue,
                      given->limit,
                      0,
                      false};
    int64_t most = m->queue[queue].max_limit;
    if (job.limit == SIM_NONE)
        job.limit = most != SIM_NONE ? most : SLURM_YEAR;
    job.limit = most != SIM_NONE && job.limit > most ? most : job.limit;
    job.plan = given->plan != SIM_NONE && given->plan < job.limit ? given->plan : job.limit;
    job.noreserve =
        (int64_t)record->priority < set->bf_min_prio_reserve ||
        b->now - given->submit < set->bf_min_age_reserve ||
        (set->bf_one_resv_per_job && live->planned == b->pass) ||
        (set->bf_job_part_count_reserve > 0 && b->reserved_of[queue] >= set->bf_job_part_count_reserve);
    if (!in_depth(m, b, &job))
        return NEXT;
    return try_starts(m, b, &job);
}

bool slurm_backfill_pass(struct slurm *m, int64_t at) {
    struct slurm_backfill *b = open_pass(m, at);
    int64_t starts = m->count.backfill_starts;
    if (!b)
        return false;
    slurm_tidy(m);
    b->pass = ++m->pass;
    m->count.backfill_passes++;
    const struct slurm_record *record = m->line;
    size_t n = m->records;
    if (m->set.test_micros > 0) {
        while (b->record_room < n)
            if (!slurm_grow(m, &b->record, &b->record_room, sizeof *record))
                return false;
        record = memcpy(b->record, m->line, n * sizeof *record);
    }
    for (size_t i = 0; i < n; i++)
        if (one_record(m, b, &record[i]) == STOP)
            break;
    m->last_bf = m->locked_until = b->now;
    m->idle_over = m->idle_full && m->count.backfill_starts == starts;
    return !m->failed;
}
