/* The cache of a node and a job's state in it, as slurmstepd uses them: folders, boots, locks, what is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "data/cache.h"
#include "data/state.h"

static char root[64], path[128];

static const char *at(const char *name) {
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static bool is_there(const char *name) {
    return access(at(name), F_OK) == 0;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(at(name), "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        exit(1);
}

static mode_t mode_of(const char *name) {
    struct stat status;
    return stat(at(name), &status) == 0 ? status.st_mode & 07777 : 0;
}

static void folders(void) {
    struct da_cache cache;
    CASE(da_cache_open(&cache, root, false) == ENOENT, "nobody made it");
    CASE(da_cache_open(&cache, root, true) == 0, "made");
    da_cache_close(&cache);
    CASE(mode_of("") == 0711 && mode_of("jobs") == 0711, "users go through to their jobs: %o %o", mode_of(""),
         mode_of("jobs"));
    CASE(mode_of("store") == 0700 && mode_of("state") == 0700, "and nowhere else");
    chmod(at("store"), 0750);
    CASE(da_cache_open(&cache, root, true) == EPERM, "a store that others can look into is not used");
    chmod(at("store"), 0700);
    chmod(root, 0733);
    CASE(da_cache_open(&cache, root, false) == EPERM, "nor a cache that others can write to");
    chmod(root, 0711);
}

static void boots(void) {
    struct da_cache cache;
    put("store/copy", "x");
    put("state/7", "x");
    mkdir(at("jobs/7"), 0700);
    put("jobs/7/000000.tar", "x");
    CASE(da_cache_open(&cache, root, true) == 0 && is_there("store/copy"), "the same boot: all stays");
    da_cache_close(&cache);
    put("boot", "an earlier one\n");
    CASE(da_cache_open(&cache, root, true) == 0, "another boot");
    CASE(!is_there("store/copy") && !is_there("state/7") && !is_there("jobs/7"), "nothing of it is used");
    da_cache_sweep(&cache);
    da_cache_close(&cache);
    CASE(system("test -z \"$(ls -d gone.* 2>/dev/null)\"") == 0, "and it goes");
}

/* A boot that is not noted would be another one for each step, which would put aside what jobs read. */
static void full(void) {
    struct da_cache cache;
    struct rlimit limit, none;
    getrlimit(RLIMIT_FSIZE, &limit);
    none = (struct rlimit){0, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    put("boot", "an earlier one\n");
    setrlimit(RLIMIT_FSIZE, &none);
    CASE(da_cache_open(&cache, root, true) != 0, "the boot cannot be noted: the cache is not used");
    setrlimit(RLIMIT_FSIZE, &limit);
    CASE(da_cache_open(&cache, root, true) == 0, "it can");
    put("store/copy", "x");
    da_cache_close(&cache);
    CASE(da_cache_open(&cache, root, true) == 0 && is_there("store/copy"), "once");
    da_cache_sweep(&cache);
    da_cache_close(&cache);
}

static void locks(void) {
    struct da_cache cache;
    da_cache_open(&cache, root, true);
    CASE(da_state_open(&cache, 7, false) == -ENOENT, "no job");
    int task = da_state_open(&cache, 7, true), helper = da_state_open(&cache, 7, false),
        other = da_state_open(&cache, 7, false);
    CASE(da_state_hold(helper, DA_GATE, DA_HELPER, false), "the first helper");
    CASE(!da_state_hold(other, DA_GATE, DA_HELPER, false), "there is one");
    CASE(da_state_hold(task, DA_USE, DA_USE, true) && da_state_hold(other, DA_USE, DA_USE, true),
         "steps share");
    CASE(da_state_is_locked(task, DA_GATE) && da_state_is_locked(task, DA_HELPER), "a task waits");
    da_state_let_go(helper, DA_GATE);
    CASE(!da_state_is_locked(task, DA_GATE) && da_state_is_locked(task, DA_HELPER), "the part is here");
    int twin = dup(helper);
    close(helper);
    CASE(da_state_is_locked(task, DA_HELPER), "who was started with the descriptor has the lock");
    close(twin);
    CASE(!da_state_is_locked(task, DA_HELPER), "who ends lets go");
    CASE(da_state_is_locked(task, DA_USE), "another step uses it");
    close(other);
    CASE(!da_state_is_locked(task, DA_USE), "none but this one");
    close(task);
    da_cache_close(&cache);
}

static void states(void) {
    struct da_cache cache;
    struct da_record record = {.phase = DA_PART, .shards = 3, .name = "-"}, back;
    char folder[64];
    da_cache_open(&cache, root, true);
    int state = da_state_open(&cache, 8, true);
    CASE(!da_state_read(state, &back) && da_state_said(state) == 0, "nothing was written");
    da_state_folder(state, folder, sizeof folder);
    CASE(!*folder, "nor a folder");
    da_state_set_folder(state, "/scratch/set");
    CASE(!da_state_read(state, &back), "a folder is no record");
    da_state_write(state, &record);
    da_state_set_said(state, UINT64_MAX);
    da_state_folder(state, folder, sizeof folder);
    CASE(da_state_read(state, &back) && back.phase == DA_PART && back.shards == 3, "the record");
    CASE(strcmp(folder, "/scratch/set") == 0 && da_state_said(state) == UINT64_MAX, "%s", folder);
    da_state_set_folder(state, "/scratch/other");
    CASE(!da_state_read(state, &back) && da_state_said(state) == 0,
         "a task does not take what was there of another set for its own, nor its helper's number");
    da_state_remove(&cache, 8);
    CASE(da_state_open(&cache, 8, false) == -ENOENT, "removed");
    close(state);
    da_cache_close(&cache);
}

int main(void) {
    umask(077);
    snprintf(root, sizeof root, "/tmp/adminkit-cache-XXXXXX");
    if (!mkdtemp(root) || rmdir(root) != 0)
        return 1;
    folders();
    if (chdir(root) != 0)
        return 1;
    boots();
    full();
    locks();
    states();
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return chdir("/") != 0 || system(command) != 0 ? 1 : DONE();
}
