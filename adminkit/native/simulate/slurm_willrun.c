/* slurm_willrun.c - where and when a job could start, as running jobs come to their planned ends. */
#include "slurm_model.h"

#include <string.h>

#define FIRST_WINDOW 30 /* seconds within which ends are one */
#define MOST_AT_ONCE 200

/* Running jobs that have been given back, in the order of their planned ends. */
struct future {
    struct slurm *m;
    const struct slurm_test *test;
    const struct slurm_end *end; /* by planned end, or by what orders them */
    size_t ends, next;
    int32_t usable; /* nodes of the set that have room by then */
    int64_t window, group;
};

static int32_t count_usable(struct slurm *m, const struct slurm_test *test) {
    int32_t n = 0;
    if (test->shape->least == 1 && !slurm_has_room(m, test->shape))
        return 0;
    for (size_t i = 0; i < m->words; i++)
        for (slurm_word left = test->set[i]; left; left &= left - 1)
            n += slurm_usable(test->shape, &m->room[i * 64 + (size_t)__builtin_ctzll(left)]);
    return n;
}

static bool on_set(const struct slurm_live *live, const slurm_word *set) {
    for (int32_t i = 0; i < live->shares; i++)
        if (slurm_in(set, (size_t)slurm_shares(live)[i].node))
            return true;
    return false;
}

static int32_t usable_shares(const struct future *future, const struct slurm_live *live) {
    int32_t n = 0;
    for (int32_t i = 0; i < live->shares; i++) {
        size_t node = (size_t)slurm_shares(live)[i].node;
        n += slurm_in(future->test->set, node) && slurm_usable(future->test->shape, &future->m->later[node]);
    }
    return n;
}

static void remove_job(struct future *future, const struct slurm_live *live) {
    struct slurm *m = future->m;
    for (int32_t i = 0; i < live->shares; i++) {
        int32_t node = slurm_shares(live)[i].node;
        if (m->later[node].jobs == m->room[node].jobs)
            m->undo[m->undos++] = node;
    }
    future->usable -= usable_shares(future, live);
    slurm_give_back(m, live, m->later);
    future->usable += usable_shares(future, live);
}

static bool fits(struct future *future) {
    const struct slurm_test *test = future->test;
    struct slurm *m = future->m;
    return future->usable >= test->shape->least && slurm_pick(m, test->shape, test->set, m->later, false);
}

/* Gives back jobs that end close to each other. The last of them; NULL: none. *over: nobody ends later. */
static const struct slurm_end *remove_group(struct future *future, bool *over) {
    struct slurm *m = future->m;
    const struct slurm_test *test = future->test;
    const struct slurm_end *last = NULL;
    for (int removed = 0;; future->next++) {
        const struct slurm_end *end = &future->end[future->next];
        if (future->next == future->ends ||
            (m->newer && test->later != SLURM_NO_TIME && end->at > test->later)) {
            *over = true;
            return last;
        }
        if (!on_set(&m->live[end->live], test->set))
            continue;
        if (future->group == SLURM_NO_TIME)
            future->group = slurm_floor(end->at, FIRST_WINDOW) + FIRST_WINDOW;
        remove_job(future, &m->live[end->live]);
        last = end;
        *over = future->next + 1 == future->ends;
        if (*over || end[1].at > future->group + future->window) {
            future->next++;
            return last;
        }
        if (removed++ > MOST_AT_ONCE) {
            future->next++;
            return NULL;
        }
    }
}

/* The last job that has to end for what was picked; before 25.05.1 the last of its group. */
static const struct slurm_end *last_needed(const struct future *future, const struct slurm_end *last) {
    struct slurm *m = future->m;
    memset(m->set_b, 0, m->words * sizeof *m->set_b);
    for (size_t i = 0; i < m->npicked; i++)
        slurm_put(m->set_b, (size_t)m->picked[i].node);
    for (const struct slurm_end *end = last; m->set.release >= 2505 && end >= future->end; end--)
        if (on_set(&m->live[end->live], m->set_b))
            return end;
    return last;
}

static int64_t overdue(const struct slurm *m, const struct slurm_end *end, int64_t now) {
    int64_t guess = m->live[end->live].hard_end + m->set.kill_wait + m->set.over_time_limit;
    return end->at > now ? end->at : guess > now ? guess : now + 1;
}

static void widen(struct future *future, bool over) {
    const struct slurm *m = future->m;
    do
        future->window += m->set.bf_window_linear > 0 ? m->set.bf_window_linear : future->window;
    while (!over && future->end[future->next].at > future->group + future->window);
}

/* Gives back who ends before the start; the others are future->end. */
static void remove_first(struct future *future) {
    struct slurm *m = future->m;
    const struct slurm_test *test = future->test;
    for (; future->ends > 0 && future->end->at < test->start; future->end++, future->ends--)
        if (on_set(&m->live[future->end->live], test->set))
            remove_job(future, &m->live[future->end->live]);
}

/* The same, where they are not in the order of their planned ends. False: out of memory. */
static bool remove_earlier(struct future *future) {
    struct slurm *m = future->m;
    const struct slurm_test *test = future->test;
    size_t n = 0;
    while (m->planned_room < m->ends)
        if (!slurm_grow(m, &m->planned, &m->planned_room, sizeof *m->planned))
            return false;
    for (size_t i = 0; i < m->ends; i++) {
        const struct slurm_live *live = &m->live[m->end[i].live];
        int64_t at = slurm_soft_end(live, test->now);
        if (at >= test->start) {
            m->planned[n] = m->end[i];
            m->planned[n++].at = at;
        } else if (on_set(live, test->set)) {
            remove_job(future, live);
        }
    }
    future->end = m->planned;
    future->ends = n;
    return true;
}

static bool later_start(struct slurm *m, const struct slurm_test *test, int64_t *when) {
    struct future future = {m, test, m->end, m->ends, 0, count_usable(m, test), FIRST_WINDOW, SLURM_NO_TIME};
    if (m->newer) {
        if (!m->soft_ends)
            remove_first(&future);
        else if (!remove_earlier(&future))
            return false;
        *when = test->now;
        if (fits(&future))
            return true;
    }
    for (bool over = false; !over;) {
        size_t before = future.next;
        const struct slurm_end *last = remove_group(&future, &over);
        if (!last && (over || future.next == before))
            return false;
        if (!last)
            continue;
        if (fits(&future)) {
            *when = overdue(m, last_needed(&future, last), test->now);
            return true;
        }
        widen(&future, over);
    }
    return false;
}

bool slurm_willrun(struct slurm *m, const struct slurm_test *test, int64_t *when) {
    *when = test->now;
    if (test->start <= test->now && slurm_has_room(m, test->shape) &&
        slurm_pick(m, test->shape, test->set, m->room, true))
        return true;
    if (test->noreserve)
        return false;
    bool found = later_start(m, test, when);
    for (; m->undos > 0; m->undos--)
        m->later[m->undo[m->undos - 1]] = m->room[m->undo[m->undos - 1]];
    return found;
}
