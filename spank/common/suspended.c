/* suspended.c - see suspended.h. */
#include "suspended.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of a file, as a string. False: it cannot be read or is empty. */
static bool read_start(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool stopped(pid_t task) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)task);
    if (!read_start(path, text, sizeof text))
        return false;
    char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'T';
}

/* cgroup v1 has freezer.state; of v2 Slurm freezes the folder `user`, where the tasks are. */
static bool frozen(const char *cgroup) {
    static const struct {
        const char *name, *text;
    } FILES[] = {{"freezer.state", "FR"}, {"user/cgroup.events", "frozen 1"}, {"cgroup.events", "frozen 1"}};
    char path[PATH_MAX], text[512];
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        if (snprintf(path, sizeof path, "%s/%s", cgroup, FILES[i].name) < (int)sizeof path &&
            read_start(path, text, sizeof text) && strstr(text, FILES[i].text))
            return true;
    return false;
}

bool ak_step_suspended(pid_t task, const char *cgroup) {
    return stopped(task) || (cgroup && frozen(cgroup));
}
