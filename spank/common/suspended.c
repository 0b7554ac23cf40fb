#include "suspended.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of a file as text; false where there is none. */
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

/* Version 1 has freezer.state; with version 2 Slurm freezes the part of the step that is the user's. */
static bool frozen(const char *cgroup) {
    static const struct {
        const char *file, *word;
    } SIGNS[] = {{"freezer.state", "FR"}, {"user/cgroup.events", "frozen 1"}, {"cgroup.events", "frozen 1"}};
    char path[PATH_MAX], text[512];
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++)
        if (snprintf(path, sizeof path, "%s/%s", cgroup, SIGNS[i].file) < (int)sizeof path &&
            read_start(path, text, sizeof text) && strstr(text, SIGNS[i].word))
            return true;
    return false;
}

bool ck_paused(pid_t task, const char *cgroup) {
    return stopped(task) || (cgroup && frozen(cgroup));
}
