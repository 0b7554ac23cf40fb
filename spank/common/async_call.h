/* async_call.h - a function that may block for minutes, run in a thread of its own that nobody has to wait
 * for.
 *
 * libslurm tries for MessageTimeout to reach a slurmctld that is down; it can be neither hurried nor
 * interrupted. Trap: Slurm unloads plugins, and a thread that is still in libslurm then would return to code
 * that is gone. Where a thread is left behind, the plugin is pinned in memory; the thread ends with
 * slurmstepd. */
#ifndef ADMINKIT_ASYNC_CALL_H
#define ADMINKIT_ASYNC_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ak_async_call;
typedef void ak_async_work(void *arg);

/* Runs work(arg) with all signals blocked. arg is from malloc; the call owns it from now on. NULL: no thread
 * or no memory, and arg is still the caller's. */
struct ak_async_call *ak_async_start(ak_async_work *work, void *arg);

/* Whether work() has returned; waits for that up to `span` ms. After true, arg may be read. */
bool ak_async_done(struct ak_async_call *call, int64_t span);

/* The arg of ak_async_start(); read it only after ak_async_done() returned true. */
void *ak_async_arg(struct ak_async_call *call);

/* Frees call and arg: at once, or as soon as work() returns. NULL does nothing. */
void ak_async_release(struct ak_async_call *call);

/* pthread_create() with all signals blocked in the new thread; 0 or an errno. */
int ak_thread_start(pthread_t *thread, void *(*body)(void *), void *arg);

/* pthread_join() for at most `span` ms; false: the thread still runs. */
bool ak_thread_join(pthread_t thread, int64_t span);

/* From now on dlclose() leaves the plugin mapped. */
void ak_pin_plugin(void);

#endif
