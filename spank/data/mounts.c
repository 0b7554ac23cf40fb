/* mounts.c - see mounts.h. Pure. */
#include "mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the options, separated by commas, say that another than root mounted it. */
static bool is_users(const char *type, const char *options) {
    if (strncmp(type, "fuse", 4) != 0)
        return false;
    const char *id = strstr(options, "user_id=");
    return !id || id[8] != '0' || (id[9] != ',' && id[9] != '\0');
}

bool da_mount_parse(struct da_mount *mount, const char *line, size_t size) {
    char copy[4096], *rest = NULL, *end;
    if (size >= sizeof copy || memchr(line, '\0', size))
        return false;
    memcpy(copy, line, size);
    copy[size] = '\0';
    mount->id = strtoll(copy, &end, 10);
    char *dash = strstr(copy, " - ");
    if (end == copy || *end != ' ' || !dash)
        return false;
    char *type = strtok_r(dash + 3, " ", &rest), *source = strtok_r(NULL, " ", &rest),
         *options = strtok_r(NULL, " ", &rest);
    if (!type || !source || !options)
        return false;
    mount->by_user = is_users(type, options);
    return snprintf(mount->source, sizeof mount->source, "%s %s", type, source) < (int)sizeof mount->source;
}

/* Where the last part of the path before `end` begins, at its slash; NULL: there is none. */
static char *last_part(char *path, char *end) {
    for (char *p = end; p > path;)
        if (*--p == '/')
            return p;
    return NULL;
}

bool da_cgroup_above(const char *line, size_t size, char *kind, size_t kind_size, char *path,
                     size_t path_size) {
    const char *first = memchr(line, ':', size);
    const char *second = first ? memchr(first + 1, ':', size - (size_t)(first + 1 - line)) : NULL;
    if (!second || memchr(line, '\0', size))
        return false;
    size_t length = size - (size_t)(second + 1 - line), named = (size_t)(second - first - 1);
    if (length >= path_size || named >= kind_size)
        return false;
    memcpy(kind, first + 1, named);
    kind[named] = '\0';
    memcpy(path, second + 1, length);
    path[length] = '\0';
    char *step = strstr(path, "/step_"), *job = step ? last_part(path, step) : NULL;
    if (!job)
        return false;
    *job = '\0';
    char *user = last_part(path, job);
    if (user && strncmp(user, "/uid_", 5) == 0)
        *user = '\0';
    return true;
}
