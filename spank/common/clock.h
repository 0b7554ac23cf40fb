/* clock.h - the time, and waiting for it. Apart, so that a test can bring a clock of its own. Milliseconds.
 */
#ifndef ADMINKIT_CK_CLOCK_H
#define ADMINKIT_CK_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* Since the epoch, as slurmctld counts. */
int64_t ck_now(void);

/* Since some moment, whoever sets the machine's clock meanwhile. */
int64_t ck_steady(void);

/* Makes *cond one for ck_clock_wait, which returns after `span` of the steady clock at the latest. */
int ck_clock_cond(pthread_cond_t *cond);
void ck_clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t span);

/* For threads that nothing has to wake. */
void ck_sleep(int64_t span);

#endif
