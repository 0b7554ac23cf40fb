/* watch.h - the thread that looks at the threads of a step's tasks, and leaves the word in the job's comment.
 *
 *   struct io_watch *watch = io_watch_start(&site, &step, job, batch);
 *   io_watch_add_task(watch, pid);   for each of the others
 *   io_watch_stop(watch);            within 4 s; frees it
 *
 * A step that ends before its twelfth look costs no RPC and leaves nothing. The thread takes at most 0.2 % of
 * a core by its own clock: where a look costs more than its share, the next one comes later. */
#ifndef ADMINKIT_IO_WATCH_H
#define ADMINKIT_IO_WATCH_H

#include "site.h"
#include "threads.h"

struct io_watch;

/* `step` is copied. batch: it is the batch step, which waits while other steps work. NULL: no thread or no
 * memory. */
struct io_watch *io_watch_start(const struct io_site *site, const struct io_step *step, uint32_t job,
                                bool batch);
/* NULL does nothing. */
void io_watch_add_task(struct io_watch *watch, pid_t task);
/* NULL does nothing. A thread that is stuck is left behind, and the plugin pinned. */
void io_watch_stop(struct io_watch *watch);

#endif
