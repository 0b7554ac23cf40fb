/* progress_file.c - see progress_file.h. */
#include "progress_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "adminkit_progress"

bool ck_progress_name(struct ck_progress *file, const char *script) {
    const char *slash = script && script[0] == '/' ? strrchr(script, '/') : NULL;
    file->path[0] = '\0';
    if (!slash || slash == script)
        return false;
    int n = snprintf(file->path, sizeof file->path, "%.*s/%s", (int)(slash - script), script, NAME);
    if (n >= 0 && (size_t)n < sizeof file->path)
        return true;
    file->path[0] = '\0';
    return false;
}

int ck_progress_create(const struct ck_progress *file) {
    int error = 0, fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    if (fchown(fd, file->uid, file->gid) != 0)
        error = errno;
    close(fd);
    return error;
}

/* Trap: seteuid() would change every thread of slurmstepd; this changes only the calling thread
 * (setfsuid(2)), and says nothing of failure but by a second call. */
static bool become(uid_t uid, gid_t gid) {
    setfsgid(gid);
    setfsuid(uid);
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

bool ck_progress_read(const struct ck_progress *file, char digits[CK_PROGRESS_DIGITS + 1]) {
    char text[64];
    struct stat found;
    bool read_it = false;
    digits[0] = '\0';
    if (!file->path[0])
        return false;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int fd = -1;
    if (become(file->uid, file->gid))
        fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    become(uid, gid);
    if (fd < 0)
        return false;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == file->uid &&
        found.st_size <= (off_t)sizeof text) {
        ssize_t n = read(fd, text, sizeof text);
        read_it = n > 0 && ck_progress_parse(text, (size_t)n, digits);
    }
    close(fd);
    return read_it;
}

void ck_progress_remove(const struct ck_progress *file) {
    if (file->path[0])
        unlink(file->path);
}
