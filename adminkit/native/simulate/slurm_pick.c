/* slurm_pick.c - which nodes a job gets: the best row of neighbours, as select/cons_tres chooses them. */
#include "slurm_model.h"

struct choice {
    const struct slurm_shape *shape;
    const struct slurm_room *room;
    int64_t rem_cpus;
    int32_t rem_nodes, left; /* left: nodes that it may take yet */
};

/* The usable nodes of the set, in runs. Returns how many runs there are; 0 where the nodes are fewer than
 * `least`. */
static size_t find_runs(struct slurm *m, const struct choice *choice, const slurm_word *set, bool avoid) {
    size_t runs = 0;
    int32_t usable = 0, before = -2;
    for (size_t i = 0; i < m->words; i++)
        for (slurm_word left = set[i]; left; left &= left - 1) {
            size_t node = i * 64 + (size_t)__builtin_ctzll(left);
            if (!slurm_usable(choice->shape, &choice->room[node]))
                continue;
            int64_t key = m->key[node] + (avoid && m->node[node].completing > 0);
            if (before + 1 != (int32_t)node || m->run[runs - 1].key != key)
                m->run[runs++] = (struct slurm_run){key, 0, usable, 0};
            m->run[runs - 1].cpus += choice->room[node].cpus;
            m->run[runs - 1].n++;
            m->usable[usable++] = before = (int32_t)node;
        }
    return usable < choice->shape->least ? 0 : runs;
}

/* The place of the best run that is left; -1: none is. */
static int64_t best_run(const struct slurm *m, size_t runs, const struct choice *choice) {
    int64_t best = -1;
    bool best_enough = false;
    for (size_t i = 0; i < runs; i++) {
        const struct slurm_run *run = &m->run[i], *than = best < 0 ? NULL : &m->run[best];
        if (run->n == 0)
            continue;
        bool enough = run->cpus >= choice->rem_cpus &&
                      run->n >= choice->rem_nodes + choice->shape->least - choice->shape->most;
        if (than && run->key > than->key)
            continue;
        if (than && run->key == than->key && !(enough && (!best_enough || run->cpus < than->cpus)) &&
            !(!enough && run->cpus > than->cpus))
            continue;
        best = (int64_t)i;
        best_enough = enough;
    }
    return best;
}

/* The single node of the run that fits best; -1: none holds all that is left. */
static int32_t tightest(const struct slurm *m, const struct slurm_run *run, const struct choice *choice) {
    int32_t best = -1;
    for (int32_t i = run->first; i < run->first + run->n; i++) {
        int32_t node = m->usable[i];
        if (choice->room[node].cpus >= choice->rem_cpus &&
            (best < 0 || choice->room[node].cpus < choice->room[best].cpus))
            best = node;
    }
    return best;
}

static int32_t use(const struct choice *choice, int32_t cpus) {
    if (choice->shape->whole)
        return cpus;
    if (choice->shape->most == choice->shape->least)
        return choice->shape->share;
    int64_t others = choice->rem_nodes > 1 ? choice->rem_nodes - 1 : 0;
    int64_t wanted = choice->rem_cpus - others;
    wanted = wanted > 1 ? wanted : 1;
    return wanted < cpus ? (int32_t)wanted : cpus;
}

static bool enough(const struct choice *choice) {
    return choice->rem_nodes <= 0 && choice->rem_cpus <= 0;
}

static void take(struct slurm *m, const struct slurm_run *run, struct choice *choice) {
    int32_t alone = choice->rem_nodes <= 1 ? tightest(m, run, choice) : -1;
    for (int32_t i = run->first; i < run->first + run->n && choice->left > 0 && !enough(choice); i++) {
        int32_t node = m->usable[i], cpus = choice->room[node].cpus;
        if ((alone >= 0 && node != alone) || (choice->left == 1 && cpus < choice->rem_cpus))
            continue;
        int32_t used = use(choice, cpus);
        m->picked[m->npicked++] = (struct slurm_share){node, used};
        choice->rem_nodes--;
        choice->left--;
        choice->rem_cpus -= used;
    }
}

bool slurm_pick(struct slurm *m, const struct slurm_shape *shape, const slurm_word *set,
                const struct slurm_room *room, bool avoid) {
    struct choice choice = {shape, room, shape->cpus, shape->most, shape->most};
    size_t runs = find_runs(m, &choice, set, avoid);
    m->npicked = 0;
    for (int64_t best; choice.left > 0 && (best = best_run(m, runs, &choice)) >= 0; m->run[best].n = 0) {
        take(m, &m->run[best], &choice);
        if (enough(&choice))
            return true;
    }
    return runs > 0 && choice.rem_cpus <= 0 && choice.rem_nodes + shape->least - shape->most <= 0;
}
