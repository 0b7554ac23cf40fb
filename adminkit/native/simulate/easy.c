/* easy.c - the first of the queue has a reservation; whoever does not delay it may pass it. */
#include "pool.h"
#include "releases.h"
#include "run.h"
#include "waiting.h"

#include <stdlib.h>

struct easy {
    struct sim_pool pool;
    struct sim_ranks queue, shortest; /* shortest: only for sjbf */
    struct sim_waiting waiting, short_waiting;
    struct sim_releases releases;
    bool sjbf;
    int32_t waits; /* how many */
    int32_t head;  /* rank of the first of the queue; -1: nobody waits */
    /* The head's reservation; it follows each start and each end. */
    bool known;
    int64_t shadow; /* when it can start */
    int64_t before; /* processors that will be free just before */
    int64_t extra;  /* processors that it will leave then */
    int64_t now;
    bool changed; /* other jobs than a new one may be able to start */
    int64_t passes, passed;
};

static void easy_free(struct easy *easy) {
    sim_pool_free(&easy->pool);
    sim_ranks_free(&easy->queue);
    sim_ranks_free(&easy->shortest);
    sim_waiting_free(&easy->waiting);
    sim_waiting_free(&easy->short_waiting);
    sim_releases_free(&easy->releases);
}

static bool easy_new(struct easy *easy, struct sim *sim, bool sjbf) {
    *easy = (struct easy){.sjbf = sjbf, .head = -1, .now = INT64_MIN};
    if (!sim_pool_new(&easy->pool, sim))
        return false;
    if (!sim_promises_new(sim))
        return sim_no_memory(sim);
    if (sim_ranks_new(&easy->queue, &easy->pool, (enum sim_order)sim->set.order) &&
        sim_waiting_new(&easy->waiting, easy->pool.tasks) &&
        (!sjbf || (sim_ranks_new(&easy->shortest, &easy->pool, SIM_BY_NEED) &&
                   sim_waiting_new(&easy->short_waiting, easy->pool.tasks))))
        return true;
    return sim_no_memory(sim);
}

static const struct sim_task *task_of(const struct easy *easy, int32_t rank) {
    return &easy->pool.task[easy->queue.place[rank]];
}

static void wait_for(struct easy *easy, int32_t place) {
    const struct sim_task *task = &easy->pool.task[place];
    const int32_t rank = easy->queue.rank[place];
    sim_waiting_add(&easy->waiting, rank, task->procs, task->plan);
    if (easy->sjbf)
        sim_waiting_add(&easy->short_waiting, easy->shortest.rank[place], task->procs, task->plan);
    easy->waits++;
    if (easy->head < 0 || rank < easy->head) {
        easy->head = rank;
        easy->known = false;
    }
}

static void no_more(struct easy *easy, int32_t place) {
    const int32_t rank = easy->queue.rank[place];
    sim_waiting_remove(&easy->waiting, rank);
    if (easy->sjbf)
        sim_waiting_remove(&easy->short_waiting, easy->shortest.rank[place]);
    easy->waits--;
    if (rank == easy->head) {
        easy->head = easy->waits ? sim_waiting_first(&easy->waiting, rank + 1) : -1;
        easy->known = false;
    }
}

/* `procs` of a running job are planned to be released at `end`, or, below 0, no longer so. What is free now
 * changes by as many the other way. */
static bool plan_release(struct easy *easy, int64_t end, int64_t procs) {
    if (!sim_releases_add(&easy->releases, end, procs))
        return false;
    if (easy->known && end >= easy->shadow) {
        easy->before -= procs;
        easy->extra -= end > easy->shadow ? procs : 0;
        easy->known = easy->extra >= 0 && easy->before < task_of(easy, easy->head)->procs;
    }
    return true;
}

static bool start(struct easy *easy, int32_t place) {
    return sim_pool_start(&easy->pool, place, easy->now) &&
           plan_release(easy, easy->now + easy->pool.task[place].plan, easy->pool.task[place].procs);
}

static void reserve(struct easy *easy) {
    if (easy->known)
        return;
    const int64_t procs = task_of(easy, easy->head)->procs, free_now = easy->pool.free;
    const struct sim_shadow shadow = sim_releases_shadow(&easy->releases, procs - free_now);
    easy->shadow = shadow.time;
    easy->before = free_now + shadow.before;
    easy->extra = free_now + shadow.until - procs;
    easy->known = true;
}

