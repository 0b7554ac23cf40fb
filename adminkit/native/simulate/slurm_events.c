/* slurm_events.c - the seconds in which something is due, and what is done in one. */
#include "follow.h"
#include "slurm_model.h"

#include <stdio.h>

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t next_on_grid(const struct slurm *m, int64_t period) {
    return m->origin + slurm_floor(m->second - m->origin, period) + period;
}

/* The number of the job that comes next; SIM_NONE: all have come. */
static int32_t comes_next(const struct slurm *m) {
    const struct sim_job *jobs = m->sim->job;
    const int32_t late = sim_late(m->sim),
                  first = m->next_turn < m->sim->turns ? m->sim->turn[m->next_turn] : SIM_NONE;
    return late == SIM_NONE || (first != SIM_NONE && sim_earlier(&jobs[first], &jobs[late])) ? first : late;
}

static int64_t next_submit(const struct slurm *m) {
    const int32_t number = comes_next(m);
    return number != SIM_NONE ? m->sim->job[number].submit : SLURM_NEVER;
}

/* When a pass of the main loop that is requested may run. */
static int64_t pass_time(const struct slurm *m) {
    int64_t rest = m->set.sched_min_interval / 1000000;
    int64_t at = m->last_pass == SLURM_NO_TIME ? m->second + 1 : m->last_pass + rest;
    at = at > m->locked_until ? at : m->locked_until;
    return at > m->second ? at : m->second + 1;
}

/* The next second with something to do. `backfill`: it may run. */
static int64_t next_second(const struct slurm *m, bool backfill) {
    const struct sim_settings *set = &m->set;
    int64_t at = next_submit(m); /* this second's own, too */
    if (m->events > 0)
        at = earlier(at, m->event[0].at);
    if (m->next_change < m->changes)
        at = earlier(at, m->change[m->next_change].at);
    if (m->waiting > 0 || set->sched_min_interval > 1000000)
        at = earlier(at, next_on_grid(m, set->sched_interval));
    if (m->queued) {
        int64_t due = m->last_sched == SLURM_NO_TIME ? m->second + 1 : m->last_sched + set->batch_sched_delay;
        at = earlier(at, due > m->second ? due : m->second + 1);
    }
    if (m->waiting > 0)
        at = earlier(at, next_on_grid(m, set->priority_calc_period));
    if (m->requested)
        at = earlier(at, pass_time(m));
    if (m->next_look != SLURM_NEVER)
        at = earlier(at, slurm_next_round(m));
    if (backfill && set->backfill && m->changed >= m->last_bf) {
        int64_t due = m->last_bf + set->bf_interval;
        at = earlier(at, due > m->second ? due : m->second + 1);
    }
    return at;
}

static void background(struct slurm *m, int64_t at) {
    const struct sim_settings *set = &m->set;
    if (at > m->origin && m->waiting > 0 && (at - m->origin) % set->priority_calc_period == 0) {
        m->states += slurm_priorities(m, at);
        slurm_touched(m, at);
    }
    int64_t grid = m->origin + slurm_floor(at - m->origin, set->sched_interval);
    if (grid > m->last_full) {
        /* seconds in which nobody waited were left out */
        m->last_full = grid;
        m->last_sched = grid > m->last_sched ? grid : m->last_sched;
        m->queued = m->queued && m->queued_at >= grid;
        if (grid == at) {
            m->requested = m->requested_full = true;
            return;
        }
    }
    if (m->queued && (m->last_sched == SLURM_NO_TIME || at - m->last_sched >= set->batch_sched_delay)) {
        m->requested = true;
        m->last_sched = at;
        m->queued = false;
    }
}

static bool main_loop(struct slurm *m, int64_t at) {
    if (!m->requested || at < m->locked_until ||
        (m->last_pass != SLURM_NO_TIME && at - m->last_pass < m->set.sched_min_interval / 1000000))
        return true;
    bool full = m->requested_full;
    m->requested = m->requested_full = false;
    if (slurm_just_ended(m, at))
        return true;
    m->last_pass = at;
    return slurm_main_pass(m, at, full);
}

