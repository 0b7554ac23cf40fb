/* slurm_running.c - jobs from their start to their release, in the order of their ends. */
#include "follow.h"
#include "slurm_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Ends before releases, each by turn. */
static bool sooner(const struct slurm_event *a, const struct slurm_event *b) {
    if (a->at != b->at)
        return a->at < b->at;
    return a->release != b->release ? b->release : a->turn < b->turn;
}

static bool push(struct slurm *m, struct slurm_event event) {
    if (m->events == m->event_room && !slurm_grow(m, &m->event, &m->event_room, sizeof event))
        return false;
    size_t at = m->events++;
    for (; at > 0 && sooner(&event, &m->event[(at - 1) / 2]); at = (at - 1) / 2)
        m->event[at] = m->event[(at - 1) / 2];
    m->event[at] = event;
    return true;
}

static struct slurm_event pop(struct slurm *m) {
    struct slurm_event first = m->event[0], last = m->event[--m->events];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < m->events; at = child) {
        if (child + 1 < m->events && sooner(&m->event[child + 1], &m->event[child]))
            child++;
        if (!sooner(&m->event[child], &last))
            break;
        m->event[at] = m->event[child];
    }
    m->event[at] = last;
    return first;
}

/* Takes the end of a running job out. */
static void drop(struct slurm *m, int32_t live) {
    size_t at = 0;
    while (m->event[at].live != live || m->event[at].release)
        at++;
    struct slurm_event last = m->event[--m->events];
    if (at == m->events)
        return;
    for (; at > 0 && sooner(&last, &m->event[(at - 1) / 2]); at = (at - 1) / 2)
        m->event[at] = m->event[(at - 1) / 2];
    for (size_t child; (child = 2 * at + 1) < m->events; at = child) {
        if (child + 1 < m->events && sooner(&m->event[child + 1], &m->event[child]))
            child++;
        if (!sooner(&m->event[child], &last))
            break;
        m->event[at] = m->event[child];
    }
    m->event[at] = last;
}

int64_t slurm_soft_end(const struct slurm_live *live, int64_t now) {
    if (live->soft_start == SLURM_NO_TIME)
        return live->hard_end;
    if (live->soft_start >= now)
        return live->soft_start;
    return live->hard_end > now ? now + (live->hard_end - now) / 2 : live->hard_end;
}

