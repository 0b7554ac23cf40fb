/* bunches.c - a list of bunches, each a list of jobs. */
#include "bunches.h"

#include <stdlib.h>

bool sim_bunches_new(struct sim_bunches *bunches, int32_t places) {
    *bunches = (struct sim_bunches){.spare = -1, .first = -1, .last = -1};
    bunches->next = malloc(((size_t)places + 1) * sizeof *bunches->next);
    return bunches->next != NULL;
}

void sim_bunches_free(struct sim_bunches *bunches) {
    free(bunches->bunch);
    free(bunches->next);
    *bunches = (struct sim_bunches){0};
}

/* Makes a bunch behind `before` (-1: first); -1: no memory. */
static int32_t insert(struct sim_bunches *bunches, int32_t before, struct sim_bunch made) {
    int32_t number = bunches->spare;
    if (number >= 0) {
        bunches->spare = bunches->bunch[number].after;
    } else {
        if (bunches->used == bunches->size) {
            int32_t size = bunches->size ? 2 * bunches->size : 64;
            void *grown = realloc(bunches->bunch, (size_t)size * sizeof *bunches->bunch);
            if (!grown)
                return -1;
            bunches->bunch = grown;
            bunches->size = size;
        }
        number = bunches->used++;
    }
    made.before = before;
    made.after = before < 0 ? bunches->first : bunches->bunch[before].after;
    bunches->bunch[number] = made;
    *(before < 0 ? &bunches->first : &bunches->bunch[before].after) = number;
    *(made.after < 0 ? &bunches->last : &bunches->bunch[made.after].before) = number;
    return number;
}

int32_t sim_bunches_remove(struct sim_bunches *bunches, int32_t number) {
    struct sim_bunch *bunch = &bunches->bunch[number];
    const int32_t after = bunch->after;
    *(bunch->before < 0 ? &bunches->first : &bunches->bunch[bunch->before].after) = after;
    *(after < 0 ? &bunches->last : &bunches->bunch[after].before) = bunch->before;
    bunches->jobs -= bunch->jobs;
    bunch->after = bunches->spare;
    bunches->spare = number;
    return after;
}

static bool alike(const struct sim_bunch *a, const struct sim_bunch *b) {
    return a->at == b->at && a->procs == b->procs && a->plan == b->plan;
}

/* Makes the jobs behind the first `jobs` of a bunch a bunch of their own. False: no memory. */
static bool split(struct sim_bunches *bunches, int32_t number, int32_t jobs, int32_t last) {
    struct sim_bunch rest = bunches->bunch[number];
    rest.first = bunches->next[last];
    rest.jobs -= jobs;
    if (insert(bunches, number, rest) < 0)
        return false;
    bunches->bunch[number].last = last;
    bunches->bunch[number].jobs = jobs;
    return true;
}

bool sim_bunches_add(struct sim_bunches *bunches, int32_t number, int32_t behind, struct sim_bunch job) {
    if (number >= 0 && bunches->bunch[number].last != behind) {
        int32_t jobs = 1;
        for (int32_t place = bunches->bunch[number].first; place != behind; place = bunches->next[place])
            jobs++;
        if (!split(bunches, number, jobs, behind))
            return false;
    }
    bunches->jobs++;
    struct sim_bunch *bunch = number < 0 ? NULL : &bunches->bunch[number];
    if (!bunch || !alike(bunch, &job))
        return insert(bunches, number, job) >= 0;
    bunches->next[bunch->last] = job.first;
    bunch->last = job.first;
    bunch->jobs++;
    return true;
}

bool sim_bunches_move(struct sim_bunches *bunches, int32_t number, int32_t jobs, int64_t at) {
    struct sim_bunch *bunch = &bunches->bunch[number];
    struct sim_bunch moved = *bunch, *before = bunch->before < 0 ? NULL : &bunches->bunch[bunch->before];
    moved.at = at;
    moved.jobs = jobs;
    if (before && !alike(before, &moved))
        before = NULL;
    if (jobs == bunch->jobs && !before) {
        bunch->at = at;
        return true;
    }
    if (jobs < bunch->jobs) {
        moved.last = moved.first;
        for (int32_t i = 1; i < jobs; i++)
            moved.last = bunches->next[moved.last];
        bunch->first = bunches->next[moved.last];
        bunch->jobs -= jobs;
        if (!before)
            return insert(bunches, bunch->before, moved) >= 0;
    } else {
        sim_bunches_remove(bunches, number);
        bunches->jobs += jobs;
    }
    bunches->next[before->last] = moved.first;
    before->last = moved.last;
    before->jobs += jobs;
    return true;
}

int32_t sim_bunches_take_last(struct sim_bunches *bunches, int32_t number) {
    struct sim_bunch *bunch = &bunches->bunch[number];
    const int32_t taken = bunch->last;
    if (bunch->jobs == 1) {
        sim_bunches_remove(bunches, number);
        return taken;
    }
    int32_t place = bunch->first;
    while (bunches->next[place] != taken)
        place = bunches->next[place];
    bunch->last = place;
    bunch->jobs--;
    bunches->jobs--;
    return taken;
}