static bool backfill(struct slurm *m, int64_t at) {
    if (!m->set.backfill || at < m->last_bf + m->set.bf_interval || m->changed < m->last_bf ||
        slurm_just_ended(m, at))
        return true;
    if (m->waiting > 0)
        return slurm_backfill_pass(m, at);
    m->last_bf = at;
    return true;
}

/* Steps 1 to 5 of a second. */
static bool first_steps(struct slurm *m, int64_t at) {
    uint64_t states = m->states;
    slurm_change_nodes(m, at);
    background(m, at);
    m->second = at;
    if (m->states != states)
        m->idle_full = m->idle_over = false;
    if (m->failed || !main_loop(m, at))
        return false;
    states = m->states;
    while (slurm_finish(m, at))
        ;
    if (m->states != states)
        m->idle_full = m->idle_over = false;
    return !m->failed && main_loop(m, at) && slurm_extend(m, at);
}

static bool submissions(struct slurm *m, int64_t at) {
    while (next_submit(m) <= at) {
        const int32_t number = comes_next(m);
        m->idle_full = m->idle_over = false;
        if (m->sim->job[number].after == SIM_NONE)
            m->next_turn++;
        else
            sim_late_came(m->sim);
        if (!slurm_submit(m, number, m->came++))
            return false;
    }
    return true;
}

bool slurm_advance(struct slurm *m, int64_t until) {
    for (int64_t at; (at = next_second(m, false)) <= until;) {
        if (at > m->second && !first_steps(m, at))
            return false;
        if (!submissions(m, at))
            return false;
    }
    return !m->failed;
}

static bool over(const struct slurm *m) {
    bool quiet = m->events == 0 && m->next_change == m->changes && comes_next(m) == SIM_NONE;
    return quiet && (m->waiting == 0 || (m->idle_full && (m->idle_over || !m->set.backfill)));
}

static void say(struct slurm *m) {
    const struct slurm_counts *count = &m->count;
    sim_fact(m->sim, "passes", count->passes);
    sim_fact(m->sim, "full_passes", count->full_passes);
    sim_fact(m->sim, "backfill_passes", count->backfill_passes);
    sim_fact(m->sim, "job_tests", count->job_tests);
    sim_fact(m->sim, "reservations", count->reservations);
    sim_fact(m->sim, "main_starts", count->main_starts);
    sim_fact(m->sim, "backfill_starts", count->backfill_starts);
    sim_fact(m->sim, "backfill_repeats", count->backfill_repeats);
    sim_fact(m->sim, "most_waiting", count->most_waiting);
    if (m->set.extend_every == 0)
        return;
    sim_fact(m->sim, "raises", count->raises);
    sim_fact(m->sim, "lowered", count->lowered);
    sim_fact(m->sim, "refused_most", count->refused_most);
    sim_fact(m->sim, "refused_waiting", count->refused_waiting);
    sim_fact(m->sim, "refused_planned", count->refused_planned);
}

static bool run(struct slurm *m) {
    m->second = m->origin - 1;
    m->last_full = m->last_bf = m->origin;
    m->last_sched = m->last_pass = m->locked_until = m->changed = SLURM_NO_TIME;
    while (!over(m)) {
        int64_t at = next_second(m, true);
        if (at > m->second && (!first_steps(m, at) || !backfill(m, at)))
            return false;
        if (!submissions(m, at))
            return false;
    }
    return true;
}

bool sim_slurm(struct sim *sim) {
    struct slurm m = {0};
    bool done = slurm_open(&m, sim) && run(&m);
    if (!done && !sim->error[0])
        snprintf(sim->error, sizeof sim->error, "out of memory for %zu jobs", sim->jobs);
    say(&m);
    slurm_close(&m);
    return done;
}
