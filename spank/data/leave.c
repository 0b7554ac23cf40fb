/* leave.c - see leave.h. */
#include "leave.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/proc_parse.h"
#include "mounts.h"

#define OWN "/adminkit-data"

/* Where the path of that kind is mounted. */
static bool find_mount(const char *kind, const char *path, char *folder, size_t size) {
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    for (ssize_t n; mounts && !found && (n = getline(&line, &capacity, mounts)) > 0;)
        found = ak_parse_mount(line, (size_t)n - (line[n - 1] == '\n'), kind, path, folder, size);
    free(line);
    if (mounts)
        fclose(mounts);
    return found;
}

/* Trap: in v2 a cgroup that hands controllers down has no processes of its own, so there is one beside the
 * jobs. */
static void move(const char *kind, char *path, size_t size) {
    char folder[PATH_MAX], file[PATH_MAX + 32];
    if (!*kind && strlen(path) + sizeof OWN <= size)
        strcat(path, OWN);
    if (!*path)
        snprintf(path, size, "/");
    if (!find_mount(kind, path, folder, sizeof folder))
        return;
    if (!*kind)
        mkdir(folder, 0755);
    snprintf(file, sizeof file, "%s/cgroup.procs", folder);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    dprintf(fd, "%d\n", (int)getpid());
    close(fd);
}

void da_leave_job(void) {
    char *line = NULL, kind[64], path[PATH_MAX];
    size_t capacity = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    for (ssize_t n; file && (n = getline(&line, &capacity, file)) > 0;)
        if (da_cgroup_above(line, (size_t)n - (line[n - 1] == '\n'), kind, sizeof kind, path, sizeof path))
            move(kind, path, sizeof path);
    free(line);
    if (file)
        fclose(file);
}
