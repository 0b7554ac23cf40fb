/* source.h - the user's shared folder, opened as that user.
 *
 * The process stays root's (real and saved uid), so that the user can neither trace nor signal it; only its
 * effective ids and groups are the user's while a file is opened. */
#ifndef ADMINKIT_DATA_SOURCE_H
#define ADMINKIT_DATA_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "index.h"
#include "mounts.h"
#include "record.h"

#define DA_IDENTITY_SIZE (DA_MOUNT_SIZE + 160)

struct da_user {
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t count;
};

/* Which file it is and which state of it: the file system, its device, the file's number, size and times. A
 * file whose content or name changes gets another. */
struct da_identity {
    char text[DA_IDENTITY_SIZE]; /* one line, without its newline */
    int64_t changed;             /* ctime, epoch seconds */
    char file[40];               /* its device and number only, as part of a name */
};

/* Opens the folder as the user; -1: errno. */
int da_source_folder(const struct da_user *user, const char *folder);

/* Opens a file of the folder as the user: a plain one, not through a link, of `size` bytes where that is not
 * 0. -1: `why`. */
int da_source_open(const struct da_user *user, int folder, const char *name, uint64_t size, enum da_why *why);

/* False: it is on a file system that a user mounted, or that cannot be found: `why`. */
bool da_source_identify(int file, struct da_identity *identity, enum da_why *why);

#endif
