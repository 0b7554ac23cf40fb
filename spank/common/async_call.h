/* call.h - a call that may block for minutes, in a thread of its own, which nobody has to wait for.
 *
 * libslurm tries for MessageTimeout to reach a slurmctld that is down, and can be neither hurried nor
 * interrupted. A thread that is still in it when Slurm unloads the plugin would return into nothing; so where
 * one is left behind the plugin is pinned in memory. The thread ends with slurmstepd. */
#ifndef ADMINKIT_CK_CALL_H
#define ADMINKIT_CK_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ck_call;
typedef void ck_work(void *subject);

/* Runs work(subject) with all signals blocked. subject is from malloc and belongs to the call from now on.
 * NULL: no thread or no memory, and subject is still the caller's. */
struct ck_call *ck_call_start(ck_work *work, void *subject);

/* Whether it has returned; waits for that up to `span` ms. After true the subject may be read. */
bool ck_call_done(struct ck_call *call, int64_t span);

/* What it was started with; to be read after ck_call_done() said true. */
void *ck_call_subject(struct ck_call *call);

/* Frees call and subject: now, or where it has not returned, when it does. NULL is no call. */
void ck_call_end(struct ck_call *call);

/* pthread_create with all signals blocked. */
int ck_thread(pthread_t *thread, void *(*body)(void *), void *subject);

/* From now on dlclose leaves the plugin mapped. */
void ck_pin(void);

#endif
