/* conservative.c - the first `depth` of the queue have reservations, which no later job may delay. */
#include "bunches.h"
#include "compress.h"
#include "pool.h"
#include "profile_blocks.h"
#include "run.h"
#include "waiting.h"

struct conservative {
    struct sim_pool pool;
    struct sim_ranks queue;
    struct sim_profile profile;  /* without what the jobs that run and those with a reservation take */
    struct sim_bunches reserved; /* the first of the queue */
    struct sim_waiting behind;   /* and the others, by rank */
    int64_t depth, waits_behind;
    struct sim_compressed done;
    int64_t now;
};

static void conservative_free(struct conservative *c) {
    sim_pool_free(&c->pool);
    sim_ranks_free(&c->queue);
    sim_profile_free(&c->profile);
    sim_bunches_free(&c->reserved);
    sim_waiting_free(&c->behind);
}

static bool conservative_new(struct conservative *c, struct sim *sim) {
    *c = (struct conservative){.depth = sim->set.depth, .done = {.due = INT64_MAX}, .now = INT64_MIN};
    if (!sim_pool_new(&c->pool, sim))
        return false;
    const int32_t tasks = c->pool.tasks;
    if (c->depth == SIM_NONE || c->depth > tasks)
        c->depth = tasks;
    return (sim_ranks_new(&c->queue, &c->pool, (enum sim_order)sim->set.order) &&
            sim_profile_new(&c->profile, INT64_MIN, c->pool.free) && sim_bunches_new(&c->reserved, tasks) &&
            sim_waiting_new(&c->behind, c->depth < tasks ? tasks : 0)) ||
           sim_no_memory(sim);
}

/* The rank of the last job that has a reservation; -1: there is none. */
static int32_t last_rank(const struct conservative *c) {
    return c->reserved.last < 0 ? -1 : c->queue.rank[c->reserved.bunch[c->reserved.last].last];
}

static void wait_behind(struct conservative *c, int32_t place) {
    const struct sim_task *task = &c->pool.task[place];
    sim_waiting_add(&c->behind, c->queue.rank[place], task->procs, task->plan);
    c->waits_behind++;
}

/* Gives the job the earliest reservation that delays no other. */
static bool reserve(struct conservative *c, int32_t place) {
    const struct sim_task *task = &c->pool.task[place];
    const int32_t rank = c->queue.rank[place];
    struct sim_search search = {.procs = task->procs,
                                .seconds = task->plan,
                                .stop = INT64_MAX,
                                .at = c->now,
                                .start = sim_profile_at(&c->profile, c->now)};
    sim_profile_earliest(&c->profile, &search);
    const int64_t at = search.at;
    int32_t number = c->reserved.last, behind = -1;
    while (number >= 0 && c->queue.rank[c->reserved.bunch[number].first] > rank)
        number = c->reserved.bunch[number].before;
    if (number >= 0) {
        behind = c->reserved.bunch[number].first;
        if (c->queue.rank[c->reserved.bunch[number].last] < rank)
            behind = c->reserved.bunch[number].last;
        while (behind != c->reserved.bunch[number].last && c->queue.rank[c->reserved.next[behind]] < rank)
            behind = c->reserved.next[behind];
    }
    if (at < c->done.due)
        c->done.due = at;
    const struct sim_bunch job = {at, task->procs, task->plan, place, place, 1, -1, -1};
    return sim_profile_take(&c->profile, at, at + task->plan, task->procs) &&
           sim_bunches_add(&c->reserved, number, behind, job);
}

/* Puts the last of those with a reservation behind them. */
static bool drop_last(struct conservative *c) {
    const struct sim_bunch bunch = c->reserved.bunch[c->reserved.last];
    wait_behind(c, sim_bunches_take_last(&c->reserved, c->reserved.last));
    return sim_profile_take(&c->profile, bunch.at, bunch.at + bunch.plan, -bunch.procs);
}

/* Starts those whose reservation is now: `ready` jobs, and the first of the others is `later`. INT64_MAX: not
 * known. */
static bool start_due(struct conservative *c, int64_t ready, int64_t later) {
    c->done.due = later;
    for (int32_t number = c->reserved.first; number >= 0 && ready > 0;) {
        const struct sim_bunch bunch = c->reserved.bunch[number];
        if (bunch.at > c->now) {
            c->done.due = bunch.at < c->done.due ? bunch.at : c->done.due;
            number = bunch.after;
            continue;
        }
        for (int32_t i = 0, place = bunch.first; i < bunch.jobs; i++, place = c->reserved.next[place])
            if (!sim_pool_start(&c->pool, place, c->now))
                return false;
        ready -= bunch.jobs;
        number = sim_bunches_remove(&c->reserved, number);
    }
    return true;
}

/* What a job must keep to who starts now and delays nobody; more may stand in its way. */
static struct sim_room room_behind(const struct conservative *c) {
    const int64_t now = c->now, below = sim_profile_below(&c->profile, now, sim_waiting_least(&c->behind));
    return (struct sim_room){
        .procs = sim_profile_least(&c->profile, now, now + 1),
        .extra = sim_profile_least(&c->profile, now, INT64_MAX),
        .window = below == INT64_MAX ? INT32_MAX : below - now,
    };
}

