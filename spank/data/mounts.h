/* mounts.h - lines of /proc/self/mountinfo and /proc/self/cgroup, as values. Pure. */
#ifndef ADMINKIT_DATA_MOUNTS_H
#define ADMINKIT_DATA_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DA_MOUNT_SIZE 600

struct da_mount {
    int64_t id;
    bool by_user; /* a user mounted it, so its answers are that user's: FUSE with another user_id than 0 */
    char source[DA_MOUNT_SIZE]; /* the type and what is mounted, such as "nfs4 server:/export", as the line
                                   has them */
};

/* Reads a line, without its newline. False: it is not one, or too long. */
bool da_mount_parse(struct da_mount *mount, const char *line, size_t size);

/* The cgroup above the job of a line of /proc/PID/cgroup: for "4:memory:/slurm/uid_7/job_3/step_0" the kind
 * "memory" and the path "/slurm". False: the line has no step. */
bool da_cgroup_above(const char *line, size_t size, char *kind, size_t kind_size, char *path,
                     size_t path_size);

#endif
