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

#define MAX_DEPTH 16      /* levels below the step */
#define MAX_FOLDERS 16384 /* a user with a delegated cgroup can make any number */

#define TEXT_SIZE 16384

/* Reads /proc/NAME/cgroup; its size, 0 where it cannot be read. */
static size_t read_cgroup(const char *name, char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/cgroup", name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t got = fread(text, 1, TEXT_SIZE, file);
    fclose(file);
    return got;
}

/* Finds where the path of that kind is mounted. */
static bool find_mount(const char *kind, const char *path, char *folder, size_t size) {
    char *line = NULL;
    size_t capacity = 0;
    bool mounted = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");

    if (!file)
        return false;
    for (ssize_t n; !mounted && (n = getline(&line, &capacity, file)) > 0;) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        mounted = ak_parse_mount(line, length, kind, path, folder, size) && access(folder, R_OK | X_OK) == 0;
    }
    free(line);
    fclose(file);
    return mounted;
}

bool ak_step_cgroup(pid_t task, char *folder, size_t size) {
    char text[TEXT_SIZE], own[TEXT_SIZE], name[32], kind[64], path[PATH_MAX];

    snprintf(name, sizeof name, "%d", (int)task);
    size_t got = read_cgroup(name, text);
    if (ak_parse_cgroup(text, got, kind, sizeof kind, path, sizeof path) &&
        find_mount(kind, path, folder, size))
        return true;
    if (!ak_parse_apart(text, got, own, read_cgroup("self", own), folder, size))
        *folder = '\0';
    return false;
}

struct pids {
    pid_t *pid;
    size_t count, capacity, max, folders;
    bool more;
};

/* False: no memory. */
static bool add(struct pids *pids, pid_t pid) {
    if (pids->count == pids->max) {
        pids->more = true;
        return true;
    }
    if (pids->count == pids->capacity) {
        size_t capacity = pids->capacity ? 2 * pids->capacity : 256;
        pid_t *pid_array = realloc(pids->pid, capacity * sizeof *pid_array);
        if (!pid_array)
            return false;
        pids->pid = pid_array;
        pids->capacity = capacity;
    }
    pids->pid[pids->count++] = pid;
    return true;
}

/* Adds the pids of the folder's cgroup.procs. False: errno. Trap: the kernel writes 0 for a process outside
 * of this pid namespace. */
static bool read_procs(int folder, struct pids *pids) {
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
            kept = pid == 0 || add(pids, pid);
            pid = 0;
        }
    int why = errno;
    close(file);
    errno = kept ? why : ENOMEM;
    return kept && got == 0;
}

/* Adds the pids of the folder and those below it. False, and errno: the folder itself cannot be read; a
 * folder below it may be gone by now, or be threaded and have no cgroup.procs. */
static bool read_folder(int folder, struct pids *pids, int depth) {
    bool read = read_procs(folder, pids);
    DIR *entries = fdopendir(folder);

    if (!entries) {
        close(folder);
        return read;
    }
    int why = errno;
    for (struct dirent *entry; depth < MAX_DEPTH && (entry = readdir(entries));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (++pids->folders > MAX_FOLDERS) {
            pids->more = true;
            break;
        }
        int below = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            read_folder(below, pids, depth + 1);
    }
    closedir(entries);
    errno = why;
    return read;
}

ssize_t ak_cgroup_pids(const char *folder, size_t max, pid_t **pids, bool *more) {
    struct pids list = {.max = max};
    int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool read = top >= 0 && read_folder(top, &list, 0);
    int why = errno;

    *pids = list.pid;
    *more = list.more;
    errno = why;
    return read || list.count > 0 ? (ssize_t)list.count : -1;
}
