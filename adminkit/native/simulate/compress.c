/* compress.c - one walk over the queue and the profile. Most of what could move is passed over: like jobs are
 * searched for together, what one kind of job was shown holds for larger and longer ones, and like jobs move
 * as one. */
#include "compress.h"

#include "profile_blocks.h"

/* Jobs of one kind that moved one after the other, the first to `to`, each next one to where the one before
 * had been, the last from `from`: to the profile that is one move. It is kept back, as the next job may
 * lengthen it. */
struct slide {
    int64_t to, from;
    int32_t jobs;        /* abreast; 0: no slide */
    int32_t procs, plan; /* of one */
    struct sim_cursor at_to, at_from;
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
    int64_t now;
    struct bound bound[BOUNDS];
    int bounds;
    struct slide slide;
    struct sim_search search; /* .at: the next job of the kind cannot start before */
    bool stale;               /* search.start was at search.at before the profile changed */
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
    return !procs ||
           (sim_profile_take_near(sweep->profile, slide.at_from, given, slide.from + slide.plan, -procs) &&
            sim_profile_take_near(sweep->profile, slide.at_to, slide.to, end < slide.from ? end : slide.from,
                                  procs));
}

/* Searches for room, `stop` at the latest: when the next of the kind may start. The search ends at `stop`
 * if a job that starts there would reach it. */
static int64_t search(struct sweep *sweep, int64_t procs, int64_t stop) {
    if (sweep->stale)
        sweep->search.start = sim_profile_near(sweep->profile, sweep->search.at, sweep->search.start);
    sweep->stale = false;
    sweep->search.procs = procs < INT32_MAX ? (int32_t)procs : INT32_MAX;
    sweep->search.stop = stop;
    sim_profile_earliest(sweep->profile, &sweep->search);
    return sweep->search.at;
}

/* Notes that this number of jobs have this reservation. */
static void note(struct sweep *sweep, int64_t at, int32_t jobs) {
    struct sim_compressed *done = sweep->done;
    if (at <= sweep->now)
        done->ready += jobs;
    else if (at < done->later)
        done->later = at;
}

/* Gives the jobs of a bunch earlier reservations, as many as can have one. The slide ends before `after`:
 * what it takes does not count there, and what it gives back only to a job that would reach it. */
static bool compress_bunch(struct sweep *sweep, int32_t number) {
    const struct sim_bunch *bunch = &sweep->bunches->bunch[number];
    const int64_t from = bunch->at;
    const int32_t procs = bunch->procs, plan = bunch->plan;
    struct slide *slide = &sweep->slide;
    for (int32_t left = bunch->jobs; left > 0;) {
        if (slide->jobs && from > slide->to + plan && !move(sweep))
            return false;
        const int64_t to = search(sweep, procs, from);
        if (to == from) {
            note(sweep, from, left);
            return true;
        }
        const int32_t most = left > 1 ? sweep->search.least / procs : 1, jobs = most < left ? most : left;
        if (!sim_bunches_move(sweep->bunches, number, jobs, to))
            return false;
        left -= jobs;
        sweep->done->moved += jobs;
        note(sweep, to, jobs);
        const struct sim_cursor end = sweep->search.end;
        const bool meets = to + plan >= from;
        const int64_t one_more = (int64_t)procs * (jobs + 1);
        const bool full = meets && sim_profile_before(sweep->profile, end, from) < one_more;
        if (slide->jobs == jobs && slide->from == to && meets) {
            slide->from = from;
            slide->at_from = end;
        } else {
            if (slide->jobs && !move(sweep))
                return false;
            *slide = (struct slide){to, from, jobs, procs, plan, sweep->search.start, end};
        }
        /* Nobody can start between `to` and where these were, unless there is still room. */
        if (full) {
            sweep->search.at = from;
            sweep->search.start = end;
        } else if (!meets || search(sweep, one_more, from) < from) {
            if (!move(sweep))
                return false;
        }
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
    *place = (struct bound){last->procs, last->plan, sweep->search.at, last->at, INT64_MAX};
}

bool sim_compress(struct sim_profile *profile, struct sim_bunches *bunches, int64_t now,
                  struct sim_compressed *done) {
    struct sweep sweep = {.profile = profile, .bunches = bunches, .done = done, .now = now, .stale = true};
    done->ready = 0;
    done->later = INT64_MAX;
    struct sim_bunch last = {0};
    for (int32_t number = bunches->first, after; number >= 0; number = after) {
        const struct sim_bunch bunch = bunches->bunch[number];
        after = bunch.after;
        if (bunch.procs != last.procs || bunch.plan != last.plan || bunch.at < last.at) {
            if (last.procs)
                keep_bound(&sweep, &last);
            if (sweep.slide.jobs && !move(&sweep))
                return false;
            sweep.search.seconds = bunch.plan;
            sweep.search.at = bound_of(&sweep, &bunch, now);
            sweep.search.start = (struct sim_cursor){0, 0};
            sweep.stale = sweep.search.at > now;
        }
        last = bunch;
        if (sweep.search.at >= bunch.at)
            note(&sweep, bunch.at, bunch.jobs);
        else if (!compress_bunch(&sweep, number))
            return false;
    }
    done->due = done->ready ? now : done->later;
    return move(&sweep);
}
