/* state.h - state/JOB of the cache: the record of the job's staging on this node, and three locks.
 *
 * The locks are of the open file description (F_OFD_SETLK), so a process that is started with the descriptor
 * has them, and they end with the last that has it. */
#ifndef ADMINKIT_DATA_STATE_H
#define ADMINKIT_DATA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "record.h"

enum da_lock {
    DA_GATE,   /* the helper's, until this node's part is here: tasks wait for it */
    DA_HELPER, /* the helper's, while it runs */
    DA_USE     /* each slurmstepd's of the job, shared */
};

/* A descriptor, or a negative errno. */
int da_state_open(const struct da_cache *cache, uint32_t job, bool make);

/* The name of state/JOB, removed. */
void da_state_remove(const struct da_cache *cache, uint32_t job);

/* False: somebody else has it. */
bool da_state_hold(int fd, enum da_lock first, enum da_lock last, bool shared);
void da_state_let_go(int fd, enum da_lock lock);
/* Whether it is held through another description than this one. */
bool da_state_is_locked(int fd, enum da_lock lock);

/* False: nothing was written yet. */
bool da_state_read(int fd, struct da_record *record);
void da_state_write(int fd, const struct da_record *record);

/* The shared folder that the record is of; "": none. */
void da_state_folder(int fd, char *folder, size_t size);
/* What the record said of another one, or of a helper that is gone, is forgotten. */
void da_state_set_folder(int fd, const char *folder);

/* The bytes, copied and hit, of the last word that was left. */
uint64_t da_state_said(int fd);
void da_state_set_said(int fd, uint64_t bytes);

#endif
