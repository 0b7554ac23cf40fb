/* input.h - standard input into a struct sim. docs/simulate-spec.md has the format. */
#ifndef ADMINKIT_SIMULATE_INPUT_H
#define ADMINKIT_SIMULATE_INPUT_H

#include <stdio.h>

#include "workload.h"

/* Reads all of `file`. False: sim->error. */
bool sim_read(struct sim *sim, FILE *file);
/* Writes what came of the jobs. False: the file took no more. */
bool sim_write(const struct sim *sim, FILE *file);
void sim_free(struct sim *sim);

#endif
