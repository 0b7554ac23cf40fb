/* program.c - see program.h. */
#include "program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool ak_program_find(const char *name, char *path, size_t size) {
    static const char here[] = ""; /* in the plugin, as this file is linked into it */
    Dl_info plugin;
    if (!dladdr(here, &plugin) || !plugin.dli_fname || plugin.dli_fname[0] != '/')
        return false;
    const char *slash = strrchr(plugin.dli_fname, '/');
    return snprintf(path, size, "%.*s/%s", (int)(slash - plugin.dli_fname), plugin.dli_fname, name) <
           (int)size;
}

/* Trap: without SIGCHLD's default and an empty mask it would inherit what slurmstepd ignores and blocks. */
int ak_program_start(const char *path, char **argv, char **environment, int input, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int error = posix_spawn(pid, path, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}
