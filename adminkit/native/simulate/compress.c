/* compress.c - one walk over the queue and the profile. Most of what could move is passed over: like jobs are
 * searched for together, what one kind of job was shown holds for larger and longer ones, and like jobs move
 * as one. */
#include "compress.h"

/* Jobs of one kind that moved one after the other, the first to `to`, each next one to where the one before
 * had been, the last from `from`: to the profile that is one move. It is kept back, as the next job may
 * lengthen it. */
struct slide {
    int64_t to, from;
    int32_t jobs;        /* abreast; 0: no slide */
    int32_t procs, plan; /* of one */
};

/* No job of at least this size and plan can start before `before`: shown by what is taken before `stop`.
 * Since then nothing was given back before `given`. */
struct bound {
    int32_t procs, plan;
    int64_t before, stop, given;
};
#define BOUNDS 8

/* Where the search for earlier reservations is. */
struct sweep {
    struct sim_profile *profile;
    struct sim_bunches *bunches;
    struct sim_compressed *done;
    struct bound bound[BOUNDS];
    int bounds;
    struct slide slide;
    int64_t after;            /* the next job of the kind cannot start before */
    struct sim_cursor cursor; /* at `after` */
    bool stale;               /* the cursor is */
};

/* Moves the slide in the profile. */
static bool move(struct sweep *sweep) {
    const struct slide slide = sweep->slide;
    const int64_t end = slide.to + slide.plan;
    const int32_t procs = slide.jobs * slide.procs;
    const int64_t given = end > slide.from ? end : slide.from;
    sweep->slide.jobs = 0;
    sweep->stale = true;
    for (int i = 0; procs && i < sweep->bounds; i++)
        if (given < sweep->bound[i].given)
            sweep->bound[i].given = given;
    return !procs || (sim_profile_take(sweep->profile, given, slide.from + slide.plan, -procs) &&
                      sim_profile_take(sweep->profile, slide.to, end < slide.from ? end : slide.from, procs));
}

/* Searches from `after` on: when the next of the kind may start, `stop` at the latest. The cursor is at
 * `stop` then, if a job that starts there would reach it. */
static int64_t search(struct sweep *sweep, int64_t procs, int64_t plan, int64_t stop, int32_t *least) {
    if (sweep->stale)
        sweep->cursor = sim_profile_at(sweep->profile, sweep->after);
    const struct sim_want want = {procs < INT32_MAX ? (int32_t)procs : INT32_MAX, plan, stop};
    sweep->after = sim_profile_earliest(sweep->profile, &sweep->cursor, sweep->after, want, least);
    sweep->stale = sweep->after < stop;
    return sweep->after;
}

/* Gives the jobs of a bunch earlier reservations, as many as can have one. The slide ends before `after`:
 * what it takes does not count there, and what it gives back only to a job that would reach it. */
static bool compress_bunch(struct sweep *sweep, int32_t number) {
    const struct sim_bunch bunch = sweep->bunches->bunch[number];
    struct slide *slide = &sweep->slide;
    for (int32_t left = bunch.jobs, least; left > 0;) {
        if (slide->jobs && bunch.at > slide->to + bunch.plan && !move(sweep))
            return false;
        const int64_t to = search(sweep, bunch.procs, bunch.plan, bunch.at, &least);
        if (to == bunch.at)
            return true;
        const int32_t jobs = least / bunch.procs < left ? least / bunch.procs : left;
        if (!sim_bunches_move(sweep->bunches, number, jobs, to))
            return false;
        left -= jobs;
        sweep->done->moved += jobs;
        sweep->done->due = to < sweep->done->due ? to : sweep->done->due;
        const bool meets = to + bunch.plan >= bunch.at;
        const int64_t one_more = (int64_t)bunch.procs * (jobs + 1);
        const bool full = meets && sim_profile_before(sweep->profile, sweep->cursor, bunch.at) < one_more;
        if (slide->jobs == jobs && slide->from == to && meets) {
            slide->from = bunch.at;
            sweep->stale = !full;
        } else {
            const bool kept = !slide->jobs;
            if (!kept && !move(sweep))
                return false;
            sweep->stale = !kept || !full;
            *slide = (struct slide){to, bunch.at, jobs, bunch.procs, bunch.plan};
        }
        /* Nobody can start between `to` and where these were, unless there is still room. */
        if (full)
            sweep->after = bunch.at;
        else if (!meets || search(sweep, one_more, bunch.plan, bunch.at, &least) < bunch.at)
            if (!move(sweep))
                return false;
    }
    return true;
}

/* The first moment at which a job of this bunch may be able to start. */
static int64_t bound_of(const struct sweep *sweep, const struct sim_bunch *bunch, int64_t now) {
    int64_t found = now;
    for (int i = 0; i < sweep->bounds; i++) {
        const struct bound *bound = &sweep->bound[i];
        if (bound->procs > bunch->procs || bound->plan > bunch->plan)
            continue;
        int64_t before = bound->before, shown = bunch->at < bound->given ? bunch->at : bound->given;
        if (shown < bound->stop && shown - bound->plan + 1 < before)
            before = shown - bound->plan + 1;
        found = before > found ? before : found;
    }
    return found;
}

/* Keeps what the search for the jobs like `last` showed; of many bounds those that hold for most jobs. */
static void keep_bound(struct sweep *sweep, const struct sim_bunch *last) {
    struct bound *place = sweep->bound;
    for (int i = 0; i < sweep->bounds; i++) {
        struct bound *bound = &sweep->bound[i];
        if (bound->procs == last->procs && bound->plan == last->plan) {
            place = bound;
            break;
        }
        if ((int64_t)bound->procs * bound->plan > (int64_t)place->procs * place->plan)
            place = bound;
    }
    const bool known = sweep->bounds && place->procs == last->procs && place->plan == last->plan;
    if (!known && sweep->bounds < BOUNDS)
        place = &sweep->bound[sweep->bounds++];
    else if (!known && (int64_t)last->procs * last->plan >= (int64_t)place->procs * place->plan)
        return;
    *place = (struct bound){last->procs, last->plan, sweep->after, last->at, INT64_MAX};
}

bool sim_compress(struct sim_profile *profile, struct sim_bunches *bunches, int64_t now,
                  struct sim_compressed *done) {
    struct sweep sweep = {.profile = profile, .bunches = bunches, .done = done, .stale = true};
    struct sim_bunch last = {0};
    for (int32_t number = bunches->first, after; number >= 0; number = after) {
        const struct sim_bunch bunch = bunches->bunch[number];
        after = bunch.after;
        if (bunch.procs != last.procs || bunch.plan != last.plan || bunch.at < last.at) {
            if (last.procs)
                keep_bound(&sweep, &last);
            if (sweep.slide.jobs && !move(&sweep))
                return false;
            sweep.after = bound_of(&sweep, &bunch, now);
            sweep.cursor = (struct sim_cursor){0, 0};
            sweep.stale = sweep.after > now;
        }
        last = bunch;
        if (sweep.after < bunch.at && !compress_bunch(&sweep, number))
            return false;
    }
    return move(&sweep);
}
