/* slurm_queue.c - waiting jobs: their priorities, their records in order, and what a QOS allows. */
#include "slurm_model.h"

#include <stdlib.h>
#include <string.h>

static double age_factor(const struct slurm *m, const struct sim_job *job, int64_t at) {
    int64_t age = at - job->submit;
    if (age <= 0)
        return 0;
    return age >= m->set.priority_max_age ? 1 : (double)age / (double)m->set.priority_max_age;
}

static double size_factor(const struct slurm *m, const struct sim_job *job) {
    double nodes = (double)m->nodes, cpus = (double)m->site_cpus, wanted = job->nodes > 1 ? job->nodes : 1;
    double size = wanted / nodes, share = (double)job->cpus / cpus;
    if (m->set.priority_favor_small) {
        size = nodes > wanted ? (nodes - wanted) / nodes : 0;
        share = (cpus - (double)job->cpus) / cpus;
    }
    if (job->cpus > 0)
        size = (size + share) / 2;
    return size < 0 ? 0 : size > 1 ? 1 : size;
}

static uint32_t priority(const struct slurm *m, const struct sim_job *job, size_t queue, int64_t at) {
    const struct sim_settings *set = &m->set;
    if (job->priority != SIM_NONE)
        return (uint32_t)job->priority;
    double sum = 0, factor = (double)m->queue[queue].factor;
    double qos = job->qos == SIM_NONE ? 0 : (double)m->sim->qos[job->qos].priority;
    if (set->priority_weight_age)
        sum += age_factor(m, job, at) * (double)set->priority_weight_age;
    if (set->priority_weight_job_size)
        sum += size_factor(m, job) * (double)set->priority_weight_job_size;
    if (set->priority_weight_partition && factor > 0)
        sum += factor / m->max_factor * (double)set->priority_weight_partition;
    if (set->priority_weight_qos && qos > 0)
        sum += qos / m->max_qos * (double)set->priority_weight_qos;
    sum += (double)job->site_factor;
    sum -= (double)job->nice;
    return sum < 1 ? 1 : sum >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static uint64_t key(const struct slurm *m, size_t queue, uint32_t value) {
    return (uint64_t)m->tier_rank[queue] << 32 | (UINT32_MAX - value);
}

static bool first(const struct slurm_record *a, const struct slurm_record *b) {
    return a->tier_priority != b->tier_priority ? a->tier_priority < b->tier_priority
                                                : a->turn_queue < b->turn_queue;
}

static void insert(struct slurm *m, const struct slurm_record *record) {
    size_t low = 0, high = m->records;
    if (high > 0 && first(&m->line[high - 1], record))
        low = high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (first(&m->line[middle], record))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&m->line[low + 1], &m->line[low], (m->records - low) * sizeof *record);
    m->line[low] = *record;
    m->records++;
}

void slurm_tidy(struct slurm *m) {
    size_t kept = 0;
    if (m->dead == 0)
        return;
    for (size_t i = 0; i < m->records; i++)
        if (slurm_waits(m, &m->line[i]))
            m->line[kept++] = m->line[i];
    m->records = kept;
    m->dead = 0;
}

static int by_order(const void *a, const void *b) {
    return first(a, b) ? -1 : 1;
}

bool slurm_priorities(struct slurm *m, int64_t at) {
    bool sorted = true, differ = false;
    slurm_tidy(m);
    for (size_t i = 0; i < m->records; i++) {
        struct slurm_record *record = &m->line[i];
        size_t queue = record->turn_queue % SIM_MAX_QUEUES;
        uint32_t before = record->priority;
        record->priority = priority(m, m->live[record->live].job, queue, at);
        differ = differ || record->priority != before;
        record->tier_priority = key(m, queue, record->priority);
        sorted = sorted && (i == 0 || first(record - 1, record));
    }
    if (!sorted)
        qsort(m->line, m->records, sizeof *m->line, by_order);
    return !sorted || (differ && m->set.bf_min_prio_reserve > 0);
}

/* Whether the QOS would hold the job for ever. */
static bool qos_never(const struct slurm *m, const struct sim_job *job) {
    if (job->qos == SIM_NONE)
        return false;
    const struct sim_qos *qos = &m->sim->qos[job->qos];
    const int64_t limits[] = {qos->group_jobs, qos->group_cpus, qos->group_gpus};
    const int64_t user_limits[] = {qos->max_user_jobs, qos->max_user_cpus, qos->max_user_gpus};
    const int64_t wanted[] = {1, job->cpus, job->gpus};
    for (size_t i = 0; i < 3; i++)
        if ((limits[i] != SIM_NONE && wanted[i] > limits[i]) ||
            (user_limits[i] != SIM_NONE && wanted[i] > user_limits[i]))
            return true;
    return false;
}

