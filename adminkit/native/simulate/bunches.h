/* bunches.h - the reservations of a queue, in its order. Private to the models.
 *
 * A bunch is several jobs that follow each other in the queue, want the same and are reserved at the same
 * time: in a deep queue most jobs are like their neighbours, so there are far fewer bunches than jobs. */
#ifndef ADMINKIT_BUNCHES_H
#define ADMINKIT_BUNCHES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_bunch {
    int64_t at; /* the reservation */
    int32_t procs, plan;
    int32_t first, last, jobs; /* places; bunches.next leads from one to the other */
    int32_t before, after;     /* bunches; -1: none */
};

struct sim_bunches {
    struct sim_bunch *bunch;   /* by number; a number may change its bunch whenever one is added */
    int32_t used, size, spare; /* spare: the first of those no longer used, or -1 */
    int32_t first, last;       /* -1: none */
    int32_t *next;             /* by place: the next job of the same bunch */
    int64_t jobs;
};

/* False: no memory. sim_bunches_free takes a zeroed one, too. */
bool sim_bunches_new(struct sim_bunches *bunches, int32_t places);
void sim_bunches_free(struct sim_bunches *bunches);

/* Adds a job behind the job `behind` of bunch `number`, which is split where that is not its last; -1 and -1:
 * before all. False: no memory. */
bool sim_bunches_add(struct sim_bunches *bunches, int32_t number, int32_t behind, struct sim_bunch job);
/* Reserves the first `jobs` of a bunch at `at` instead. False: no memory. */
bool sim_bunches_move(struct sim_bunches *bunches, int32_t number, int32_t jobs, int64_t at);
/* Takes the last job of a bunch out: its place. */
int32_t sim_bunches_take_last(struct sim_bunches *bunches, int32_t number);
/* Takes a whole bunch out: the number of the next, or -1. */
int32_t sim_bunches_remove(struct sim_bunches *bunches, int32_t number);

#endif
