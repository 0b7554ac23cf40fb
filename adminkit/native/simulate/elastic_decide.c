/* elastic_decide.c - how many GPUs each task is to have now, and the acts that follow. */
#include "elastic.h"

#include <math.h>
#include <stdlib.h>

void elastic_progress(struct elastic *e, struct elastic_task *task, int64_t now) {
    if (task->size != SIM_NONE) {
        const int64_t from = task->at > task->ready ? task->at : task->ready;
        elastic_spend(&e->sim->energy[task->job], task->curve->watts[task->size], now - task->at);
        elastic_spend(&task->served, INT64_C(1) << task->size, now - task->at);
        if (now > from) {
            const int64_t done = task->curve->rate[task->size] * (now - from);
            task->left = done < task->left ? task->left - done : 0;
        }
    }
    task->at = now;
}

static bool pays(const struct elastic *e, const struct elastic_task *task, int32_t size) {
    return elastic_rest(task, task->size) - elastic_rest(task, size) > e->sim->set.restart;
}

/* Whether its size must stay: it changed not long ago, or is about to end. */
static bool is_held(const struct elastic *e, const struct elastic_task *task, int64_t now) {
    return task->size != SIM_NONE &&
           (now - task->changed < e->sim->set.hold || elastic_rest(task, task->size) <= e->sim->set.restart);
}

void elastic_steps(const struct sim_settings *set, const struct sim_curve *curve, int32_t least,
                   double *score) {
    for (int32_t size = 0; size < SIM_CURVE_SIZES; size++) {
        const int32_t next = size + 1;
        score[size] = -1;
        if (size < least || next == SIM_CURVE_SIZES || curve->rate[next] <= curve->rate[size])
            continue;
        const int64_t linear = (int64_t)curve->rate[least] << (next - least);
        if ((int64_t)curve->rate[next] * 1000 < set->efficiency * linear)
            continue;
        const double slow = curve->rate[size], fast = curve->rate[next];
        const double before = (double)(curve->watts[size] - (set->idle_watts << size)) / slow;
        const double after = (double)(curve->watts[next] - (set->idle_watts << next)) / fast;
        score[size] = after > before ? (1 / slow - 1 / fast) / (after - before) : INFINITY;
    }
}

/* Takes every step that may be taken, if there are GPUs for all of them: then their order does not matter. */
static bool grow_all(struct elastic *e, int64_t *free) {
    int64_t left = *free;
    for (size_t i = 0; i < e->actives && left >= 0; i++) {
        const struct elastic_task *task = &e->task[e->active[i]];
        int32_t size = task->target;
        while (!task->held && size != SIM_NONE && task->step[size] >= 0)
            left -= INT64_C(1) << size++;
    }
    if (left < 0)
        return false;
    for (size_t i = 0; i < e->actives; i++) {
        struct elastic_task *task = &e->task[e->active[i]];
        while (!task->held && task->target != SIM_NONE && task->step[task->target] >= 0)
            task->target++;
    }
    *free = left;
    return true;
}

/* Doubles the best one after the other. False: no memory. */
static bool grow(struct elastic *e, int64_t *free) {
    struct elastic_key key;
    if (grow_all(e, free))
        return true;
    e->steps.used = 0;
    for (size_t i = 0; i < e->actives; i++) {
        const struct elastic_task *task = &e->task[e->active[i]];
        if (task->held || task->target == SIM_NONE || task->step[task->target] < 0)
            continue;
        key = (struct elastic_key){task->step[task->target], task->rank, e->active[i]};
        if (!elastic_push(&e->steps, key))
            return false;
    }
    while (e->steps.used && *free > 0) {
        key = e->steps.key[0];
        struct elastic_task *task = &e->task[key.item];
        const int64_t more = INT64_C(1) << task->target;
        key.score = -1;
        if (more <= *free) {
            *free -= more;
            key.score = task->step[++task->target];
        }
        if (key.score >= 0)
            elastic_replace(&e->steps, key);
        else
            elastic_pop(&e->steps);
    }
    return true;
}

/* Who keeps its size at no one's cost keeps it, and who gains less than a restart does. */
static void keep(struct elastic *e, int64_t *free) {
    for (size_t i = 0; i < e->actives; i++) {
        struct elastic_task *task = &e->task[e->active[i]];
        if (task->size != SIM_NONE && task->target > task->size && !pays(e, task, task->target)) {
            *free += (INT64_C(1) << task->target) - (INT64_C(1) << task->size);
            task->target = task->size;
        }
    }
    for (size_t i = 0; i < e->actives; i++) {
        struct elastic_task *task = &e->task[e->active[i]];
        if (task->target >= task->size)
            continue;
        const int64_t less =
            (INT64_C(1) << task->size) - (task->target == SIM_NONE ? 0 : INT64_C(1) << task->target);
        if (less <= *free) {
            *free -= less;
            task->target = task->size;
        }
    }
}

