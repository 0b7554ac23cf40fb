/* slurm_backfill.c - the backfill loop: a start now, or a reservation, for each job that is tested. */
#include "slurm_backfill.h"

#include <stdlib.h>
#include <string.h>

static struct slurm_backfill *open_pass(struct slurm *m, int64_t at) {
    const struct sim_settings *set = &m->set;
    struct slurm_backfill *b = m->backfill;
    if (!b) {
        m->backfill = b = calloc(1, sizeof *b);
        if (!b || !(b->tests_by = calloc(m->user_count + 1, sizeof *b->tests_by)) ||
            !(b->free = calloc(3 * m->words, sizeof *b->free)) || !slurm_memos_open(m, &b->memos))
            return NULL;
        b->nodes = b->free + m->words;
        b->able = b->nodes + m->words;
    }
    b->began = b->now = b->resumed = at;
    b->window_end = slurm_floor(at + set->bf_window, set->bf_resolution);
    b->micros = b->yielded = b->tests = b->starts = 0;
    b->plans = 0;
    b->same_until = SLURM_NEVER;
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
    slurm_memos_close(&b->memos);
    free(b->record);
    free(b->plan);
    free(b->plan_nodes);
    free(b);
}

bool slurm_yield(struct slurm *m, struct slurm_backfill *b) {
    if (b->micros - b->yielded < m->set.bf_yield_interval)
        return true;
    uint64_t changes = m->change_count;
    m->locked_until = b->now;
    b->micros += m->set.bf_yield_sleep;
    b->yielded = b->micros;
    b->now = b->resumed = b->began + b->micros / 1000000;
    return slurm_advance(m, b->now) && (m->set.bf_continue || m->change_count == changes);
}

/* Whether the pass's limits let this record be tested; counts it. */
static bool in_depth(struct slurm *m, struct slurm_backfill *b, const struct slurm_candidate *job) {
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

static enum slurm_go one_record(struct slurm *m, struct slurm_backfill *b,
                                const struct slurm_record *record) {
    const struct sim_settings *set = &m->set;
    size_t queue = record->turn_queue % SIM_MAX_QUEUES;
    if (!record->backfill)
        return SLURM_NEXT;
    if (b->tests >= set->bf_max_job_test || b->window_end < b->now || b->now - b->began >= set->bf_max_time ||
        !slurm_yield(m, b))
        return SLURM_STOP;
    if (!slurm_waits(m, record) || slurm_qos_holds(m, &m->live[record->live]))
        return SLURM_NEXT;
    const struct slurm_live *live = &m->live[record->live];
    const struct sim_job *given = live->job;
    struct slurm_candidate job = {record,
                                  &m->shape[record->shape],
                                  slurm_array_of(m, live, SLURM_BACKFILL, b->pass),
                                  queue,
                                  given->limit,
                                  0,
                                  false};
    int64_t most = m->queue[queue].max_limit;
    if (b->now - given->submit < set->bf_min_age_reserve)
        slurm_same_until(b, given->submit + set->bf_min_age_reserve);
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
        return SLURM_NEXT;
    return slurm_try_starts(m, b, &job);
}

/* How long planned ends stay what they are. */
static void same_ends(struct slurm *m, struct slurm_backfill *b) {
    for (size_t i = 0; i < m->ends && (i == 0 || m->soft_ends); i++) {
        const struct slurm_live *live = &m->live[m->end[i].live];
        bool outlived = live->soft_start < b->now && live->soft_start != SLURM_NO_TIME;
        slurm_same_until(b, m->soft_ends && outlived ? b->now : m->end[i].at);
    }
}

/* A pass that would find all as the last one, which started nobody. */
static bool repeats(struct slurm *m, int64_t at) {
    struct slurm_backfill *b = m->backfill;
    if (m->set.test_micros > 0 || m->set.bf_window < m->set.bf_resolution)
        return false;
    if (!b || b->starts > 0 || b->states != m->states || at >= b->same_until)
        return false;
    m->count.backfill_passes++;
    m->count.backfill_repeats++;
    m->count.job_tests += b->job_tests;
    m->count.reservations += b->reservations;
    m->last_bf = m->locked_until = at;
    m->idle_over = m->idle_full;
    return true;
}

bool slurm_backfill_pass(struct slurm *m, int64_t at) {
    if (repeats(m, at))
        return true;
    struct slurm_backfill *b = open_pass(m, at);
    struct slurm_counts before = m->count;
    if (!b)
        return false;
    slurm_tidy(m);
    same_ends(m, b);
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
        if (one_record(m, b, &record[i]) == SLURM_STOP)
            break;
    m->last_bf = m->locked_until = b->now;
    m->idle_over = m->idle_full && b->starts == 0;
    b->states = m->states;
    b->job_tests = m->count.job_tests - before.job_tests;
    b->reservations = m->count.reservations - before.reservations;
    return !m->failed;
}
