/* job_folder.c - see job_folder.h. */
#include "job_folder.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL "system.posix_acl_access"
#define ASIDE ".adminkit.new"

/* acl(5) as the kernel takes it: linux/posix_acl_xattr.h. */
enum { ACL_VERSION = 2, ACL_USER_OBJ = 1, ACL_USER = 2, ACL_GROUP_OBJ = 4, ACL_MASK = 16, ACL_OTHER = 32 };
enum { NOTHING = 0, LOOK = 5, ALL = 7 };
#define NOBODY UINT32_MAX

struct acl {
    uint32_t version;
    struct {
        uint16_t tag, rights;
        uint32_t id;
    } entry[5];
};

static bool let_in(int fd, uid_t uid) {
    struct acl acl = {.version = htole32(ACL_VERSION),
                      .entry = {{htole16(ACL_USER_OBJ), htole16(ALL), NOBODY},
                                {htole16(ACL_USER), htole16(LOOK), htole32(uid)},
                                {htole16(ACL_GROUP_OBJ), htole16(NOTHING), NOBODY},
                                {htole16(ACL_MASK), htole16(LOOK), NOBODY},
                                {htole16(ACL_OTHER), htole16(NOTHING), NOBODY}}};
    return fsetxattr(fd, ACL, &acl, sizeof acl, 0) == 0;
}

int da_folder_open(struct da_folder *folder, const struct da_cache *cache, uint32_t job, uid_t uid,
                   const char *shared) {
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, job);
    folder->cache = cache;
    folder->shared = shared;
    if (mkdirat(cache->jobs, name, 0700) != 0 && errno != EEXIST)
        return errno;
    folder->fd = openat(cache->jobs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd < 0)
        return errno;
    return let_in(folder->fd, uid) ? 0 : errno;
}

/* Whether the name is the shard's copy. */
static bool is_copy(const struct da_folder *folder, const struct da_shard *shard) {
    struct stat here, copy;
    return fstatat(folder->fd, shard->name, &here, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(here.st_mode) &&
           fstatat(folder->cache->store, shard->sha, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == copy.st_ino;
}

/* A symbolic link to the shared folder's file of that name. 0 or an errno. */
static int put_link(const struct da_folder *folder, const char *name) {
    char target[PATH_MAX + 32];
    snprintf(target, sizeof target, "%s/%s", folder->shared, name);
    if (symlinkat(target, folder->fd, name) == 0)
        return 0;
    if (errno != EEXIST)
        return errno;
    unlinkat(folder->fd, ASIDE, 0);
    return symlinkat(target, folder->fd, ASIDE) == 0 && renameat(folder->fd, ASIDE, folder->fd, name) == 0
               ? 0
               : errno;
}

int da_folder_fill(const struct da_folder *folder, const struct da_shard *shards, uint32_t count) {
    int error = put_link(folder, DA_INDEX);
    for (uint32_t i = 0; !error && i < count; i++)
        if (!is_copy(folder, &shards[i]))
            error = put_link(folder, shards[i].name);
    return error;
}

bool da_folder_link(const struct da_shard *shard, void *arg) {
    const struct da_folder *folder = arg;
    if (is_copy(folder, shard))
        return true;
    unlinkat(folder->fd, ASIDE, 0);
    return linkat(folder->cache->store, shard->sha, folder->fd, ASIDE, 0) == 0 &&
           renameat(folder->fd, ASIDE, folder->fd, shard->name) == 0;
}