/* Gives every active task its target; `free` GPUs are there for all of them. False: no memory. */
static bool aim(struct elastic *e, int64_t now, int64_t free) {
    size_t count = 0;
    for (size_t i = 0; i < e->runs; i++) {
        struct elastic_task *task = &e->task[e->running[i]];
        task->rank = elastic_rank(e, task);
        task->held = is_held(e, task, now);
        task->target = task->held ? task->size : SIM_NONE;
        if (task->held)
            free -= INT64_C(1) << task->size;
        else
            e->order[count++] = (struct elastic_key){0, task->rank, e->running[i]};
    }
    elastic_hand_out(e, count, &free);
    if (e->sim->set.policy == ELASTIC_ELASTIC && !grow(e, &free))
        return false;
    keep(e, &free);
    return true;
}

/* Its block is taken already. False: no memory. */
static bool resize(struct elastic *e, int32_t number, int32_t size, struct elastic_block block, int64_t now) {
    struct elastic_task *task = &e->task[number];
    task->size = size;
    task->block = block;
    task->at = task->ready = now;
    if (task->ran) {
        e->sim->resizes[task->job]++;
        task->ready = now + e->sim->set.restart;
        task->changed = now;
    } else {
        task->ran = true;
        elastic_began(e->sim, &e->sim->job[task->job], now);
    }
    task->end = task->ready + elastic_rest(task, size);
    return elastic_push(&e->ends, (struct elastic_key){0, task->end, number});
}

static bool shrink(struct elastic *e, int32_t number, int64_t now) {
    struct elastic_task *task = &e->task[number];
    elastic_set(&e->machine, &task->block, false, now);
    if (task->target == SIM_NONE) {
        task->size = SIM_NONE;
        return true;
    }
    const struct elastic_block block = elastic_part(&e->machine, task->block, task->target);
    elastic_set(&e->machine, &block, true, now);
    return resize(e, number, task->target, block, now);
}

/* Starts a task, or gives it more GPUs: as many of its target as a block is free for. */
static bool enlarge(struct elastic *e, int32_t number, int64_t now) {
    struct elastic_task *task = &e->task[number];
    const bool runs = task->size != SIM_NONE;
    const bool elastic = e->sim->set.policy == ELASTIC_ELASTIC;
    const int32_t lowest = runs ? task->size + 1 : elastic ? task->least : task->target;
    struct elastic_block block;
    if (runs)
        elastic_set(&e->machine, &task->block, false, now);
    for (int32_t size = task->target; size >= lowest; size--) {
        if (!task->curve->rate[size] || (runs && !pays(e, task, size)))
            continue;
        if (elastic_take(&e->machine, 1 << size, now, &block))
            return resize(e, number, size, block, now);
    }
    if (runs)
        elastic_set(&e->machine, &task->block, true, now);
    return true;
}

static bool act(struct elastic *e, int64_t now) {
    size_t count = 0;
    for (size_t i = 0; i < e->actives; i++) {
        const struct elastic_task *task = &e->task[e->active[i]];
        if (task->target > task->size)
            e->order[count++] = (struct elastic_key){task->target, 0, e->active[i]};
        else if (task->target < task->size && !shrink(e, e->active[i], now))
            return false;
    }
    qsort(e->order, count, sizeof *e->order, elastic_by_key); /* large blocks first */
    for (size_t i = 0; i < count; i++)
        if (!enlarge(e, e->order[i].item, now))
            return false;
    return true;
}

/* Looks again when the first hold ends; las, too, when a turn of those who wait could come. */
static void set_next_look(struct elastic *e, int64_t now) {
    const struct sim_settings *set = &e->sim->set;
    e->last_look = now;
    e->next_look = INT64_MAX;
    for (size_t i = 0; i < e->runs; i++) {
        const struct elastic_task *task = &e->task[e->running[i]];
        if (task->held && now - task->changed < set->hold && task->changed + set->hold < e->next_look)
            e->next_look = task->changed + set->hold;
    }
    if (e->waits && set->policy == ELASTIC_LAS && now + set->hold < e->next_look)
        e->next_look = now + set->hold;
    if (e->next_look < now + set->look)
        e->next_look = now + set->look;
}

bool elastic_decide(struct elastic *e, int64_t now) {
    int64_t free = e->machine.free;
    for (size_t i = 0; i < e->runs; i++) {
        struct elastic_task *task = &e->task[e->running[i]];
        elastic_progress(e, task, now);
        free += INT64_C(1) << task->size;
    }
    if (!aim(e, now, free) || !act(e, now) || !elastic_sort_out(e))
        return false;
    set_next_look(e, now);
    return true;
}
