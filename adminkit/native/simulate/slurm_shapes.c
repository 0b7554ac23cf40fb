/* slurm_shapes.c - what jobs ask for. Jobs that ask for the same share one shape, and what is known of it. */
#include "slurm_model.h"

#include <stdlib.h>
#include <string.h>

static int32_t portion(int64_t all, int64_t parts) {
    return (int32_t)((all + parts - 1) / parts);
}

static struct slurm_shape shape_of(const struct slurm *m, const struct sim_job *job, size_t queue) {
    struct slurm_shape shape = {
        .features = job->features,
        .mem = job->mem,
        .queue = (int32_t)queue,
        .least = job->nodes > 1 ? job->nodes : 1,
        .cpus = job->cpus,
        .gpu_type = job->gpus > 0 ? job->gpu_type : SIM_NONE,
        .whole = job->whole == 1 || m->queue[queue].whole == 1,
    };
    shape.most = job->most_nodes > shape.least ? job->most_nodes : shape.least;
    shape.share = shape.most > shape.least ? 1 : portion(job->cpus, shape.least);
    shape.share = shape.share > 1 ? shape.share : 1;
    shape.gpus = portion(job->gpus, shape.least);
    return shape;
}

static bool alike(const struct slurm_shape *a, const struct slurm_shape *b) {
    return a->features == b->features && a->mem == b->mem && a->queue == b->queue && a->least == b->least &&
           a->most == b->most && a->cpus == b->cpus && a->gpu_type == b->gpu_type && a->gpus == b->gpus &&
           a->whole == b->whole;
}

static uint64_t hash(const struct slurm_shape *shape) {
    const int64_t parts[] = {shape->features, shape->mem,      shape->queue, shape->least, shape->most,
                             shape->cpus,     shape->gpu_type, shape->gpus,  shape->whole};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        h = (h ^ (uint64_t)parts[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
    return h;
}

static bool eligible(const struct sim_nodes *class, const struct slurm_shape *shape) {
    return (shape->features & ~class->features) == 0 && class->cpus >= shape->share &&
           class->mem >= shape->mem && class->gpus >= shape->gpus &&
           (shape->gpu_type == SIM_NONE || class->gpu_type == shape->gpu_type);
}

/* Its eligible nodes, and whether the empty site has room for it. */
static void meet_site(struct slurm *m, struct slurm_shape *shape) {
    const slurm_word *queue = m->of_queue + (size_t)shape->queue * m->words;
    slurm_word *set = m->set_b;
    memset(set, 0, m->words * sizeof *set);
    for (size_t i = 0; i < m->nodes; i++)
        if (slurm_in(queue, i) && eligible(&m->sim->nodes[m->node[i].cls], shape))
            slurm_put(set, i);
    shape->fits = slurm_pick(m, shape, set, m->full, false);
    shape->nodes = slurm_keep_set(m, set);
}

static bool more_chains(struct slurm *m) {
    size_t chains = m->chains ? 4 * m->chains : 256;
    size_t *chain = realloc(m->shape_chain, chains * sizeof *chain);
    if (!chain) {
        m->failed = true;
        return false;
    }
    m->shape_chain = chain;
    m->chains = chains;
    memset(chain, 0, chains * sizeof *chain);
    for (size_t i = 0; i < m->shapes; i++) {
        size_t at = hash(&m->shape[i]) % chains;
        m->shape[i].next = chain[at];
        chain[at] = i + 1;
    }
    return true;
}

int32_t slurm_shape_of(struct slurm *m, const struct sim_job *job, size_t queue) {
    struct slurm_shape shape = shape_of(m, job, queue);
    if (m->shapes >= m->chains && !more_chains(m))
        return -1;
    size_t at = hash(&shape) % m->chains;
    for (size_t i = m->shape_chain[at]; i > 0; i = m->shape[i - 1].next)
        if (alike(&m->shape[i - 1], &shape))
            return (int32_t)(i - 1);
    if (m->shapes == m->shape_room && !slurm_grow(m, &m->shape, &m->shape_room, sizeof shape))
        return -1;
    meet_site(m, &shape);
    shape.next = m->shape_chain[at];
    m->shape[m->shapes++] = shape;
    m->shape_chain[at] = m->shapes;
    return m->failed ? -1 : (int32_t)(m->shapes - 1);
}

bool slurm_has_room(struct slurm *m, struct slurm_shape *shape) {
    const slurm_word *nodes = slurm_kept(m, shape->nodes);
    int32_t n = 0;
    if (shape->no_room == m->freed)
        return false;
    for (size_t i = 0; i < m->words; i++)
        for (slurm_word left = nodes[i] & m->up[i]; left; left &= left - 1)
            if (slurm_usable(shape, &m->room[i * 64 + (size_t)__builtin_ctzll(left)]) && ++n == shape->least)
                return true;
    shape->no_room = m->freed;
    return false;
}
