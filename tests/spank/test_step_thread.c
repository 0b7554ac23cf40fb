/* The thread of a step: it sleeps until it is woken, ends with its step, and is left behind where it hangs.
 */
#include "common/step_thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "cases.h"
#include "common/clock.h"

struct it {
    int64_t naps; /* how often it sleeps for a while before it sleeps for long */
    useconds_t hangs;
    struct ak_step_thread thread; /* not the first: `it` is what is freed */
};

static _Atomic int slept, began, ended, freed, was_left;

static void work(void *arg) {
    struct it *it = arg;
    began++;
    for (int64_t nap = 0; ak_step_thread_wait(&it->thread, nap < it->naps ? 1 : 60000); nap++)
        slept++;
    usleep(it->hangs);
    was_left = ak_step_thread_is_left(&it->thread);
    ended++;
}

static void release(void *arg) {
    freed++;
    free(arg);
}

static const struct ak_step_life LIFE = {.work = work, .release = release};

static struct it *start(int64_t naps, useconds_t hangs) {
    struct it *it = calloc(1, sizeof *it);
    it->naps = naps;
    it->hangs = hangs;
    slept = began = ended = freed = was_left = 0;
    if (ak_step_thread_start(&it->thread, &LIFE, it) != 0)
        abort();
    return it;
}

static void wait_until(_Atomic int *what, int value) {
    while (*what < value)
        ak_sleep(1);
}

int main(void) {
    alarm(60);
    struct it *it = start(3, 0);
    wait_until(&slept, 3);
    int64_t before = ak_steady();
    ak_step_thread_stop(&it->thread, 10000);
    CASE(ak_steady() - before < 10000, "a thread that sleeps for a minute is woken");
    CASE(slept == 3 && ended == 1 && freed == 1, "it ended, and what it worked on was freed once");

    it = start(0, 0);
    ak_step_thread_stop(&it->thread, 10000);
    CASE(began == 1 && slept == 0 && freed == 1, "one that is stopped at once does not sleep");

    it = start(0, 1500000);
    wait_until(&began, 1);
    before = ak_steady();
    ak_step_thread_stop(&it->thread, 100);
    CASE(ak_steady() - before < 1400 && !ended && !freed, "one that hangs is left behind");
    wait_until(&freed, 1);
    CASE(ended == 1 && was_left == 1, "it knows that it is, and frees what it has when it ends");
    return DONE();
}
