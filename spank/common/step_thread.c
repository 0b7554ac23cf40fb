/* step_thread.c - see step_thread.h. */
#include "step_thread.h"

#include <errno.h>

#include "clock.h"

/* What `release` frees has the lock in it, so the lock goes first. */
static void release(struct ak_step_thread *thread) {
    pthread_cond_destroy(&thread->wake);
    pthread_mutex_destroy(&thread->lock);
    thread->life->release(thread->it);
}

static void *body(void *arg) {
    struct ak_step_thread *thread = arg;
    thread->life->work(thread->it);
    pthread_mutex_lock(&thread->lock);
    thread->ended = true;
    bool left = thread->left;
    pthread_mutex_unlock(&thread->lock);
    if (left)
        release(thread);
    return NULL;
}

int ak_step_thread_start(struct ak_step_thread *thread, const struct ak_step_life *life, void *it) {
    thread->life = life;
    thread->it = it;
    thread->stop = thread->ended = thread->left = false;
    pthread_mutex_init(&thread->lock, NULL);
    int error = ak_cond_init(&thread->wake);
    if (error)
        goto fail;
    error = ak_thread_start(&thread->thread, body, thread);
    if (!error)
        return 0;
    pthread_cond_destroy(&thread->wake);
fail:
    pthread_mutex_destroy(&thread->lock);
    return error;
}

bool ak_step_thread_wait(struct ak_step_thread *thread, int64_t span) {
    int64_t until = ak_steady() + span;
    pthread_mutex_lock(&thread->lock);
    for (int64_t now; !thread->stop && (now = ak_steady()) < until;)
        ak_cond_wait(&thread->wake, &thread->lock, until - now);
    bool goes_on = !thread->stop;
    pthread_mutex_unlock(&thread->lock);
    return goes_on;
}

bool ak_step_thread_is_left(struct ak_step_thread *thread) {
    pthread_mutex_lock(&thread->lock);
    bool left = thread->left;
    pthread_mutex_unlock(&thread->lock);
    return left;
}

void ak_step_thread_stop(struct ak_step_thread *thread, int64_t span) {
    pthread_mutex_lock(&thread->lock);
    thread->stop = true;
    pthread_cond_signal(&thread->wake);
    pthread_mutex_unlock(&thread->lock);
    if (!ak_thread_join(thread->thread, span)) {
        pthread_mutex_lock(&thread->lock);
        thread->left = !thread->ended;
        if (thread->left) {
            pthread_detach(thread->thread);
            ak_pin_plugin();
            pthread_mutex_unlock(&thread->lock);
            return;
        }
        pthread_mutex_unlock(&thread->lock);
        pthread_join(thread->thread, NULL);
    }
    release(thread);
}
