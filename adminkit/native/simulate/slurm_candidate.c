/* slurm_candidate.c - one job of a pass of backfill: where it could start, and what comes of that. */
#include "slurm_backfill.h"

#include <string.h>

/* One try of a start. */
struct try {
    int64_t start, end, later; /* later: where the line frees other nodes; SLURM_NO_TIME: nowhere */
    size_t slot, later_slot;   /* those before it end before start; before later */
};

/* Those of b->free in which there are nodes. */
struct words {
    size_t first, end;
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

/* Leaves of b->free the nodes of the slot. True: they are fewer now. */
static bool leave(const struct slurm *m, struct slurm_backfill *b, size_t slot, struct words *words) {
    const slurm_word *restrict here = slurm_slot_free(m, &b->line, slot);
    slurm_word *restrict left = b->free, gone = 0;
    for (size_t i = words->first; i < words->end; i++) {
        gone |= left[i] & ~here[i];
        left[i] &= here[i];
    }
    while (words->first < words->end && !left[words->first])
        words->first++;
    while (words->end > words->first && !left[words->end - 1])
        words->end--;
    return gone != 0;
}

/* How long the job, tried from now on, meets no slot that it does not meet now. `slot`: the first of those.
 */
static void same_slots(const struct slurm *m, struct slurm_backfill *b, size_t slot, int64_t plan) {
    for (; b->line.slot[slot].begin - plan < b->same_until; slot = b->line.slot[slot].next) {
        if (!slurm_within(m, b->free, slurm_slot_free(m, &b->line, slot)))
            slurm_same_until(b, b->line.slot[slot].begin - plan);
        if (!b->line.slot[slot].next)
            return;
    }
}

/* The nodes that the job may have from start to end: b->free. False: fewer than it needs. */
static bool free_nodes(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                       struct try *try) {
    const slurm_word *eligible = slurm_kept(m, job->shape->nodes);
    const struct slurm_slot *slots = b->line.slot;
    size_t least = (size_t)job->shape->least;
    struct words words = {0, m->words};
    try->later = SLURM_NO_TIME;
    for (size_t i = 0; i < m->words; i++)
        b->free[i] = b->able[i] = eligible[i] & m->up[i];
    bool enough = slurm_has(m, b->free, least);
    for (size_t at = try->slot;; at = slots[at].next) {
        const struct slurm_slot *slot = &slots[at];
        if (slot->end > try->start) {
            if (slot->next && try->later == SLURM_NO_TIME && frees_others(m, b, at)) {
                try->later = slot->end;
                try->later_slot = at;
            }
            if (slot->begin > try->end) {
                if (try->start == b->now && try->later == SLURM_NO_TIME)
                    slurm_same_until(b, slot->begin - job->plan);
                else if (try->start == b->now)
                    same_slots(m, b, at, job->plan);
                if (m->newer && try->later == SLURM_NO_TIME && slot->next && slots[slot->next].next) {
                    try->later = slots[slot->next].end;
                    try->later_slot = slot->next;
                }
                return enough;
            }
            if (leave(m, b, at, &words))
                enough = slurm_has(m, b->free, least);
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

/* The time that the job takes in the line. */
static void slot_of(const struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                    int64_t when, int64_t *begin, int64_t *end) {
    int64_t unit = m->set.bf_resolution;
    *begin = slurm_floor(when, unit);
    *end = m->newer ? slurm_ceil(when + job->plan, unit) : slurm_floor(when + job->plan, unit);
    slurm_same_until(b, *begin > b->line.slot[0].begin ? *begin : b->now);
    if (*begin >= b->window_end)
        slurm_same_until(b, *begin - m->set.bf_window);
    int64_t last = *end > *begin + unit ? *end : *begin + unit;
    if (last >= b->window_end)
        slurm_same_until(b, last - m->set.bf_window);
}

static bool overlaps(const struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                     int64_t when) {
    int64_t begin, end;
    slot_of(m, b, job, when, &begin, &end);
    return slurm_timeline_overlaps(m, &b->line, begin, end, b->nodes);
}

/* The limit of a job that backfill starts on what was picked; SIM_NONE: none. */
static int64_t limit_of(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job) {
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
static bool start_now(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job) {
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

static void accept(const struct slurm_candidate *job) {
    if (job->array)
        job->array->in[SLURM_BACKFILL].rejected &= ~(UINT64_C(1) << job->queue);
}

/* Keeps the start that the job is promised, once. */
static void promise(struct slurm *m, const struct slurm_candidate *job, int64_t when) {
    struct sim *sim = m->sim;
    ptrdiff_t number = m->live[job->record->live].job - sim->job;
    if (sim->promised && sim->promised[number] == SIM_NONE)
        sim->promised[number] = when;
}

static void keep_plan(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                      int64_t when) {
    struct slurm_live *live = &m->live[job->record->live];
    if (b->plans == b->plan_room && !slurm_grow(m, &b->plan, &b->plan_room, sizeof *b->plan))
        return;
    while (b->plan_nodes_room < (b->plans + 1) * m->words)
        if (!slurm_grow(m, &b->plan_nodes, &b->plan_nodes_room, sizeof *b->plan_nodes))
            return;
    live->reserved = b->pass;
    memcpy(b->plan_nodes + b->plans * m->words, b->nodes, m->words * sizeof *b->nodes);
    b->plan[b->plans++] = (struct slurm_plan){job->record->live, live->turn, when};
}

static enum slurm_go reserve(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                             int64_t when) {
    int64_t begin, end;
    slot_of(m, b, job, when, &begin, &end);
    b->reserved_of[job->queue]++;
    accept(job);
    m->live[job->record->live].planned = b->pass;
    promise(m, job, when);
    if ((int64_t)b->line.n >= m->set.bf_max_job_test)
        return SLURM_STOP;
    slurm_timeline_add(m, &b->line, begin, end, b->nodes);
    if (m->set.extend_every > 0)
        keep_plan(m, b, job, when);
    m->count.reservations++;
    if (job->array)
        job->array->reservations[job->queue]++;
    return m->failed ? SLURM_STOP : SLURM_NEXT;
}

/* Steps 9 to 15 of the page, from a start that was found. *start: when to try again, or as it was. */
static enum slurm_go decide(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job,
                            int64_t when, int64_t later, int64_t *start) {
    bool checked = m->newer && when > b->now;
    if (when <= b->now)
        slurm_same_until(b, b->now);
    if (checked && overlaps(m, b, job, when)) {
        *start = when;
        return SLURM_NEXT;
    }
    if (when <= b->now && slurm_meets(m, b->nodes, m->completing)) {
        when = b->now + 1;
        later = SLURM_NO_TIME;
    }
    if (when <= b->now) {
        if (start_now(m, b, job)) {
            accept(job);
            return m->failed || (m->set.bf_max_job_start > 0 && b->starts >= m->set.bf_max_job_start)
                       ? SLURM_STOP
                       : SLURM_NEXT;
        }
        later = SLURM_NO_TIME;
    }
    if (when > b->now && job->noreserve) {
        m->live[job->record->live].planned = b->pass;
        return SLURM_NEXT;
    }
    if (later != SLURM_NO_TIME && when > later) {
        *start = later;
        return SLURM_NEXT;
    }
    if (when > b->resumed + m->set.bf_window) {
        slurm_same_until(b, when - m->set.bf_window);
        m->live[job->record->live].planned = b->pass;
        return SLURM_NEXT;
    }
    if ((m->newer ? !checked : when > b->now) && overlaps(m, b, job, when)) {
        *start = when;
        return SLURM_NEXT;
    }
    return job->noreserve ? SLURM_NEXT : reserve(m, b, job, when);
}

/* Steps 6 to 15 of the page. */
enum slurm_go slurm_try_starts(struct slurm *m, struct slurm_backfill *b, struct slurm_candidate *job) {
    int64_t next = b->now, when;
    struct try try = {.later = SLURM_NO_TIME};
    bool counted = false;
    do {
        try.start = next;
        if (try.later != SLURM_NO_TIME && try.start >= try.later)
            try.slot = try.later_slot;
        if (b->now - b->began >= m->set.bf_max_time || !slurm_yield(m, b))
            return SLURM_STOP;
        if (try.start >= b->window_end)
            slurm_same_until(b, try.start - m->set.bf_window);
        if (!slurm_waits(m, job->record) || b->window_end < try.start)
            return SLURM_NEXT;
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
        bool found = slurm_willrun_once(m, &b->memos, &test, &when, b->nodes);
        b->now = b->began + b->micros / 1000000;
        if (!found)
            continue;
        next = try.start;
        enum slurm_go go = decide(m, b, job, when > try.start ? when : try.start, try.later, &next);
        if (next == try.start)
            return go;
    } while (next != try.start);
    return SLURM_NEXT;
}
