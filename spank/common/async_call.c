#include "async_call.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include "clock.h"

struct ck_call {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    ck_work *work;
    void *subject;
    bool done, left; /* left: nobody asks for it any more */
};

static void release(struct ck_call *call) {
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    free(call->subject);
    free(call);
}

static void *body(void *subject) {
    struct ck_call *call = subject;
    call->work(call->subject);
    pthread_mutex_lock(&call->lock);
    bool left = call->left;
    call->done = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
    if (left)
        release(call);
    return NULL;
}

struct ck_call *ck_call_start(ck_work *work, void *subject) {
    struct ck_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->work = work;
    call->subject = subject;
    pthread_mutex_init(&call->lock, NULL);
    if (ck_clock_cond(&call->changed) != 0)
        goto fail;
    if (ck_thread(&call->thread, body, call) == 0)
        return call;
    pthread_cond_destroy(&call->changed);
fail:
    pthread_mutex_destroy(&call->lock);
    free(call);
    return NULL;
}

bool ck_call_done(struct ck_call *call, int64_t span) {
    pthread_mutex_lock(&call->lock);
    for (int64_t until = ck_steady() + span, now; !call->done && (now = ck_steady()) < until;)
        ck_clock_wait(&call->changed, &call->lock, until - now);
    bool done = call->done;
    pthread_mutex_unlock(&call->lock);
    return done;
}

void *ck_call_subject(struct ck_call *call) {
    return call->subject;
}

void ck_call_end(struct ck_call *call) {
    if (!call)
        return;
    pthread_mutex_lock(&call->lock);
    bool done = call->done;
    call->left = !done;
    if (!done) {
        pthread_detach(call->thread);
        ck_pin();
    }
    pthread_mutex_unlock(&call->lock);
    if (done) {
        pthread_join(call->thread, NULL);
        release(call);
    }
}

int ck_thread(pthread_t *thread, void *(*body)(void *), void *subject) {
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error)
        return error;
    error = pthread_create(thread, NULL, body, subject);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void ck_pin(void) {
    Dl_info here;
    if (dladdr((void *)(uintptr_t)&ck_pin, &here) && here.dli_fname)
        dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
