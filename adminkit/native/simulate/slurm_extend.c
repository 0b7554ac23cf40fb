/* slurm_extend.c - rounds in which running jobs are given more time, or lose it again. */
#include "slurm_backfill.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE 60 /* Slurm keeps limits in minutes */
#define LEAST 300 /* less is not worth a raise */
#define SHORTEST_LEAD 120

bool slurm_extend_open(struct slurm *m) {
    struct sim *sim = m->sim;
    m->next_look = SLURM_NEVER;
    if (m->set.extend_every == 0)
        return true;
    sim->last_limit = malloc((sim->jobs + 1) * sizeof *sim->last_limit);
    sim->raises = malloc((sim->jobs + 1) * sizeof *sim->raises);
    for (size_t i = 0; sim->last_limit && sim->raises && i < sim->jobs; i++)
        sim->last_limit[i] = sim->raises[i] = SIM_NONE;
    return sim->last_limit && sim->raises;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t lead_of(const struct slurm *m, const struct slurm_live *live) {
    return smaller(m->set.extend_lead, larger(SHORTEST_LEAD, live->asked / 2));
}

static bool may_be_raised(const struct slurm *m, const struct slurm_live *live) {
    return m->set.extend_every > 0 && live->asked != SIM_NONE && live->job->most_limit != SIM_NONE;
}

void slurm_look_at(struct slurm *m, const struct slurm_live *live) {
    if (m->set.extend_every == 0)
        return;
    const ptrdiff_t number = live->job - m->sim->job;
    m->sim->last_limit[number] = live->limit;
    m->sim->raises[number] = live->raises;
    if (may_be_raised(m, live))
        m->next_look = smaller(m->next_look, live->hard_end - lead_of(m, live));
}

int64_t slurm_next_round(const struct slurm *m) {
    return m->origin + slurm_ceil(larger(m->next_look, m->second + 1) - m->origin, m->set.extend_every);
}

static bool change(struct slurm *m, int32_t at, int64_t limit, int64_t now) {
    if (!slurm_set_limit(m, at, limit, now))
        return false;
    slurm_look_at(m, &m->live[at]);
    return true;
}

static bool holds_one_of(const struct slurm_live *live, const slurm_word *set) {
    for (int32_t i = 0; i < live->shares; i++)
        if (slurm_in(set, (size_t)slurm_shares(live)[i].node))
            return true;
    return false;
}

static bool is_waiting(const struct slurm *m, const struct slurm_plan *plan) {
    return m->live[plan->live].state == SLURM_WAITING && m->live[plan->live].turn == plan->turn;
}

/* Whether a job that came after the last raise is planned for the end of this one. */
static bool delays_an_arrival(const struct slurm *m, const struct slurm_live *live) {
    const struct slurm_backfill *b = m->backfill;
    const int64_t last = live->hard_end + larger(MINUTE, m->set.bf_resolution);
    for (size_t i = 0; b && i < b->plans; i++) {
        const struct slurm_plan *plan = &b->plan[i];
        if (plan->when >= live->hard_end && plan->when <= last && is_waiting(m, plan) &&
            m->live[plan->live].job->submit >= live->raised_at &&
            holds_one_of(live, b->plan_nodes + i * m->words))
            return true;
    }
    return false;
}

static bool take_back(struct slurm *m, int32_t at, int64_t now) {
    struct slurm_live *live = &m->live[at];
    if (live->limit <= live->asked || !delays_an_arrival(m, live))
        return true;
    const int64_t least = slurm_ceil(now + lead_of(m, live) - live->job->start, MINUTE);
    const int64_t limit = larger(live->asked, least);
    if (live->limit - limit < MINUTE)
        return true;
    live->lowered_at = now;
    live->raises = limit > live->asked ? live->raises : 0;
    m->count.lowered++;
    return change(m, at, limit, now);
}

/* The nodes that waiting jobs without a plan could use. */
static void find_wanted(struct slurm *m) {
    const uint64_t pass = m->backfill ? m->backfill->pass : 0;
    memset(m->wanted, 0, m->words * sizeof *m->wanted);
    for (size_t i = 0; i < m->records; i++) {
        const struct slurm_record *record = &m->line[i];
        if (!slurm_waits(m, record) || (pass > 0 && m->live[record->live].reserved == pass))
            continue;
        const slurm_word *nodes = slurm_kept(m, m->shape[record->shape].nodes);
        for (size_t word = 0; word < m->words; word++)
            m->wanted[word] |= nodes[word];
    }
}

/* The first planned start, at its end or later, that has a node of this job; `until` where none is earlier.
 */
static int64_t free_until(const struct slurm *m, const struct slurm_live *live, int64_t until) {
    const struct slurm_backfill *b = m->backfill;
    for (size_t i = 0; b && i < b->plans; i++) {
        const struct slurm_plan *plan = &b->plan[i];
        if (plan->when >= live->hard_end && plan->when < until && is_waiting(m, plan) &&
            holds_one_of(live, b->plan_nodes + i * m->words))
            until = plan->when;
    }
    return until;
}

static bool on_nodes_that_are_down(const struct slurm *m, const struct slurm_live *live) {
    for (int32_t i = 0; i < live->shares; i++)
        if (!slurm_in(m->up, (size_t)slurm_shares(live)[i].node))
            return true;
    return false;
}

static int64_t whole_minutes(int64_t seconds) {
    return seconds > 0 ? slurm_floor(seconds, MINUTE) : 0;
}

/* How much more the job is given, seconds; 0: nothing. */
static int64_t more_for(struct slurm *m, const struct slurm_live *live) {
    const int64_t queue = m->queue[m->shape[live->shape].queue].max_limit, step = live->job->step;
    int64_t most = live->job->most_limit;
    most = queue != SIM_NONE ? smaller(most, queue) : most;
    const int64_t wanted = whole_minutes(smaller(step, most - live->limit));
    const int64_t least = larger(MINUTE, smaller(LEAST, step));
    if (live->raises >= m->set.extend_times || wanted < least || on_nodes_that_are_down(m, live)) {
        m->count.refused_most++;
        return 0;
    }
    if (holds_one_of(live, m->wanted)) {
        m->count.refused_waiting++;
        return 0;
    }
    const int64_t until = free_until(m, live, live->hard_end + wanted);
    const int64_t more = whole_minutes(until - live->hard_end);
    m->count.refused_planned += more < least;
    return more < least ? 0 : more;
}

static bool give(struct slurm *m, int32_t at, int64_t now) {
    struct slurm_live *live = &m->live[at];
    const int64_t left = live->hard_end - now;
    if (left <= 0 || left > lead_of(m, live) || live->lowered_at == now)
        return true;
    const int64_t more = more_for(m, live);
    if (more == 0)
        return true;
    live->raises++;
    live->raised_at = now;
    m->count.raises++;
    return change(m, at, live->limit + more, now);
}

static int sooner(const void *a, const void *b, void *model) {
    const struct slurm *m = model;
    const struct slurm_live *one = &m->live[*(const int32_t *)a], *two = &m->live[*(const int32_t *)b];
    if (one->hard_end != two->hard_end)
        return one->hard_end < two->hard_end ? -1 : 1;
    return (one->turn > two->turn) - (one->turn < two->turn);
}

/* Running jobs that were given more, or are within their lead. When a later round has something to do: *next.
 */
static bool find_near(struct slurm *m, int64_t now, size_t *count, int64_t *next) {
    *count = 0;
    *next = SLURM_NEVER;
    for (size_t i = 0; i < m->ends; i++) {
        const int32_t at = m->end[i].live;
        const struct slurm_live *live = &m->live[at];
        const int64_t look = live->hard_end - lead_of(m, live);
        if (!may_be_raised(m, live) || live->hard_end <= now)
            continue;
        if (look > now && live->limit <= live->asked) {
            *next = smaller(*next, look);
            continue;
        }
        if (*count == m->near_room && !slurm_grow(m, &m->near, &m->near_room, sizeof *m->near))
            return false;
        m->near[(*count)++] = at;
        *next = now;
    }
    if (*count > 1)
        qsort_r(m->near, *count, sizeof *m->near, sooner, m);
    return true;
}

bool slurm_extend(struct slurm *m, int64_t at) {
    size_t count;
    int64_t next;
    if (m->set.extend_every == 0 || at < m->next_look || (at - m->origin) % m->set.extend_every != 0)
        return true;
    if (!find_near(m, at, &count, &next))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!take_back(m, m->near[i], at))
            return false;
    if (count > 0)
        find_wanted(m);
    for (size_t i = 0; i < count; i++)
        if (!give(m, m->near[i], at))
            return false;
    m->next_look = next;
    return true;
}
