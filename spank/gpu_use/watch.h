/* watch.h - the thread that has a job's GPUs measured on this node, and leaves the word in the job's comment.
 *
 *   struct gu_watch *watch = gu_watch_start(&site, job, kind);
 *   gu_watch_stop(watch);           within 4 s; frees it
 *
 * One step of the job on the node does it at a time: the one that holds the lock of the job's file. A job
 * that ends within the first period costs nothing: no RPC, no process. */
#ifndef ADMINKIT_GPU_USE_WATCH_H
#define ADMINKIT_GPU_USE_WATCH_H

#include <stdint.h>

#include "site.h"

/* Who leaves a word at the end. Trap: when the extern step ends, the job has ended, and slurmctld takes no
 * word. */
enum gu_step { GU_BATCH, GU_STEP, GU_EXTERN };

struct gu_watch;

/* NULL: no thread or no memory. */
struct gu_watch *gu_watch_start(const struct gu_site *site, uint32_t job, enum gu_step step);
/* NULL does nothing. A thread that is stuck is left behind, and the plugin pinned. */
void gu_watch_stop(struct gu_watch *watch);

#endif
