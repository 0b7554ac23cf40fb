/* slurm_site.c - the nodes of the site, and the memory of the model. */
#include "slurm_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES (1 << 20)
#define LONGEST (INT64_C(1) << 40) /* seconds or microseconds: more is as good as for ever */

bool slurm_grow(struct slurm *m, void *array, size_t *room, size_t size) {
    void **at = array;
    size_t wanted = *room ? *room * 2 : 64;
    void *more = realloc(*at, wanted * size);
    if (!more) {
        m->failed = true;
        return false;
    }
    *at = more;
    *room = wanted;
    return true;
}

static int by_number(const void *a, const void *b) {
    int32_t one = *(const int32_t *)a, two = *(const int32_t *)b;
    return (one > two) - (one < two);
}

/* The numbers that occur, once each, ascending. NULL: out of memory. */
static int32_t *numbers(const struct sim *sim, size_t offset, size_t *count) {
    int32_t *all = malloc((sim->jobs + 1) * sizeof *all);
    size_t n = 0, kept = 0;
    if (!all)
        return NULL;
    for (size_t i = 0; i < sim->jobs; i++) {
        int32_t number = *(int32_t *)((char *)&sim->job[i] + offset);
        if (number >= 0 && (n == 0 || all[n - 1] != number))
            all[n++] = number;
    }
    qsort(all, n, sizeof *all, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || all[kept - 1] != all[i])
            all[kept++] = all[i];
    *count = kept;
    return all;
}

int32_t slurm_dense(const int32_t *numbers, size_t n, int32_t number) {
    const int32_t *found = number < 0 ? NULL : bsearch(&number, numbers, n, sizeof *numbers, by_number);
    return found ? (int32_t)(found - numbers) : -1;
}

static bool fail(struct slurm *m, const char *what) {
    snprintf(m->sim->error, SIM_MESSAGE, "%s", what);
    return false;
}

static void cap(int64_t *value) {
    *value = *value > LONGEST ? LONGEST : *value;
}