static bool above(const struct slurm_usage *used, const struct sim_job *job, int64_t jobs, int64_t cpus,
                  int64_t gpus) {
    return (jobs != SIM_NONE && used->jobs + 1 > jobs) ||
           (cpus != SIM_NONE && used->cpus + job->cpus > cpus) ||
           (gpus != SIM_NONE && used->gpus + job->gpus > gpus);
}

bool slurm_qos_holds(const struct slurm *m, const struct slurm_live *live) {
    const struct sim_job *job = live->job;
    if (job->qos == SIM_NONE)
        return false;
    const struct sim_qos *qos = &m->sim->qos[job->qos];
    const struct slurm_usage *users = m->user_usage[job->qos];
    return above(&m->group[job->qos], job, qos->group_jobs, qos->group_cpus, qos->group_gpus) ||
           (users && live->user >= 0 &&
            above(&users[live->user], job, qos->max_user_jobs, qos->max_user_cpus, qos->max_user_gpus));
}

static void count(struct slurm_usage *used, const struct sim_job *job, int64_t sign) {
    used->jobs += sign;
    used->cpus += sign * job->cpus;
    used->gpus += sign * job->gpus;
}

void slurm_qos_count(struct slurm *m, const struct slurm_live *live, int64_t sign) {
    int32_t qos = live->job->qos;
    if (qos == SIM_NONE)
        return;
    count(&m->group[qos], live->job, sign);
    if (m->user_usage[qos] && live->user >= 0)
        count(&m->user_usage[qos][live->user], live->job, sign);
}

struct slurm_array *slurm_array_of(struct slurm *m, const struct slurm_live *live, enum slurm_loop loop,
                                   uint64_t pass) {
    if (live->array < 0)
        return NULL;
    struct slurm_array *array = &m->array[live->array];
    if (array->in[loop].pass == pass)
        return array;
    array->in[loop].pass = pass;
    array->in[loop].rejected = 0;
    if (loop == SLURM_BACKFILL)
        memset(array->reservations, 0, m->sim->queues * sizeof *array->reservations);
    return array;
}

static int32_t new_live(struct slurm *m) {
    int32_t at = m->free_live;
    if (at >= 0) {
        m->free_live = m->live[at].next_free;
        return at;
    }
    if (m->lives == m->live_room && !slurm_grow(m, &m->live, &m->live_room, sizeof *m->live))
        return -1;
    return (int32_t)m->lives++;
}

/* Which loops may start the job in a queue. False: none. */
static bool loops(const struct slurm *m, const struct sim_job *job, size_t queue,
                  struct slurm_record *record) {
    const struct sim_queue *q = &m->queue[queue];
    const struct slurm_shape *shape = &m->shape[record->shape];
    int32_t soft = job->plan != SIM_NONE ? job->plan : job->limit;
    if (!q->up || !shape->fits || (q->min_nodes != SIM_NONE && shape->most < q->min_nodes) ||
        (q->max_nodes != SIM_NONE && shape->least > q->max_nodes))
        return false;
    record->main = q->max_limit == SIM_NONE || job->limit == SIM_NONE || job->limit <= q->max_limit;
    record->backfill =
        m->set.backfill && (q->max_limit == SIM_NONE || soft == SIM_NONE || soft <= q->max_limit);
    return record->main || record->backfill;
}

bool slurm_submit(struct slurm *m, int32_t number, int32_t turn) {
    struct sim_job *job = &m->sim->job[number];
    int32_t at = -1;
    if (qos_never(m, job))
        return true;
    for (size_t queue = 0; queue < m->sim->queues; queue++) {
        struct slurm_record record = {.turn_queue = (uint64_t)turn * SIM_MAX_QUEUES + queue};
        if (!(job->queues >> queue & 1))
            continue;
        record.shape = slurm_shape_of(m, job, queue);
        if (m->failed)
            return false;
        if (!loops(m, job, queue, &record))
            continue;
        if (at < 0 && (at = new_live(m)) < 0)
            return false;
        if (m->records == m->record_room && !slurm_grow(m, &m->line, &m->record_room, sizeof record))
            return false;
        record.live = at;
        record.priority = priority(m, job, queue, job->submit);
        record.tier_priority = key(m, queue, record.priority);
        insert(m, &record);
    }
    if (at < 0)
        return true;
    m->live[at] = (struct slurm_live){.job = job,
                                      .turn = turn,
                                      .state = SLURM_WAITING,
                                      .user = slurm_dense(m->users, m->user_count, job->user),
                                      .array = slurm_dense(m->arrays, m->array_count, job->array)};
    m->waiting++;
    m->count.most_waiting =
        (int64_t)m->waiting > m->count.most_waiting ? (int64_t)m->waiting : m->count.most_waiting;
    slurm_queue_pass(m, job->submit);
    slurm_changed(m, job->submit);
    return true;
}
