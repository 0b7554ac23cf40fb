/* fcfs.c - the first of the queue starts when it fits; nobody passes it. */
#include "pool.h"
#include "run.h"
#include "waiting.h"

static bool start_first(struct sim_pool *pool, const struct sim_ranks *ranks, struct sim_waiting *waiting,
                        int64_t now) {
    for (;;) {
        const int32_t rank = sim_waiting_first(waiting, 0);
        if (rank < 0 || pool->task[ranks->place[rank]].procs > pool->free)
            return true;
        sim_waiting_remove(waiting, rank);
        if (!sim_pool_start(pool, ranks->place[rank], now))
            return false;
    }
}

static bool go(struct sim_pool *pool, struct sim_ranks *ranks, struct sim_waiting *waiting) {
    for (;;) {
        const struct sim_event event = sim_pool_event(pool);
        const struct sim_task *task = &pool->task[event.place];
        if (event.kind == SIM_NO_EVENT)
            return true;
        if (event.kind == SIM_SUBMITTED) {
            sim_ranks_come(ranks, event.place);
            sim_waiting_add(waiting, ranks->rank[event.place], task->procs, task->plan);
        } else if (event.kind == SIM_ENDED)
            pool->free += task->procs;
        if (event.kind != SIM_OUTLIVED && !start_first(pool, ranks, waiting, event.time))
            return sim_no_memory(pool->sim);
    }
}

bool sim_fcfs(struct sim *sim) {
    struct sim_pool pool;
    struct sim_ranks ranks = {0};
    struct sim_waiting waiting = {0};
    bool done = sim_pool_new(&pool, sim);
    if (done && (!sim_ranks_new(&ranks, &pool, (enum sim_order)sim->set.order) ||
                 !sim_waiting_new(&waiting, pool.tasks)))
        done = sim_no_memory(sim);
    done = done && go(&pool, &ranks, &waiting);
    sim_pool_free(&pool);
    sim_ranks_free(&ranks);
    sim_waiting_free(&waiting);
    return done;
}
