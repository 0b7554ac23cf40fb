/* sampler.c - see sampler.h. */
#include "sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/program.h"
#include "sums.h"

#define PROGRAM "adminkit-gpu-use"
#define TEXT "adminkit_gpu_use_"
#define STALE 900 /* s: three of the longest periods */

static void print_list(char *out, size_t size, const struct gu_order *order) {
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < order->count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRIu32, i ? "," : "", order->minor[i]);
}

/* Removes the files of jobs whose slurmstepd was killed: an exporter would show their last reading for ever.
 */
static void sweep(const struct gu_site *site) {
    struct stat status;
    DIR *folder = opendir(site->text);
    for (struct dirent *one; folder && (one = readdir(folder));)
        if (strncmp(one->d_name, TEXT, strlen(TEXT)) == 0 &&
            fstatat(dirfd(folder), one->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_mtime + STALE < time(NULL))
            unlinkat(dirfd(folder), one->d_name, 0);
    if (folder)
        closedir(folder);
}

int gu_sampler_start(struct gu_sampler *sampler, const struct gu_site *site, const struct gu_order *order) {
    char path[PATH_MAX], run[24], node[16], period[16], list[GU_GPUS * 6], job[16];
    int pair[2];
    if (!ak_program_find(PROGRAM, path, sizeof path))
        return ENOENT;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    snprintf(run, sizeof run, "%" PRId64, order->run);
    snprintf(node, sizeof node, "%" PRIu32, order->node);
    snprintf(period, sizeof period, "%ld", site->period);
    snprintf(job, sizeof job, "%" PRIu32, order->job);
    sampler->text[0] = '\0';
    if (*site->text) {
        sweep(site);
        snprintf(sampler->text, sizeof sampler->text, "%s/" TEXT "%s.prom", site->text, job);
    }
    print_list(list, sizeof list, order);
    char *argv[] = {PROGRAM,
                    (char *)site->nvml,
                    (char *)order->file,
                    run,
                    node,
                    period,
                    list,
                    *site->text ? sampler->text : NULL,
                    job,
                    NULL};
    static char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    pid_t pid;
    int error = ak_program_start(path, argv, environment, pair[1], &pid);
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

static void end(struct gu_sampler *sampler) {
    if (sampler->socket < 0)
        return;
    struct pollfd ended = {.fd = sampler->socket, .events = POLLIN};
    shutdown(sampler->socket, SHUT_WR);
    poll(&ended, 1, GU_SAMPLER_END);
    close(sampler->socket);
    sampler->socket = -1;
}

void gu_sampler_stop(struct gu_sampler *sampler) {
    end(sampler);
    if (*sampler->text)
        unlink(sampler->text);
}
