/* elastic.c - what happens when: submissions, ends, starts of fixed jobs, and looks at what could be better.
 */
#include "elastic.h"
#include "follow.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_AGO (-(INT64_C(1) << 60))
#define LONGEST (INT64_C(1) << 58) /* seconds of all jobs, each as slow as can be */

static bool refuse(struct sim *sim, const char *why) {
    snprintf(sim->error, sizeof sim->error, "%s", why);
    return false;
}

/* The fewest GPUs that a curve knows, as a power. */
static int32_t least_size(const struct sim_curve *curve) {
    int32_t size = 0;
    while (size < SIM_CURVE_SIZES && !curve->rate[size])
        size++;
    return size;
}

/* Whether there is one size at least, and no gap between two. */
static bool is_whole(const struct sim_curve *curve) {
    int32_t size = least_size(curve), end = size;
    while (end < SIM_CURVE_SIZES && curve->rate[end])
        end++;
    for (int32_t i = end; i < SIM_CURVE_SIZES; i++)
        if (curve->rate[i])
            return false;
    return size < SIM_CURVE_SIZES;
}

/* False: sim->error. */
static bool check(struct sim *sim) {
    const struct sim_settings *set = &sim->set;
    const int64_t gpus = sim->nodes[0].gpus;
    int64_t total = 0;
    if (sim->classes != 1 || gpus < 1 || gpus > 64 || (gpus & (gpus - 1)) || sim->nodes[0].count < 1 ||
        sim->nodes[0].count > 1 << 20)
        return refuse(
            sim,
            "elastic: needs a single class of nodes whose number of GPUs is a power of two and at most 64");
    if (set->policy >= ELASTIC_POLICIES || set->efficiency > 1000 || set->hold > INT32_MAX ||
        set->look > INT32_MAX || set->restart >= set->hold || set->idle_watts > INT32_MAX ||
        set->sleep_watts > INT32_MAX)
        return refuse(sim, "elastic: a setting is out of range, or restart is not below hold");
    if (sim->followers)
        return refuse(sim, "elastic: jobs cannot follow other jobs");
    for (size_t i = 0; i < sim->curves; i++)
        if (!is_whole(&sim->curve[i]))
            return refuse(sim, "elastic: a curve has a gap or is empty");
    for (size_t i = 0; i < sim->jobs; i++) {
        const struct sim_job *job = &sim->job[i];
        int64_t slowest = job->run;
        if (job->curve != SIM_NONE) {
            const int32_t *rate = sim->curve[job->curve].rate;
            if (job->gpus < 1 || job->gpus > 64 || (job->gpus & (job->gpus - 1)) ||
                !rate[elastic_size(job->gpus)])
                return refuse(sim, "elastic: a curve has no entry for a job's number of GPUs");
            int32_t lowest = INT32_MAX;
            for (int32_t size = 0; size < SIM_CURVE_SIZES; size++)
                lowest = rate[size] && rate[size] < lowest ? rate[size] : lowest;
            slowest =
                elastic_ceil((int64_t)(job->run > 0 ? job->run : 0) * rate[elastic_size(job->gpus)], lowest);
        }
        if (slowest > LONGEST - total)
            return refuse(sim, "elastic: the jobs run too long");
        total += slowest > 0 ? slowest : 0;
    }
    return true;
}

/* False: no memory. */
static bool room(struct elastic *e) {
    struct sim *sim = e->sim;
    e->block = malloc((sim->jobs + 1) * sizeof *e->block);
    e->step = malloc((sim->curves + 1) * SIM_CURVE_SIZES * sizeof *e->step);
    e->started = malloc((sim->jobs + 1) * sizeof *e->started);
    e->task = malloc((sim->jobs + 1) * sizeof *e->task);
    e->running = malloc((sim->jobs + 1) * sizeof *e->running);
    e->active = malloc((sim->jobs + 1) * sizeof *e->active);
    e->order = malloc((sim->jobs + 1) * sizeof *e->order);
    sim->energy = malloc((sim->jobs + 1) * sizeof *sim->energy);
    sim->resizes = calloc(sim->jobs + 1, sizeof *sim->resizes);
    for (size_t i = 0; e->step && i < sim->curves; i++)
        elastic_steps(&sim->set, &sim->curve[i], least_size(&sim->curve[i]), e->step + i * SIM_CURVE_SIZES);
    for (size_t i = 0; sim->energy && i < sim->jobs; i++)
        sim->energy[i] = sim->job[i].curve == SIM_NONE ? SIM_NONE : 0;
    return e->block && e->step && e->started && e->task && e->running && e->active && e->order &&
           sim->energy && sim->resizes;
}

/* Those that can change; in fifo's schedule they had no more than a place in the queue. */
static void tasks_of(struct elastic *e) {
    struct sim *sim = e->sim;
    for (size_t i = 0; i < sim->turns; i++) {
        struct sim_job *job = &sim->job[sim->turn[i]];
        if (job->start == SIM_NONE || elastic_is_fixed(job))
            continue;
        const struct sim_curve *curve = &sim->curve[job->curve];
        const int32_t asked = elastic_size(job->gpus);
        e->task[e->tasks++] = (struct elastic_task){.curve = curve,
                                                    .step = e->step + (size_t)job->curve * SIM_CURVE_SIZES,
                                                    .left = (int64_t)job->run * curve->rate[asked],
                                                    .changed = LONG_AGO,
                                                    .at = job->submit,
                                                    .job = sim->turn[i],
                                                    .asked = asked,
                                                    .least = least_size(curve),
                                                    .size = SIM_NONE};
        sim->energy[sim->turn[i]] = 0;
        job->start = job->end = job->order = SIM_NONE;
        job->outcome = SIM_NOT_RUN;
    }
    size_t fixed = 0;
    for (size_t i = 0; i < e->starts; i++)
        if (sim->job[e->started[i]].start != SIM_NONE)
            e->started[fixed++] = e->started[i];
    e->starts = fixed;
    sim->started = 0;
}