/* Keeps what the head is promised, once. */
static void promise(struct easy *easy) {
    struct sim *sim = easy->pool.sim;
    if (!sim->promised || !easy->waits || sim->promised[task_of(easy, easy->head)->job] != SIM_NONE)
        return;
    reserve(easy);
    sim->promised[task_of(easy, easy->head)->job] = easy->shadow;
}

static struct sim_room room(const struct easy *easy) {
    return (struct sim_room){easy->pool.free, (int32_t)easy->extra, easy->shadow - easy->now};
}

/* Starts who may start of all that wait. */
static bool pass(struct easy *easy) {
    easy->passes++;
    easy->changed = false;
    while (easy->waits && task_of(easy, easy->head)->procs <= easy->pool.free) {
        const int32_t place = easy->queue.place[easy->head];
        no_more(easy, place);
        if (!start(easy, place))
            return false;
    }
    if (!easy->waits || sim_waiting_least(&easy->waiting) > easy->pool.free)
        return true;
    reserve(easy);
    const struct sim_waiting *waiting = easy->sjbf ? &easy->short_waiting : &easy->waiting;
    const int32_t *places = easy->sjbf ? easy->shortest.place : easy->queue.place;
    int32_t rank = sim_waiting_next(waiting, easy->sjbf ? 0 : easy->head + 1, room(easy));
    for (; rank >= 0; rank = sim_waiting_next(waiting, rank + 1, room(easy))) {
        const int32_t place = places[rank];
        no_more(easy, place);
        easy->passed++;
        if (!start(easy, place))
            return false;
    }
    return true;
}

/* Time only takes room away from those who wait: unless something changed, only the new job can start. */
static bool submitted(struct easy *easy, int32_t place) {
    const struct sim_task *task = &easy->pool.task[place];
    sim_ranks_come(&easy->queue, place);
    if (easy->sjbf)
        sim_ranks_come(&easy->shortest, place);
    if (easy->changed || (easy->waits && easy->queue.rank[place] < easy->head)) {
        wait_for(easy, place);
        return pass(easy);
    }
    easy->passes++;
    if (task->procs <= easy->pool.free) {
        if (!easy->waits)
            return start(easy, place);
        reserve(easy);
        if (task->plan <= easy->shadow - easy->now || task->procs <= easy->extra) {
            easy->passed++;
            return start(easy, place);
        }
    }
    wait_for(easy, place);
    return true;
}

/* What is planned to end by now has its processors free, before the first of what happens at this time. */
static void release_due(struct easy *easy, int64_t now) {
    const int64_t procs = sim_releases_due(&easy->releases, now);
    easy->pool.free += (int32_t)procs;
    easy->changed |= procs > 0;
    easy->known = easy->known && easy->shadow > now;
    easy->now = now;
}

static bool happened(struct easy *easy, struct sim_event event) {
    const int32_t procs = easy->pool.task[event.place].procs;
    if (event.kind == SIM_OUTLIVED) {
        if (!plan_release(easy, event.time, -procs) ||
            !plan_release(easy, sim_corrected_end(&easy->pool, event.place), procs))
            return false;
        easy->changed = true;
        if (sim_ends_outlives(&easy->pool.ends, event.time))
            return true;
    }
    if (event.time > easy->now)
        release_due(easy, event.time);
    if (event.kind == SIM_SUBMITTED)
        return submitted(easy, event.place);
    if (event.kind == SIM_ENDED) {
        const int64_t planned = sim_expected_end(&easy->pool, event.place);
        if (planned > event.time) {
            easy->pool.free += procs;
            easy->changed = true;
            if (!plan_release(easy, planned, -procs))
                return false;
        }
    }
    return !easy->changed || pass(easy);
}

static bool go(struct easy *easy) {
    for (;;) {
        const struct sim_event event = sim_pool_event(&easy->pool);
        if (event.kind == SIM_NO_EVENT)
            return true;
        if (!happened(easy, event))
            return sim_no_memory(easy->pool.sim);
        promise(easy);
    }
}

static bool run(struct sim *sim, bool sjbf) {
    struct easy easy;
    bool done = easy_new(&easy, sim, sjbf) && go(&easy);
    sim_fact(sim, "passes", easy.passes);
    sim_fact(sim, "passed", easy.passed);
    sim_fact(sim, "outlived", easy.pool.outlived);
    easy_free(&easy);
    return done;
}

bool sim_easy(struct sim *sim) {
    return run(sim, false);
}

bool sim_easy_sjbf(struct sim *sim) {
    return run(sim, true);
}
