/* elastic_machine.c - blocks of GPUs, and what idle ones draw. */
#include "elastic.h"

#include <stdlib.h>

void elastic_spend(int64_t *sum, int64_t watts, int64_t seconds) {
    int64_t joules;
    if (__builtin_mul_overflow(watts, seconds, &joules) || __builtin_add_overflow(*sum, joules, sum))
        *sum = INT64_MAX;
}

bool elastic_machine_new(struct elastic_machine *machine, const struct sim *sim, int64_t now) {
    const struct sim_nodes *nodes = &sim->nodes[0];
    free(machine->node);
    *machine = (struct elastic_machine){
        .nodes = (int32_t)nodes->count, .gpus = (int32_t)nodes->gpus, .set = &sim->set};
    machine->free = nodes->count * nodes->gpus;
    machine->all = nodes->gpus == 64 ? UINT64_MAX : (UINT64_C(1) << nodes->gpus) - 1;
    machine->node = calloc((size_t)nodes->count, sizeof *machine->node);
    for (int32_t i = 0; machine->node && i < machine->nodes; i++)
        machine->node[i].since = now;
    return machine->node != NULL;
}

static void settle(struct elastic_machine *machine, struct elastic_node *node, int64_t now) {
    const int64_t time = now - node->since, after = machine->set->sleep_after;
    const int64_t awake = node->used || after == SIM_NONE || time < after ? time : after;
    const int64_t idle = machine->gpus - node->full;
    elastic_spend(&machine->idle, idle * machine->set->idle_watts, awake);
    elastic_spend(&machine->asleep, idle * machine->set->sleep_watts, time - awake);
    node->since = now;
}

void elastic_settle(struct elastic_machine *machine, int64_t now) {
    for (int32_t i = 0; i < machine->nodes; i++)
        settle(machine, &machine->node[i], now);
}

void elastic_set(struct elastic_machine *machine, const struct elastic_block *block, bool used, int64_t now) {
    const int32_t gpus = __builtin_popcountll(block->mask);
    for (int32_t i = block->node; i < block->node + block->nodes; i++) {
        struct elastic_node *node = &machine->node[i];
        settle(machine, node, now);
        node->used ^= block->mask;
        node->full += used ? gpus : -gpus;
    }
    machine->free += (int64_t)block->nodes * (used ? -gpus : gpus);
}

/* The first aligned block of `gpus` GPUs (a power of two) that is free on a node; 0: none. */
static uint64_t free_part(const struct elastic_machine *machine, uint64_t used, int32_t gpus) {
    const uint64_t part = gpus == 64 ? UINT64_MAX : (UINT64_C(1) << gpus) - 1;
    for (int32_t at = 0; at < machine->gpus; at += gpus)
        if (!(used & part << at))
            return part << at;
    return 0;
}

static bool free_nodes(const struct elastic_machine *machine, int32_t count, struct elastic_block *block) {
    const int32_t step = count & (count - 1) ? 1 : count;
    for (int32_t at = 0; at + count <= machine->nodes; at += step) {
        int32_t i = 0;
        while (i < count && !machine->node[at + i].used)
            i++;
        if (i == count) {
            *block = (struct elastic_block){at, count, machine->all};
            return true;
        }
    }
    return false;
}

bool elastic_take(struct elastic_machine *machine, int32_t gpus, int64_t now, struct elastic_block *block) {
    int32_t most = -1;
    if (gpus > machine->gpus) {
        if (!free_nodes(machine, (gpus - 1) / machine->gpus + 1, block))
            return false;
    } else {
        const int32_t part = gpus & (gpus - 1) ? 2 << elastic_size(gpus) : gpus;
        for (int32_t i = 0; i < machine->nodes && most < machine->gpus - part; i++) {
            const struct elastic_node *node = &machine->node[i];
            const bool may = node->full > most && node->full <= machine->gpus - part;
            const uint64_t mask = may ? free_part(machine, node->used, part) : 0;
            if (mask) {
                *block = (struct elastic_block){i, 1, mask};
                most = node->full;
            }
        }
        if (most < 0)
            return false;
    }
    elastic_set(machine, block, true, now);
    return true;
}

struct elastic_block elastic_part(const struct elastic_machine *machine, struct elastic_block block,
                                  int32_t size) {
    const int64_t gpus = INT64_C(1) << size;
    if (gpus >= machine->gpus)
        return (struct elastic_block){block.node, (int32_t)(gpus / machine->gpus), block.mask};
    const uint64_t lowest = block.mask & (~block.mask + 1);
    return (struct elastic_block){block.node, 1, ((UINT64_C(1) << gpus) - 1) * lowest};
}

bool elastic_overlap(const struct elastic_block *a, const struct elastic_block *b) {
    return a->node < b->node + b->nodes && b->node < a->node + a->nodes && (a->mask & b->mask);
}