static bool ends_first(const struct slurm_end *a, const struct slurm_end *b) {
    return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

static size_t place(const struct slurm *m, const struct slurm_end *end) {
    size_t low = 0, high = m->ends;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ends_first(&m->end[middle], end))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Soft limits order as they are, also when the job has outlived its own. */
static struct slurm_end end_of(const struct slurm *m, int32_t at) {
    const struct slurm_live *live = &m->live[at];
    bool soft = m->soft_ends && live->soft_start != SLURM_NO_TIME;
    return (struct slurm_end){soft ? live->soft_start : live->hard_end, live->turn, at};
}

static bool add_end(struct slurm *m, int32_t at) {
    struct slurm_end end = end_of(m, at);
    if (m->ends == m->end_room && !slurm_grow(m, &m->end, &m->end_room, sizeof end))
        return false;
    size_t to = place(m, &end);
    memmove(&m->end[to + 1], &m->end[to], (m->ends - to) * sizeof end);
    m->end[to] = end;
    m->ends++;
    return true;
}

static void remove_end(struct slurm *m, int32_t at) {
    struct slurm_end end = end_of(m, at);
    size_t from = place(m, &end);
    memmove(&m->end[from], &m->end[from + 1], (--m->ends - from) * sizeof end);
}

void slurm_give_back(struct slurm *m, const struct slurm_live *live, struct slurm_room *room) {
    const struct slurm_shape *shape = &m->shape[live->shape];
    for (int32_t i = 0; i < live->shares; i++) {
        const struct slurm_share *share = slurm_shares(live) + i;
        struct slurm_room *on = &room[share->node];
        if (shape->whole) {
            *on = m->full[share->node];
            continue;
        }
        on->cpus += share->cpus;
        on->gpus += shape->gpus;
        on->mem += shape->mem;
        on->jobs--;
    }
}

static void occupy(struct slurm *m, const struct slurm_live *live) {
    const struct slurm_shape *shape = &m->shape[live->shape];
    for (int32_t i = 0; i < live->shares; i++) {
        const struct slurm_share *share = slurm_shares(live) + i;
        size_t node = (size_t)share->node;
        struct slurm_room *on = &m->room[node];
        if (shape->whole) {
            *on = (struct slurm_room){.jobs = 1};
            m->node[node].whole++;
            slurm_put(m->held, node);
        } else {
            on->cpus -= share->cpus;
            on->gpus -= shape->gpus;
            on->mem -= shape->mem;
            on->jobs++;
        }
        assert(on->cpus >= 0 && on->gpus >= 0 && on->mem >= 0); /* nothing is given twice */
        m->later[node] = *on;
        slurm_put(m->busy, node);
    }
}

static void vacate(struct slurm *m, const struct slurm_live *live) {
    slurm_give_back(m, live, m->room);
    for (int32_t i = 0; i < live->shares; i++) {
        size_t node = (size_t)slurm_shares(live)[i].node;
        m->later[node] = m->room[node];
        if (m->room[node].jobs == 0)
            slurm_drop(m->busy, node);
        if (m->shape[live->shape].whole && --m->node[node].whole == 0)
            slurm_drop(m->held, node);
    }
    m->freed++;
}

static void complete(struct slurm *m, const struct slurm_live *live, int32_t sign) {
    for (int32_t i = 0; i < live->shares; i++) {
        size_t node = (size_t)slurm_shares(live)[i].node;
        m->node[node].completing += sign;
        if (m->node[node].completing > 0)
            slurm_put(m->completing, node);
        else
            slurm_drop(m->completing, node);
    }
    m->completing_jobs += (size_t)sign;
}

/* When the job ends with this limit, what becomes of it, and for how long its nodes complete. */
static void end_with(struct slurm *m, struct slurm_live *live, int64_t limit) {
    const struct sim_settings *set = &m->set;
    struct sim_job *job = live->job;
    int64_t kill = SLURM_NEVER, completes = set->epilog, at = job->start;
    live->limit = limit;
    live->hard_end = at + (limit == SIM_NONE ? SLURM_YEAR : limit);
    if (limit != SIM_NONE)
        kill = m->origin + slurm_ceil(live->hard_end + set->over_time_limit - m->origin, set->tick);
    live->killed = kill < at + job->run;
    if (live->killed)
        completes += set->kill_wait;
    job->end = live->killed ? kill : at + job->run;
    job->outcome = limit != SIM_NONE && job->run > limit + set->over_time_limit ? SIM_KILLED : SIM_DONE;
    live->release = job->end + completes;
}

static void fate(struct slurm *m, struct slurm_live *live, int64_t at, int64_t limit) {
    const struct sim_job *job = live->job;
    sim_start(m->sim, live->job, at);
    end_with(m, live, limit);
    live->asked = limit;
    live->raises = 0;
    live->raised_at = live->lowered_at = SLURM_NO_TIME;
    live->soft_start = SLURM_NO_TIME;
    if (m->soft && job->plan != SIM_NONE && (limit == SIM_NONE || job->plan < limit))
        live->soft_start = at + job->plan;
    slurm_look_at(m, live);
}

bool slurm_start(struct slurm *m, const struct slurm_record *record, int64_t at, int64_t limit) {
    struct slurm_live *live = &m->live[record->live];
    live->shape = record->shape;
    live->shares = (int32_t)m->npicked;
    live->one = m->picked[0];
    if (live->shares > 1 && !(live->more = malloc(m->npicked * sizeof *live->more))) {
        live->shares = 0;
        m->failed = true;
        return false;
    }
    if (live->shares > 1)
        memcpy(live->more, m->picked, m->npicked * sizeof *live->more);
    live->state = SLURM_RUNNING;
    m->waiting--;
    m->idle_full = m->idle_over = false;
    m->dead += (size_t)__builtin_popcountll((uint64_t)live->job->queues);
    fate(m, live, at, limit);
    occupy(m, live);
    slurm_qos_count(m, live, 1);
    slurm_changed(m, at);
    return add_end(m, record->live) &&
           push(m, (struct slurm_event){live->job->end, live->turn, record->live, false});
}

bool slurm_set_limit(struct slurm *m, int32_t at, int64_t limit, int64_t now) {
    struct slurm_live *live = &m->live[at];
    remove_end(m, at);
    drop(m, at);
    end_with(m, live, limit);
    slurm_changed(m, now);
    return add_end(m, at) && push(m, (struct slurm_event){live->job->end, live->turn, at, false});
}

/* Since 23.11 slurmctld is not told of an end apart where there is no epilog and nothing to kill. */
static void ask_for_pass(struct slurm *m, const struct slurm_live *live, int64_t at) {
    if (!m->newer || m->set.epilog > 0 || live->killed)
        m->requested = true;
    else
        slurm_queue_pass(m, at);
}

static void let_go(struct slurm *m, int32_t at, int64_t now) {
    struct slurm_live *live = &m->live[at];
    ask_for_pass(m, live, now);
    if (live->shares > 1)
        free(live->more);
    live->shares = 0;
    live->state = SLURM_FREE;
    live->next_free = m->free_live;
    m->free_live = at;
}

bool slurm_finish(struct slurm *m, int64_t at) {
    if (m->events == 0 || m->event[0].at > at)
        return false;
    struct slurm_event event = pop(m);
    struct slurm_live *live = &m->live[event.live];
    slurm_changed(m, event.at);
    if (event.release) {
        complete(m, live, -1);
        m->freed++;
        let_go(m, event.live, event.at);
        return true;
    }
    remove_end(m, event.live);
    sim_ended(m->sim, live->job);
    vacate(m, live);
    slurm_qos_count(m, live, -1);
    if (live->release == event.at) {
        let_go(m, event.live, event.at);
        return true;
    }
    live->state = SLURM_COMPLETING;
    complete(m, live, 1);
    return push(m, (struct slurm_event){live->release, live->turn, event.live, true});
}

bool slurm_just_ended(const struct slurm *m, int64_t at) {
    if (m->set.complete_wait == 0 || m->completing_jobs == 0)
        return false;
    for (size_t i = 0; i < m->events; i++)
        if (m->event[i].release && m->live[m->event[i].live].job->end >= at - m->set.complete_wait)
            return true;
    return false;
}
