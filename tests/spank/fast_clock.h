/* fast_clock.h - a clock for one test program that runs SPEED times as fast as the machine's; in place of
 * clock.c. */
#ifndef FAST_CLOCK_H
#define FAST_CLOCK_H

#include <time.h>

#include "common/clock.h"

#ifndef SPEED
#define SPEED 40
#endif

static int64_t fast_begin;

static int64_t fast_real(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Call it before any thread. */
static void fast_start(void) {
    fast_begin = fast_real(CLOCK_REALTIME);
}

int64_t ak_now(void) {
    return fast_begin + (fast_real(CLOCK_REALTIME) - fast_begin) * SPEED;
}

int64_t ak_steady(void) {
    return fast_real(CLOCK_MONOTONIC) * SPEED;
}

int ak_cond_init(pthread_cond_t *cond) {
    return pthread_cond_init(cond, NULL);
}

void ak_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t span) {
    int64_t until = fast_real(CLOCK_REALTIME) + span / SPEED + 1;
    struct timespec at = {(time_t)(until / 1000), until % 1000 * 1000000};
    pthread_cond_timedwait(cond, mutex, &at);
}

void ak_sleep(int64_t span) {
    struct timespec real = {(time_t)(span / SPEED / 1000), span / SPEED % 1000 * 1000000};
    nanosleep(&real, NULL);
}

#endif
