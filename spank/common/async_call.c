/* async_call.c - see async_call.h. */
#include "async_call.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include "clock.h"

struct ak_async_call {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    ak_async_work *work;
    void *arg;
    bool done, released; /* released: the thread frees the call */
};

static void free_call(struct ak_async_call *call) {
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    free(call->arg);
    free(call);
}

static void *body(void *arg) {
    struct ak_async_call *call = arg;
    call->work(call->arg);
    pthread_mutex_lock(&call->lock);
    bool released = call->released;
    call->done = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
    if (released)
        free_call(call);
    return NULL;
}

struct ak_async_call *ak_async_start(ak_async_work *work, void *arg) {
    struct ak_async_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->work = work;
    call->arg = arg;
    pthread_mutex_init(&call->lock, NULL);
    if (ak_cond_init(&call->changed) != 0)
        goto fail;
    if (ak_thread_start(&call->thread, body, call) == 0)
        return call;
    pthread_cond_destroy(&call->changed);
fail:
    pthread_mutex_destroy(&call->lock);
    free(call);
    return NULL;
}

bool ak_async_done(struct ak_async_call *call, int64_t span) {
    pthread_mutex_lock(&call->lock);
    for (int64_t until = ak_steady() + span, now; !call->done && (now = ak_steady()) < until;)
        ak_cond_wait(&call->changed, &call->lock, until - now);
    bool done = call->done;
    pthread_mutex_unlock(&call->lock);
    return done;
}

void *ak_async_arg(struct ak_async_call *call) {
    return call->arg;
}

void ak_async_release(struct ak_async_call *call) {
    if (!call)
        return;
    pthread_mutex_lock(&call->lock);
    bool done = call->done;
    call->released = !done;
    if (!done) {
        pthread_detach(call->thread);
        ak_pin_plugin();
    }
    pthread_mutex_unlock(&call->lock);
    if (done) {
        pthread_join(call->thread, NULL);
        free_call(call);
    }
}

int ak_thread_start(pthread_t *thread, void *(*body)(void *), void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error)
        return error;
    error = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Trap: pthread_timedjoin_np() goes by the realtime clock, which may be set meanwhile; pthread_clockjoin_np()
 * came with glibc 2.31. The thread mostly ends at once, and a short step should not wait. */
bool ak_thread_join(pthread_t thread, int64_t span) {
    struct timespec nap = {0, 50000};
    for (int64_t waited = 0; waited < span * 1000000; waited += nap.tv_nsec) {
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return true;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 5000000)
            nap.tv_nsec *= 2;
    }
    return false;
}

void ak_pin_plugin(void) {
    Dl_info here;
    if (dladdr((void *)(uintptr_t)&ak_pin_plugin, &here) && here.dli_fname)
        dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