/* Starts those without a reservation who delay none. */
static bool start_behind(struct conservative *c) {
    int32_t rank = 0;
    while (c->waits_behind > 0) {
        const struct sim_room room = room_behind(c);
        for (;; rank++) {
            rank = sim_waiting_next(&c->behind, rank, room);
            if (rank < 0)
                return true;
            const struct sim_task *task = &c->pool.task[c->queue.place[rank]];
            if (sim_profile_least(&c->profile, c->now, c->now + task->plan) < task->procs)
                continue;
            sim_waiting_remove(&c->behind, rank);
            c->waits_behind--;
            if (!sim_profile_take(&c->profile, c->now, c->now + task->plan, task->procs) ||
                !sim_pool_start(&c->pool, c->queue.place[rank], c->now))
                return false;
            break;
        }
    }
    return true;
}

/* Brings the reservations in order and starts who may start. `freed`: a plan gave up time. */
static bool settle(struct conservative *c, bool freed) {
    for (;;) {
        for (; c->reserved.jobs > c->depth; freed = true)
            if (!drop_last(c))
                return false;
        while (c->waits_behind > 0 && c->reserved.jobs < c->depth) {
            const int32_t rank = sim_waiting_first(&c->behind, 0);
            sim_waiting_remove(&c->behind, rank);
            c->waits_behind--;
            if (!reserve(c, c->queue.place[rank]))
                return false;
        }
        int64_t ready = INT64_MAX, later = INT64_MAX;
        if (freed) {
            if (!sim_compress(&c->profile, &c->reserved, c->now, &c->done))
                return false;
            ready = c->done.ready;
            later = c->done.later;
        }
        freed = false;
        if (c->done.due > c->now)
            break;
        if (!start_due(c, ready, later))
            return false;
    }
    return start_behind(c);
}

static bool submitted(struct conservative *c, int32_t place) {
    sim_ranks_come(&c->queue, place);
    const bool room = c->reserved.jobs < c->depth && !c->waits_behind;
    if (!room && c->queue.rank[place] > last_rank(c)) {
        wait_behind(c, place);
        return settle(c, false);
    }
    return (room || drop_last(c)) && reserve(c, place) && settle(c, !room);
}

/* Where more is planned than there is, moves the last of the queue that is reserved at the first such moment.
 */
static bool repair(struct conservative *c, bool *freed) {
    for (*freed = false;; *freed = true) {
        const int64_t over = sim_profile_below(&c->profile, c->now, 0);
        if (over == INT64_MAX)
            return true;
        int32_t number = c->reserved.last;
        while (c->reserved.bunch[number].at > over ||
               c->reserved.bunch[number].at + c->reserved.bunch[number].plan <= over)
            number = c->reserved.bunch[number].before;
        const struct sim_bunch bunch = c->reserved.bunch[number];
        const int32_t place = sim_bunches_take_last(&c->reserved, number);
        if (!sim_profile_take(&c->profile, bunch.at, bunch.at + bunch.plan, -bunch.procs) ||
            !reserve(c, place))
            return false;
    }
}

static bool happened(struct conservative *c, struct sim_event event) {
    bool freed = false;
    if (event.kind == SIM_SUBMITTED)
        return submitted(c, event.place);
    const int32_t procs = c->pool.task[event.place].procs;
    if (event.kind == SIM_OUTLIVED) {
        const int64_t end = sim_corrected_end(&c->pool, event.place);
        if (!sim_profile_take(&c->profile, event.time, end, procs))
            return false;
        if (sim_ends_outlives(&c->pool.ends, event.time))
            return true;
        return repair(c, &freed) && settle(c, freed);
    }
    const int64_t planned = sim_expected_end(&c->pool, event.place);
    return sim_profile_take(&c->profile, event.time, planned, -procs) && settle(c, planned > event.time);
}

static bool go(struct conservative *c) {
    for (;;) {
        const int64_t next = sim_pool_next(&c->pool);
        if (c->done.due < next ||
            (c->done.due == next && !sim_ends_outlives(&c->pool.ends, next) && c->done.due < INT64_MAX)) {
            c->now = c->done.due;
            sim_profile_forget(&c->profile, c->now);
            if (!settle(c, false))
                return sim_no_memory(c->pool.sim);
            continue;
        }
        const struct sim_event event = sim_pool_event(&c->pool);
        if (event.kind == SIM_NO_EVENT)
            return true;
        c->now = event.time;
        sim_profile_forget(&c->profile, c->now);
        if (!happened(c, event))
            return sim_no_memory(c->pool.sim);
    }
}

bool sim_conservative(struct sim *sim) {
    struct conservative c;
    bool done = conservative_new(&c, sim) && go(&c);
    sim_fact(sim, "moved", c.done.moved);
    sim_fact(sim, "outlived", c.pool.outlived);
    conservative_free(&c);
    return done;
}
