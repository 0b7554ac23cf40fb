/* slurm_timeline.h - the nodes that are free from one time of a plan to the next. */
#ifndef SLURM_TIMELINE_H
#define SLURM_TIMELINE_H

#include "slurm_model.h"

struct slurm_slot {
    int64_t begin, end;
    size_t next; /* 0: the last */
};
struct slurm_timeline {
    struct slurm_slot *slot;
    slurm_word *free;
    size_t n, room;
};
bool slurm_timeline_open(struct slurm *m, struct slurm_timeline *line, int64_t begin, int64_t end);
static inline slurm_word *slurm_slot_free(const struct slurm *m, const struct slurm_timeline *line,
                                          size_t slot) {
    return line->free + slot * m->words;
}
bool slurm_timeline_add(struct slurm *m, struct slurm_timeline *line, int64_t begin, int64_t end,
                        const slurm_word *nodes);
bool slurm_timeline_overlaps(const struct slurm *m, const struct slurm_timeline *line, int64_t begin,
                             int64_t end, const slurm_word *nodes);

#endif
