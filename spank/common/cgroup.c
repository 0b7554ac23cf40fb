/* cgroup.c - see cgroup.h. */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc_parse.h"

#define DEEPEST 16    /* levels below the step */
#define FOLDERS 16384 /* a user with a delegated cgroup can make as many as he likes */

bool ck_step_cgroup(pid_t task, char *folder, size_t size) {
    char text[16384], name[32], kind[64], path[PATH_MAX], *line = NULL;
    size_t room = 0, got = 0;
    bool found = false;

    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)task);
    FILE *file = fopen(name, "re");
    if (file) {
        got = fread(text, 1, sizeof text, file);
        fclose(file);
    }
    if (!ck_parse_cgroup(text, got, kind, sizeof kind, path, sizeof path))
        return false;
    file = fopen("/proc/self/mountinfo", "re");
    if (!file)
        return false;
    for (ssize_t n; !found && (n = getline(&line, &room, file)) > 0;) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        found = ck_parse_mount(line, length, kind, path, folder, size) && access(folder, R_OK | X_OK) == 0;
    }
    free(line);
    fclose(file);
    return found;
}

struct found {
    pid_t *pid;
    size_t count, room, most, folders;
    bool more;
};

static bool keep(struct found *found, pid_t pid) {
    if (found->count == found->most) {
        found->more = true;
        return true;
    }
    if (found->count == found->room) {
        size_t room = found->room ? 2 * found->room : 256;
        pid_t *grown = realloc(found->pid, room * sizeof *grown);
        if (!grown)
            return false;
        found->pid = grown;
        found->room = room;
    }
    found->pid[found->count++] = pid;
    return true;
}

/* cgroup.procs of one folder. False: errno. A pid 0 is a process outside of this pid namespace. */
static bool read_procs(int folder, struct found *found) {
    char text[16384];
    int file = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    pid_t pid = 0;
    bool kept = true;
    ssize_t got = -1;

    if (file < 0)
        return false;
    while (kept && (got = read(file, text, sizeof text)) > 0)
        for (ssize_t i = 0; kept && i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid < INT_MAX / 10 ? pid * 10 + (text[i] - '0') : 0;
                continue;
            }
            kept = pid == 0 || keep(found, pid);
            pid = 0;
        }
    int why = errno;
    close(file);
    errno = kept ? why : ENOMEM;
    return kept && got == 0;
}

/* The folder itself has to be readable, those below it may be gone by now or be threaded (no cgroup.procs).
 */
static bool read_folder(int folder, struct found *found, int depth) {
    bool read = read_procs(folder, found);
    DIR *entries = fdopendir(folder);

    if (!entries) {
        close(folder);
        return read;
    }
    int why = errno;
    for (struct dirent *entry; depth < DEEPEST && (entry = readdir(entries));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (++found->folders > FOLDERS) {
            found->more = true;
            break;
        }
        int below = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            read_folder(below, found, depth + 1);
    }
    closedir(entries);
    errno = why;
    return read;
}

ssize_t ck_cgroup_pids(const char *folder, size_t most, pid_t **pids, bool *more) {
    struct found found = {.most = most};
    int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool read = top >= 0 && read_folder(top, &found, 0);
    int why = errno;

    *pids = found.pid;
    *more = found.more;
    errno = why;
    return read || found.count > 0 ? (ssize_t)found.count : -1;
}
