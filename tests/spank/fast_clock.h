/* fast_clock.h - a clock for one test program that runs SPEED times as fast as the machine's; in place of
 * clock.c. */
#ifndef FAST_CLOCK_H
#define FAST_CLOCK_H

#include <stdatomic.h>
#include <time.h>

#include "common/clock.h"

#ifndef SPEED
#define SPEED 20
#endif

static int64_t fast_begin, fast_steady;
/* Milliseconds since the start: where the clock stands until it is moved on (0: nowhere), and for how long it
 * has stood. */
static _Atomic int64_t fast_ahead, fast_stood;

static int64_t fast_real(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Call it before any thread. */
static void fast_start(void) {
    fast_begin = fast_real(CLOCK_REALTIME);
    fast_steady = fast_real(CLOCK_MONOTONIC);
}

static int64_t fast_passed(void) {
    return (fast_real(CLOCK_MONOTONIC) - fast_steady) * SPEED - fast_stood;
}

/* Let it run to `ahead` milliseconds since the start and no further, 0 for ever: what happens at a certain
 * time is then never late, however long a busy machine holds up the one thread that calls this and makes it
 * happen. */
static inline void fast_until(int64_t ahead) {
    int64_t over = fast_passed() - fast_ahead;
    if (fast_ahead && over > 0)
        fast_stood += over;
    fast_ahead = ahead;
}

int64_t ak_steady(void) {
    int64_t passed = fast_passed(), ahead = fast_ahead;
    return ahead && passed > ahead ? ahead : passed;
}

int64_t ak_now(void) {
    return fast_begin + ak_steady();
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
