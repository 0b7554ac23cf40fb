/* slurm_timeline.c - which nodes backfill has left free, by time. */
#include "slurm_timeline.h"

#include <stdlib.h>
#include <string.h>

bool slurm_timeline_open(struct slurm *m, struct slurm_timeline *line, int64_t begin, int64_t end) {
    if (line->room == 0) {
        line->slot = malloc(64 * sizeof *line->slot);
        line->free = malloc(64 * m->words * sizeof *line->free);
        if (!line->slot || !line->free)
            return false;
        line->room = 64;
    }
    line->n = 1;
    line->slot[0] = (struct slurm_slot){begin, end, 0};
    memcpy(line->free, m->up, m->words * sizeof *line->free);
    return true;
}

static bool more_room(struct slurm *m, struct slurm_timeline *line) {
    size_t room = line->room * 2;
    struct slurm_slot *slot = realloc(line->slot, room * sizeof *slot);
    if (slot)
        line->slot = slot;
    slurm_word *sets = realloc(line->free, room * m->words * sizeof *sets);
    if (sets)
        line->free = sets;
    m->failed = m->failed || !slot || !sets;
    line->room = m->failed ? line->room : room;
    return !m->failed;
}

/* Cuts a slot in two at a time. */
static void cut(struct slurm *m, struct slurm_timeline *line, size_t slot, int64_t at) {
    size_t rest = line->n++;
    line->slot[rest] = (struct slurm_slot){at, line->slot[slot].end, line->slot[slot].next};
    line->slot[slot].end = at;
    line->slot[slot].next = rest;
    memcpy(slurm_slot_free(m, line, rest), slurm_slot_free(m, line, slot), m->words * sizeof(slurm_word));
}

/* Makes one of the first two neighbours that are equal, from `slot` on, before `stop`. */
static void join(struct slurm *m, struct slurm_timeline *line, size_t slot, size_t stop) {
    for (size_t next; slot != stop && (next = line->slot[slot].next) != 0; slot = next)
        if (memcmp(slurm_slot_free(m, line, slot), slurm_slot_free(m, line, next),
                   m->words * sizeof(slurm_word)) == 0) {
            line->slot[slot].end = line->slot[next].end;
            line->slot[slot].next = line->slot[next].next;
            return;
        }
}

bool slurm_timeline_add(struct slurm *m, struct slurm_timeline *line, int64_t begin, int64_t end,
                        const slurm_word *nodes) {
    size_t before = 0, at = 0, stop = SIZE_MAX;
    begin = begin > line->slot[0].begin ? begin : line->slot[0].begin;
    end = end < begin + m->set.bf_resolution ? begin + m->set.bf_resolution : end;
    if (line->n + 2 > line->room && !more_room(m, line))
        return false;
    while (line->slot[at].end < begin) {
        before = at;
        if ((at = line->slot[at].next) == 0)
            return true;
    }
    if (line->slot[at].end > begin)
        cut(m, line, at, begin);
    while ((at = line->slot[at].next) != 0) {
        slurm_word *left = slurm_slot_free(m, line, at);
        if (end < line->slot[at].end)
            cut(m, line, at, end);
        for (size_t i = 0; i < m->words; i++)
            left[i] &= ~nodes[i];
        if (end == line->slot[at].end) {
            stop = line->slot[at].next ? line->slot[at].next : SIZE_MAX;
            break;
        }
    }
    join(m, line, before, stop);
    return true;
}

bool slurm_timeline_overlaps(const struct slurm *m, const struct slurm_timeline *line, int64_t begin,
                             int64_t end, const slurm_word *nodes) {
    size_t at = 0;
    do {
        const struct slurm_slot *slot = &line->slot[at];
        if (slot->end > begin && slot->begin < end && !slurm_within(m, nodes, slurm_slot_free(m, line, at)))
            return true;
        at = slot->next;
    } while (at != 0);
    return false;
}
