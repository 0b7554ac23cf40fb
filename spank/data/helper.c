/* helper.c - see helper.h. */
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/program.h"
#include "state.h"

#define PROGRAM "adminkit-stage"
#define SECOND 1000
#define POLL 100         /* ms */
#define END_SPAN 400     /* ms for the helper to see that its job has ended, before it is killed */
#define KILL_SPAN 400    /* ms for the kernel to end it */
#define LIST_SIZE 131000 /* bytes of one argument, which Linux bounds */

/* The groups, joined by commas; NULL: no memory, or more than an argument takes. free() it. */
static char *print_groups(const struct da_step *step) {
    char *list = malloc(LIST_SIZE);
    size_t n = 0;
    for (int i = 0; list && i < (step->group_count > 0 ? step->group_count : 1); i++) {
        gid_t gid = step->group_count > 0 ? step->groups[i] : step->gid;
        n += (size_t)snprintf(list + n, LIST_SIZE - n, "%s%u", i ? "," : "", (unsigned)gid);
        if (n >= LIST_SIZE) {
            free(list);
            list = NULL;
        }
    }
    return list;
}

/* Starts the program with the locks of `state`, and waits until it has gone apart. 0 or an errno. */
static int start(const struct da_step *step, int state) {
    char path[PATH_MAX], number[6][24], folder[PATH_MAX + 24];
    pid_t pid;
    int status;
    if (!ak_program_find(PROGRAM, path, sizeof path))
        return ENOENT;
    char *groups = print_groups(step);
    if (!groups)
        return E2BIG;
    snprintf(number[0], sizeof number[0], "%" PRIu64, step->site->size);
    snprintf(number[1], sizeof number[1], "%" PRIu32, step->job);
    snprintf(number[2], sizeof number[2], "%u", (unsigned)step->uid);
    snprintf(number[3], sizeof number[3], "%u", (unsigned)step->gid);
    snprintf(number[4], sizeof number[4], "%" PRIu32, step->node);
    snprintf(number[5], sizeof number[5], "%" PRIu32, step->nodes);
    snprintf(folder, sizeof folder, "ADMINKIT_FOLDER=%s", step->request.folder);
    char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", folder, NULL};
    char *argv[] = {PROGRAM,   (char *)step->site->cache,
                    number[0], number[1],
                    number[2], number[3],
                    groups,    number[4],
                    number[5], (char *)da_mode_name(step->request.mode),
                    NULL};
    int error = ak_program_start(path, argv, environment, state, &pid);
    free(groups);
    while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return error;
}

/* Whether an earlier step of the job had the same staged, and that is done. */
static bool is_done(int state) {
    struct da_record record;
    return da_state_read(state, &record) && record.phase == DA_DONE;
}

/* Starts the helper where that is needed; under the cache's lock, as steps may start at the same time. 0 or
 * an errno: EBUSY where other steps of the job read another set, whose names are the same. */
static int start_for(const struct da_cache *cache, const struct da_step *step, int kept, int state) {
    char before[PATH_MAX];
    da_state_folder(state, before, sizeof before);
    bool same = strcmp(before, step->request.folder) == 0;
    if (!same && *before && da_state_is_locked(kept, DA_USE))
        return EBUSY;
    if (!da_state_hold(state, DA_GATE, DA_HELPER, false)) /* one runs */
        return same ? 0 : EBUSY;
    if (same && is_done(state))
        return 0;
    /* of another set, or of this one before it was packed again; not what a step reads now */
    if (!same || !da_state_is_locked(kept, DA_USE))
        da_cache_remove_job(cache, step->job);
    da_state_set_folder(state, step->request.folder);
    return start(step, state);
}

int da_helper_start(const struct da_step *step) {
    struct da_cache cache;
    int error = da_cache_open(&cache, step->site->cache, true);
    if (error)
        return -error;
    int lock = da_cache_lock(&cache), kept = lock < 0 ? lock : da_state_open(&cache, step->job, true);
    if (kept >= 0) {
        da_state_hold(kept, DA_USE, DA_USE, true);
        int state = da_state_open(&cache, step->job, false);
        error = state < 0 ? -state : start_for(&cache, step, kept, state);
        if (state >= 0)
            close(state);
        if (error) {
            close(kept);
            kept = -error;
        }
    }
    if (lock >= 0)
        close(lock);
    da_cache_close(&cache);
    return kept;
}

static bool has_sigterm(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

struct da_record da_helper_wait(int state, const struct da_site *site, enum da_mode mode, bool *impatient) {
    struct da_record record = {.phase = DA_STARTED};
    int64_t until = ak_steady() + (mode == DA_FIRST ? site->patience : DA_READY_SPAN) * SECOND;
    for (;;) {
        bool runs = da_state_is_locked(state, DA_HELPER), waits = da_state_is_locked(state, DA_GATE);
        bool known = da_state_read(state, &record); /* after the locks: what a helper wrote before it ended */
        bool ready = known && record.phase >= DA_READY;
        *impatient = ready && mode == DA_FIRST && waits;
        if (!runs || (ready && !*impatient) || ak_steady() >= until || has_sigterm())
            return record;
        /* Trap: proctrack/linuxproc signals no process that has slurmstepd's name, as a task has before its
         * exec. */
        prctl(PR_SET_NAME, "adminkit-wait");
        ak_sleep(POLL);
    }
}

/* Whether the helper has ended, waited for up to `span` ms. */
static bool has_ended(int state, int64_t span) {
    for (int64_t until = ak_steady() + span; da_state_is_locked(state, DA_HELPER); ak_sleep(POLL / 4))
        if (ak_steady() >= until)
            return false;
    return true;
}

void da_helper_end(const struct da_site *site, uint32_t job) {
    struct da_cache cache;
    struct da_record record;
    if (da_cache_open(&cache, site->cache, false) != 0)
        return;
    int state = da_state_open(&cache, job, false);
    if (state >= 0) {
        da_state_remove(&cache, job);
        /* Who holds the lock is the process that wrote its number, so that is nobody else's by now. */
        if (!has_ended(state, END_SPAN) && da_state_read(state, &record) && record.pid > 1) {
            kill(record.pid, SIGKILL);
            has_ended(state, KILL_SPAN);
        }
        close(state);
        da_cache_remove_job(&cache, job);
        da_cache_remove_parts(&cache);
    }
    da_cache_close(&cache);
}
