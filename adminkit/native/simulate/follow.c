/* follow.c - followers as lists, and those that are to come as a binary heap. */
#include "follow.h"
#include "run.h"

#include <stdlib.h>

struct sim_followers {
    int32_t *first; /* of each job: a job that follows it; SIM_NONE: none */
    int32_t *next;  /* of each job: another one that follows the same */
    int32_t *heap;
    size_t used;
};

bool sim_follow_new(struct sim *sim, size_t following) {
    struct sim_followers *all = calloc(1, sizeof *all);
    if (!all)
        return false;
    sim->followers = all;
    all->first = malloc(sim->jobs * sizeof *all->first);
    all->next = malloc(sim->jobs * sizeof *all->next);
    all->heap = malloc(following * sizeof *all->heap);
    if (!all->first || !all->next || !all->heap)
        return false;
    for (size_t i = 0; i < sim->jobs; i++)
        all->first[i] = all->next[i] = SIM_NONE;
    for (size_t i = sim->jobs; i-- > 0;) {
        const int32_t after = sim->job[i].after;
        if (after == SIM_NONE)
            continue;
        all->next[i] = all->first[after];
        all->first[after] = (int32_t)i;
    }
    return true;
}

void sim_follow_free(struct sim *sim) {
    if (!sim->followers)
        return;
    free(sim->followers->first);
    free(sim->followers->next);
    free(sim->followers->heap);
    free(sim->followers);
    sim->followers = NULL;
}

void sim_ended(struct sim *sim, const struct sim_job *job) {
    struct sim_followers *all = sim->followers;
    for (int32_t i = all ? all->first[job - sim->job] : SIM_NONE; i != SIM_NONE; i = all->next[i]) {
        struct sim_job *late = &sim->job[i];
        if (!sim_can_run(late) || (late->if_killed && job->outcome != SIM_KILLED))
            continue;
        if (late->if_killed && late->resume != SIM_NONE) {
            const int64_t needs = job->run - (job->end - job->start) + late->resume;
            late->run = needs < 1 ? 1 : needs > INT32_MAX ? INT32_MAX : (int32_t)needs;
        }
        if (late->submit < job->end + late->delay)
            late->submit = job->end + late->delay;
        size_t at = all->used++;
        for (; at && sim_earlier(late, &sim->job[all->heap[(at - 1) / 2]]); at = (at - 1) / 2)
            all->heap[at] = all->heap[(at - 1) / 2];
        all->heap[at] = i;
    }
}

int32_t sim_late(const struct sim *sim) {
    return sim->followers && sim->followers->used ? sim->followers->heap[0] : SIM_NONE;
}

void sim_late_came(struct sim *sim) {
    struct sim_followers *all = sim->followers;
    const int32_t last = all->heap[--all->used];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < all->used; at = child) {
        if (child + 1 < all->used &&
            sim_earlier(&sim->job[all->heap[child + 1]], &sim->job[all->heap[child]]))
            child++;
        if (!sim_earlier(&sim->job[all->heap[child]], &sim->job[last]))
            break;
        all->heap[at] = all->heap[child];
    }
    all->heap[at] = last;
}