/* Numbers that could overflow when they are added to a time. */
static void settings(struct slurm *m) {
    struct sim_settings *set = &m->set;
    *set = m->sim->set;
    int64_t *times[] = {
        &set->sched_interval,
        &set->sched_min_interval,
        &set->batch_sched_delay,
        &set->bf_interval,
        &set->bf_window,
        &set->bf_resolution,
        &set->bf_max_time,
        &set->bf_min_age_reserve,
        &set->bf_window_linear,
        &set->bf_yield_interval,
        &set->bf_yield_sleep,
        &set->kill_wait,
        &set->complete_wait,
        &set->epilog,
        &set->over_time_limit,
        &set->tick,
        &set->priority_calc_period,
        &set->priority_max_age,
        &set->test_micros,
        &set->extend_every,
        &set->extend_lead,
        &set->bf_max_job_test,
        &set->default_queue_depth,
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        cap(times[i]);
    if (set->bf_max_time == SIM_NONE)
        set->bf_max_time = set->bf_interval;
    m->soft = set->time_min_as_soft_limit == 1;
    m->soft_ends = m->soft && set->release >= 2505;
    m->newer = set->release >= 2311;
}

static void lay_out(struct slurm *m) {
    struct sim *sim = m->sim;
    size_t node = 0;
    for (size_t c = 0; c < sim->classes; c++) {
        const struct sim_nodes *class = &sim->nodes[c];
        for (int64_t i = 0; i < class->count; i++, node++) {
            m->node[node] = (struct slurm_node){.cls = (int32_t)c, .down = -1};
            m->full[node] = m->room[node] = m->later[node] =
                (struct slurm_room){class->mem, (int32_t) class->cpus, (int32_t) class->gpus, 0};
            m->key[node] = 2 * class->weight;
            m->site_cpus += class->cpus;
            slurm_put(m->up, node);
            for (size_t q = 0; q < sim->queues; q++)
                if (class->queues >> q & 1)
                    slurm_put(m->of_queue + q * m->words, node);
        }
    }
}

/* Queues in the order of their tiers, and what factors are measured by. */
static bool ranks(struct slurm *m) {
    struct sim *sim = m->sim;
    m->queue = malloc((sim->queues + 1) * sizeof *m->queue);
    if (!m->queue)
        return false;
    for (size_t q = 0; q < sim->queues; q++) {
        struct sim_queue *queue = &m->queue[q];
        *queue = sim->queue[q];
        cap(&queue->max_limit);
        cap(&queue->default_limit);
        for (size_t other = 0; other < sim->queues; other++)
            m->tier_rank[q] += sim->queue[other].tier > queue->tier;
        m->max_factor = (double)queue->factor > m->max_factor ? (double)queue->factor : m->max_factor;
    }
    for (size_t i = 0; i < sim->qoses; i++)
        m->max_qos = (double)sim->qos[i].priority > m->max_qos ? (double)sim->qos[i].priority : m->max_qos;
    return true;
}

static bool usages(struct slurm *m) {
    struct sim *sim = m->sim;
    m->users = numbers(sim, offsetof(struct sim_job, user), &m->user_count);
    m->arrays = numbers(sim, offsetof(struct sim_job, array), &m->array_count);
    m->array = calloc(m->array_count + 1, sizeof *m->array);
    m->array_reservations = calloc(m->array_count * sim->queues + 1, sizeof *m->array_reservations);
    m->group = calloc(sim->qoses + 1, sizeof *m->group);
    m->user_usage = calloc(sim->qoses + 1, sizeof(struct slurm_usage *));
    if (!m->users || !m->arrays || !m->array || !m->array_reservations || !m->group || !m->user_usage)
        return false;
    for (size_t i = 0; i < m->array_count; i++)
        m->array[i].reservations = m->array_reservations + i * sim->queues;
    for (size_t i = 0; i < sim->qoses; i++) {
        const struct sim_qos *qos = &sim->qos[i];
        if (qos->max_user_cpus == SIM_NONE && qos->max_user_gpus == SIM_NONE &&
            qos->max_user_jobs == SIM_NONE)
            continue;
        if (!(m->user_usage[i] = calloc(m->user_count + 1, sizeof(struct slurm_usage))))
            return false;
    }
    return true;
}

static int by_time(const void *a, const void *b) {
    const struct slurm_change *one = a, *two = b;
    if (one->at != two->at)
        return one->at < two->at ? -1 : 1;
    if (one->down != two->down)
        return one->down ? 1 : -1;
    return (one->line > two->line) - (one->line < two->line);
}

static bool downs(struct slurm *m) {
    struct sim *sim = m->sim;
    m->change = malloc((2 * sim->downs + 1) * sizeof *m->change);
    if (!m->change)
        return false;
    for (size_t i = 0; i < sim->downs; i++) {
        const struct sim_down *down = &sim->down[i];
        if (down->start >= down->end || down->end <= m->origin)
            continue;
        int64_t start = down->start < m->origin ? m->origin : down->start;
        m->change[m->changes++] = (struct slurm_change){start, i, true};
        m->change[m->changes++] = (struct slurm_change){down->end, i, false};
    }
    qsort(m->change, m->changes, sizeof *m->change, by_time);
    return true;
}

bool slurm_open(struct slurm *m, struct sim *sim) {
    int64_t nodes = 0;
    m->sim = sim;
    for (size_t c = 0; c < sim->classes; c++) {
        const struct sim_nodes *class = &sim->nodes[c];
        nodes += class->count > MOST_NODES ? MOST_NODES + 1 : class->count;
        if (nodes > MOST_NODES || class->cpus > INT32_MAX || class->gpus > INT32_MAX)
            return fail(
                m, "the site has more than 1048576 nodes, or a node has more than 2147483647 CPUs or GPUs");
    }
    settings(m);
    m->origin = sim->turns ? sim->job[sim->turn[0]].submit : 0;
    m->nodes = (size_t)nodes;
    m->words = m->nodes / 64 + 1;
    m->node = calloc(m->nodes + 1, sizeof *m->node);
    m->room = calloc(m->nodes + 1, sizeof *m->room);
    m->full = calloc(m->nodes + 1, sizeof *m->full);
    m->later = calloc(m->nodes + 1, sizeof *m->later);
    m->key = calloc(m->nodes + 1, sizeof *m->key);
    m->picked = calloc(m->nodes + 1, sizeof *m->picked);
    m->usable = calloc(m->nodes + 1, sizeof *m->usable);
    m->undo = calloc(m->nodes + 1, sizeof *m->undo);
    m->run = calloc(m->nodes + 1, sizeof *m->run);
    m->up = calloc(m->words * (8 + sim->queues), sizeof *m->up);
    if (!m->node || !m->room || !m->full || !m->later || !m->key || !m->picked || !m->usable || !m->undo ||
        !m->run || !m->up || !ranks(m) || !usages(m) || !downs(m) || !sim_promises_new(sim) ||
        !slurm_extend_open(m))
        return fail(m, "out of memory for the site");
    m->busy = m->up + m->words;
    m->completing = m->busy + m->words;
    m->held = m->completing + m->words;
    m->avail = m->held + m->words;
    m->set_a = m->avail + m->words;
    m->set_b = m->set_a + m->words;
    m->wanted = m->set_b + m->words;
    m->of_queue = m->wanted + m->words;
    lay_out(m);
    m->freed = 1;
    m->free_live = -1;
    return true;
}

void slurm_close(struct slurm *m) {
    slurm_backfill_close(m);
    for (size_t i = 0; i < m->lives; i++)
        if (m->live[i].state != SLURM_FREE && m->live[i].shares > 1)
            free(m->live[i].more);
    for (size_t i = 0; m->user_usage && i < m->sim->qoses; i++)
        free(m->user_usage[i]);
    void *all[] = {m->queue,       m->node,       m->room,   m->full,      m->later,
                   m->key,         m->picked,     m->usable, m->undo,      m->run,
                   m->up,          m->users,      m->arrays, m->array,     m->array_reservations,
                   m->group,       m->user_usage, m->change, m->sets.word, m->shape,
                   m->shape_chain, m->live,       m->line,   m->event,     m->planned,
                   m->end,         m->near};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* A line takes its nodes: idle ones first. How many there were. */
static size_t take_down(struct slurm *m, size_t line) {
    const struct sim_down *down = &m->sim->down[line];
    int64_t wanted = down->count;
    size_t taken = 0;
    for (int busy = 0; busy < 2; busy++)
        for (size_t i = 0; i < m->nodes && wanted > 0; i++) {
            struct slurm_node *node = &m->node[i];
            bool idle = m->room[i].jobs == 0 && node->completing == 0;
            if (node->cls != down->nodes || node->down >= 0 || idle == (busy == 1))
                continue;
            node->down = (int32_t)line;
            slurm_drop(m->up, i);
            wanted--;
            taken++;
        }
    return taken;
}

static size_t give_up(struct slurm *m, size_t line) {
    size_t given = 0;
    for (size_t i = 0; i < m->nodes; i++) {
        if (m->node[i].down != (int32_t)line)
            continue;
        m->node[i].down = -1;
        slurm_put(m->up, i);
        given++;
    }
    return given;
}

void slurm_change_nodes(struct slurm *m, int64_t at) {
    for (; m->next_change < m->changes && m->change[m->next_change].at <= at; m->next_change++) {
        const struct slurm_change *change = &m->change[m->next_change];
        m->idle_full = m->idle_over = false; /* also where the line has no node */
        if ((change->down ? take_down : give_up)(m, change->line) == 0)
            continue;
        m->freed++;
        slurm_changed(m, at);
    }
}