/* No act at all sooner than `look` seconds after the last one. */
static void look_soon(struct elastic *e, int64_t now) {
    const int64_t soon = e->last_look + e->sim->set.look;
    const int64_t when = soon > now ? soon : now;
    e->next_look = when < e->next_look ? when : e->next_look;
}

/* An end of a task that is still true, or of a fixed job, which is an item behind the tasks. */
static void end(struct elastic *e, struct elastic_key key, int64_t now) {
    if ((size_t)key.item >= e->tasks) {
        elastic_set(&e->machine, &e->block[(size_t)key.item - e->tasks], false, now);
        look_soon(e, now);
        return;
    }
    struct elastic_task *task = &e->task[key.item];
    if (task->size == SIM_NONE || task->end != now)
        return;
    elastic_progress(e, task, now);
    elastic_set(&e->machine, &task->block, false, now);
    task->size = SIM_NONE;
    e->sim->job[task->job].end = now;
    size_t at = 0;
    while (e->running[at] != key.item)
        at++;
    memmove(&e->running[at], &e->running[at + 1], (--e->runs - at) * sizeof *e->running);
    look_soon(e, now);
}

/* A fixed job has its block now, whoever has it. */
static bool start_fixed(struct elastic *e, int32_t number, int64_t now) {
    struct sim_job *job = &e->sim->job[number];
    size_t stay = 0;
    for (size_t i = 0; i < e->runs; i++) {
        struct elastic_task *task = &e->task[e->running[i]];
        if (!elastic_overlap(&task->block, &e->block[number])) {
            e->running[stay++] = e->running[i];
            continue;
        }
        elastic_progress(e, task, now);
        elastic_set(&e->machine, &task->block, false, now);
        task->size = SIM_NONE;
        if (!elastic_wait(e, e->running[i]))
            return false;
        e->next_look = now;
    }
    e->runs = stay;
    elastic_set(&e->machine, &e->block[number], true, now);
    elastic_began(e->sim, job, now);
    return elastic_push(&e->ends, (struct elastic_key){0, job->end, (int32_t)e->tasks + number});
}

static bool go(struct elastic *e) {
    struct sim *sim = e->sim;
    size_t next = 0, fixed = 0;
    int64_t now;
    for (;;) {
        now = e->runs + e->waits ? e->next_look : INT64_MAX;
        if (e->ends.used && e->ends.key[0].when < now)
            now = e->ends.key[0].when;
        if (next < e->tasks && sim->job[e->task[next].job].submit < now)
            now = sim->job[e->task[next].job].submit;
        if (fixed < e->starts && sim->job[e->started[fixed]].start < now)
            now = sim->job[e->started[fixed]].start;
        if (now == INT64_MAX)
            return true;
        while (e->ends.used && e->ends.key[0].when == now)
            end(e, elastic_pop(&e->ends), now);
        for (; next < e->tasks && sim->job[e->task[next].job].submit == now; next++) {
            if (!elastic_wait(e, (int32_t)next))
                return false;
            look_soon(e, now);
        }
        for (; fixed < e->starts && sim->job[e->started[fixed]].start == now; fixed++)
            if (!start_fixed(e, e->started[fixed], now))
                return false;
        if (e->runs + e->waits && e->next_look <= now && !elastic_decide(e, now))
            return false;
    }
}

static bool run(struct elastic *e, int64_t first) {
    struct sim *sim = e->sim;
    e->last_end = first;
    if (!room(e) || !elastic_machine_new(&e->machine, sim, first) || !elastic_fifo(e))
        return false;
    if (sim->set.policy == ELASTIC_FIFO)
        return true;
    if (!elastic_machine_new(&e->machine, sim, first))
        return false;
    tasks_of(e);
    e->last_look = LONG_AGO;
    e->next_look = INT64_MAX;
    if (!go(e))
        return false;
    e->last_end = first;
    for (size_t i = 0; i < sim->jobs; i++)
        e->last_end = sim->job[i].end > e->last_end ? sim->job[i].end : e->last_end;
    elastic_settle(&e->machine, e->last_end);
    return true;
}

bool sim_elastic(struct sim *sim) {
    struct elastic e = {.sim = sim};
    if (!check(sim))
        return false;
    const bool done = run(&e, sim->turns ? sim->job[sim->turn[0]].submit : 0);
    if (done) {
        sim_fact(sim, "idle_millijoules", e.machine.idle);
        sim_fact(sim, "asleep_millijoules", e.machine.asleep);
    } else {
        refuse(sim, "out of memory");
    }
    free(e.machine.node);
    free(e.block);
    free(e.step);
    free(e.started);
    free(e.task);
    free(e.running);
    free(e.active);
    free(e.order);
    free(e.ends.key);
    free(e.steps.key);
    for (int32_t size = 0; size < SIM_CURVE_SIZES; size++)
        free(e.waiting[size].key);
    return done;
}
