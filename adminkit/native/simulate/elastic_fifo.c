/* elastic_fifo.c - the first baseline, and the timetable of the jobs that are fixed. */
#include "elastic.h"
#include "run.h"

#include <stdlib.h>

/* Jobs of one priority, in their turn. */
struct line {
    int32_t *job;
    size_t first, end;
};

bool elastic_is_fixed(const struct sim_job *job) {
    return job->curve == SIM_NONE || job->priority > 0;
}

void elastic_began(struct sim *sim, struct sim_job *job, int64_t at) {
    job->start = at;
    job->outcome = SIM_DONE;
    job->order = (int32_t)sim->started++;
    sim_progress(sim);
}

/* Starts the first ones of a line while they fit. False: no memory. */
static bool start(struct elastic *e, struct line *line, int64_t now) {
    for (; line->first < line->end; line->first++) {
        const int32_t number = line->job[line->first];
        struct sim_job *job = &e->sim->job[number];
        if (!elastic_take(&e->machine, job->gpus, now, &e->block[number]))
            return true;
        elastic_began(e->sim, job, now);
        job->end = now + job->run;
        e->last_end = job->end > e->last_end ? job->end : e->last_end;
        e->started[e->starts++] = number;
        if (job->curve != SIM_NONE)
            elastic_spend(&e->sim->energy[number], e->sim->curve[job->curve].watts[elastic_size(job->gpus)],
                          job->run);
        if (!elastic_push(&e->ends, (struct elastic_key){0, job->end, number}))
            return false;
    }
    return true;
}

static bool go(struct elastic *e, struct line *high, struct line *usual) {
    struct sim *sim = e->sim;
    const int64_t most = (int64_t)e->machine.nodes * e->machine.gpus;
    size_t next = 0;
    while (next < sim->turns || e->ends.used) {
        int64_t now = e->ends.used ? e->ends.key[0].when : INT64_MAX;
        if (next < sim->turns && sim->job[sim->turn[next]].submit < now)
            now = sim->job[sim->turn[next]].submit;
        while (e->ends.used && e->ends.key[0].when == now)
            elastic_set(&e->machine, &e->block[elastic_pop(&e->ends).item], false, now);
        for (; next < sim->turns && sim->job[sim->turn[next]].submit == now; next++) {
            const struct sim_job *job = &sim->job[sim->turn[next]];
            struct line *line = job->priority > 0 ? high : usual;
            if (job->gpus > 0 && job->gpus <= most)
                line->job[line->end++] = sim->turn[next];
        }
        if (!start(e, high, now) || (high->first == high->end && !start(e, usual, now)))
            return false;
    }
    return true;
}

bool elastic_fifo(struct elastic *e) {
    const size_t room = e->sim->turns + 1;
    struct line high = {.job = malloc(room * sizeof *high.job)},
                usual = {.job = malloc(room * sizeof *usual.job)};
    const bool done = high.job && usual.job && go(e, &high, &usual);
    elastic_settle(&e->machine, e->last_end);
    free(high.job);
    free(usual.job);
    return done;
}
