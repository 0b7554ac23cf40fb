/* elastic_waiting.c - who waits, in order, and who is given GPUs first.
 *
 * What a task had and what is left of it do not change while it waits, so its place does not either: a look
 * costs what runs and what starts, not what waits. */
#include "elastic.h"

#include <stdlib.h>

/* GPU-seconds: who got less than the first comes first, then who got less than the second. */
static const int64_t levels[] = {3600, 36000};

int32_t elastic_first_size(const struct elastic *e, const struct elastic_task *task) {
    return e->sim->set.policy == ELASTIC_ELASTIC ? task->least : task->asked;
}

int64_t elastic_rank(const struct elastic *e, const struct elastic_task *task) {
    if (e->sim->set.policy == ELASTIC_LAS)
        return task->served < levels[0] ? 0 : task->served < levels[1] ? 1 : 2;
    return elastic_rest(task, elastic_first_size(e, task));
}

bool elastic_wait(struct elastic *e, int32_t number) {
    struct elastic_task *task = &e->task[number];
    const int32_t size = elastic_first_size(e, task);
    task->rank = elastic_rank(e, task);
    task->held = false;
    task->target = SIM_NONE;
    e->waits++;
    e->wanted += INT64_C(1) << size;
    return elastic_push(&e->waiting[size], (struct elastic_key){0, task->rank, number});
}

/* Among the first ones that wait for no more GPUs than are free, the size of the earliest; SIM_NONE:
 * there is none. */
static int32_t next_size(const struct elastic *e, int64_t free) {
    int32_t best = SIM_NONE;
    for (int32_t size = 0; size < SIM_CURVE_SIZES && INT64_C(1) << size <= free; size++) {
        const struct elastic_heap *line = &e->waiting[size];
        if (line->used && (best == SIM_NONE || elastic_before(&line->key[0], &e->waiting[best].key[0])))
            best = size;
    }
    return best;
}

static void give(struct elastic *e, int32_t number, int64_t *free) {
    struct elastic_task *task = &e->task[number];
    const int32_t size = elastic_first_size(e, task);
    if (INT64_C(1) << size <= *free) {
        task->target = size;
        *free -= INT64_C(1) << size;
    }
}

/* Everybody, in any order. */
static void give_all(struct elastic *e, size_t count, int64_t *free) {
    for (size_t i = 0; i < count; i++)
        give(e, e->order[i].item, free);
    for (int32_t size = 0; size < SIM_CURVE_SIZES; size++) {
        for (size_t i = 0; i < e->waiting[size].used; i++) {
            give(e, e->waiting[size].key[i].item, free);
            e->active[e->actives++] = e->waiting[size].key[i].item;
        }
        e->waiting[size].used = 0;
    }
    e->waits = 0;
    e->wanted = 0;
}

/* Those who run and those who wait, merged. */
static void give_in_order(struct elastic *e, size_t count, int64_t *free) {
    qsort(e->order, count, sizeof *e->order, elastic_by_key);
    for (size_t i = 0; i <= count && *free > 0; i++) {
        const struct elastic_key *key = i < count ? &e->order[i] : NULL;
        int32_t size;
        while ((size = next_size(e, *free)) != SIM_NONE &&
               (!key || elastic_before(&e->waiting[size].key[0], key))) {
            const int32_t number = elastic_pop(&e->waiting[size]).item;
            e->waits--;
            e->wanted -= INT64_C(1) << size;
            give(e, number, free);
            e->active[e->actives++] = number;
        }
        if (key)
            give(e, key->item, free);
    }
}

static int by_number(const void *a, const void *b) {
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : 1;
}

void elastic_hand_out(struct elastic *e, size_t count, int64_t *free) {
    int64_t wanted = e->wanted;
    for (size_t i = 0; i < count; i++)
        wanted += INT64_C(1) << elastic_first_size(e, &e->task[e->order[i].item]);
    e->actives = 0;
    if (wanted <= *free)
        give_all(e, count, free);
    else
        give_in_order(e, count, free);
    qsort(e->active, e->actives, sizeof *e->active, by_number);
    size_t came = e->actives, runs = e->runs; /* from the back: each place is read before it is written */
    e->actives += runs;
    for (size_t at = e->actives; runs; at--)
        e->active[at - 1] =
            came && e->active[came - 1] > e->running[runs - 1] ? e->active[--came] : e->running[--runs];
}

bool elastic_sort_out(struct elastic *e) {
    e->runs = 0;
    for (size_t i = 0; i < e->actives; i++) {
        if (e->task[e->active[i]].size != SIM_NONE)
            e->running[e->runs++] = e->active[i];
        else if (!elastic_wait(e, e->active[i]))
            return false;
    }
    return true;
}
