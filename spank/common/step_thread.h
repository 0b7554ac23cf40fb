/* step_thread.h - the thread of a plugin for the life of a step: it starts with it, is woken at its end, and
 * is left behind where it does not end in time.
 *
 *   struct ak_step_thread thread;                    the first thing in what it works on, or a part of that
 *   error = ak_step_thread_start(&thread, &life, it);
 *   ak_step_thread_stop(&thread, span);              wakes it, waits `span` ms for it, and frees `it`
 *
 * In the thread, `work` sleeps by ak_step_thread_wait() only, and returns when that says that the step ends.
 * Trap: Slurm unloads plugins, so a thread that is left behind pins the plugin, and frees `it` itself. */
#ifndef ADMINKIT_STEP_THREAD_H
#define ADMINKIT_STEP_THREAD_H

#include "common/async_call.h"

struct ak_step_life {
    void (*work)(void *it);
    void (*release)(
        void *it); /* frees it, with its ak_step_thread; called once, when nobody uses it any more */
};

struct ak_step_thread {
    const struct ak_step_life *life;
    void *it;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, ended, left; /* left: the thread frees `it` */
};

/* 0 or an errno. After an error nothing is to be stopped, and `it` is still the caller's to free. */
int ak_step_thread_start(struct ak_step_thread *thread, const struct ak_step_life *life, void *it);

/* For the thread itself. Waits `span` ms; false: the step ends, and it did not wait any longer. */
bool ak_step_thread_wait(struct ak_step_thread *thread, int64_t span);

/* For the thread itself. Whether ak_step_thread_stop() has returned without it. */
bool ak_step_thread_is_left(struct ak_step_thread *thread);

/* Ends the thread, and frees `it`; after `span` ms the thread is left behind, and frees it later. */
void ak_step_thread_stop(struct ak_step_thread *thread, int64_t span);

#endif
