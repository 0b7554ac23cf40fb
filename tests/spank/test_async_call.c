/* A call that nobody has to wait for, whatever the machine's clock does meanwhile. */
#include "common/async_call.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "common/clock.h"

static int64_t real(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In place of clock.c: somebody sets the machine's clock back by an hour, again and again. */
int64_t ak_now(void) {
    static int64_t back;
    back += 3600000;
    return real(CLOCK_REALTIME) - back;
}
int64_t ak_steady(void) {
    return real(CLOCK_MONOTONIC);
}
int ak_cond_init(pthread_cond_t *cond) {
    return pthread_cond_init(cond, NULL);
}
void ak_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t span) {
    int64_t until = real(CLOCK_REALTIME) + span;
    struct timespec at = {(time_t)(until / 1000), until % 1000 * 1000000};
    pthread_cond_timedwait(cond, mutex, &at);
}

static void hang(void *arg) {
    usleep(*(useconds_t *)arg);
}

static struct ak_async_call *start(useconds_t span) {
    useconds_t *arg = malloc(sizeof *arg);
    *arg = span;
    return ak_async_start(hang, arg);
}

int main(void) {
    alarm(20);
    int64_t before = real(CLOCK_MONOTONIC);
    struct ak_async_call *slow = start(3000000), *quick = start(1000);
    CASE(ak_async_done(quick, 5000), "a quick one is waited for");
    CASE(!ak_async_done(slow, 300), "a slow one is not");
    int64_t took = real(CLOCK_MONOTONIC) - before;
    CASE(took < 2500, "it took %ld ms", (long)took);
    ak_async_release(quick);
    ak_async_release(slow);
    usleep(3500000); /* it frees what it has */
    return DONE();
}
