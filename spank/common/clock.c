/* clock.c - see clock.h. */
#include "clock.h"

#include <time.h>

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t ak_now(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t ak_steady(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int ak_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error)
        return error;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    error = pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

void ak_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t span) {
    struct timespec until;
    if (span < 1)
        span = 1;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + span % 1000 * 1000000;
    until.tv_sec += (time_t)(span / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_cond_timedwait(cond, mutex, &until);
}

void ak_sleep(int64_t span) {
    struct timespec left = {(time_t)(span / 1000), span % 1000 * 1000000};
    nanosleep(&left, NULL);
}
