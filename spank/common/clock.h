/* clock.h - the time, and waiting, in milliseconds. In a file of its own so that a test can bring another
 * clock.
 */
#ifndef ADMINKIT_CLOCK_H
#define ADMINKIT_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* Since the epoch, as slurmctld counts. Trap: may go back, as an operator may set the clock. */
int64_t ak_now(void);

/* Since an unspecified moment; never goes back. */
int64_t ak_steady(void);

/* Initialises *cond for ak_cond_wait(); 0 or an errno. */
int ak_cond_init(pthread_cond_t *cond);

/* pthread_cond_wait() for at most `span` of the steady clock. */
void ak_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t span);

/* For threads that nothing has to wake. */
void ak_sleep(int64_t span);

#endif
