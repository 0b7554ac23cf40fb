/* sampler.c - see sampler.h. */
#include "sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sums.h"

#define PROGRAM "adminkit-gpu-use"

/* The program lies beside the plugin. */
static bool find_program(char *path, size_t size) {
    Dl_info plugin;
    if (!dladdr(PROGRAM, &plugin) || !plugin.dli_fname || plugin.dli_fname[0] != '/')
        return false;
    const char *slash = strrchr(plugin.dli_fname, '/');
    return snprintf(path, size, "%.*s/" PROGRAM, (int)(slash - plugin.dli_fname), plugin.dli_fname) <
           (int)size;
}

static void print_list(char *out, size_t size, const struct gu_order *order) {
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < order->count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRIu32, i ? "," : "", order->minor[i]);
}

/* Starts the program with `input` as its standard input and nothing else of slurmstepd's but its place. Trap:
 * without SIGCHLD's default and an empty mask it would inherit what slurmstepd ignores and blocks. */
static int spawn(const char *path, char **argv, int input) {
    static char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
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
    int error = posix_spawn(&pid, path, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int gu_sampler_start(struct gu_sampler *sampler, const struct gu_site *site, const struct gu_order *order) {
    char path[PATH_MAX], run[24], node[16], period[16], list[GU_GPUS * 6], text[PATH_MAX], job[16];
    int pair[2];
    if (!find_program(path, sizeof path))
        return ENOENT;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    snprintf(run, sizeof run, "%" PRId64, order->run);
    snprintf(node, sizeof node, "%" PRIu32, order->node);
    snprintf(period, sizeof period, "%ld", site->period);
    snprintf(job, sizeof job, "%" PRIu32, order->job);
    snprintf(text, sizeof text, "%s/adminkit_gpu_use_%s.prom", site->text, job);
    print_list(list, sizeof list, order);
    char *argv[] = {PROGRAM,
                    (char *)site->nvml,
                    (char *)order->file,
                    run,
                    node,
                    period,
                    list,
                    *site->text ? text : NULL,
                    job,
                    NULL};
    int error = spawn(path, argv, pair[1]);
    close(pair[1]);
    if (error)
        close(pair[0]);
    else
        sampler->socket = pair[0];
    return error;
}

bool gu_sampler_runs(struct gu_sampler *sampler, char *why, size_t size) {
    why[0] = '\0';
    if (sampler->socket < 0)
        return false;
    ssize_t n = recv(sampler->socket, why, size - 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    why[n > 0 ? n : 0] = '\0';
    close(sampler->socket);
    sampler->socket = -1;
    return false;
}

void gu_sampler_stop(struct gu_sampler *sampler) {
    if (sampler->socket < 0)
        return;
    struct pollfd ended = {.fd = sampler->socket, .events = POLLIN};
    shutdown(sampler->socket, SHUT_WR);
    poll(&ended, 1, GU_SAMPLER_END);
    close(sampler->socket);
    sampler->socket = -1;
}
