/* private_folder.c - see private_folder.h. */
#include "private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ak_private_folder(const char *folder, bool make) {
    char above[PATH_MAX];
    struct stat status;
    if (make) {
        snprintf(above, sizeof above, "%s", folder);
        char *slash = strrchr(above, '/');
        if (slash && slash > above) {
            *slash = '\0';
            mkdir(above, 0755);
        }
        mkdir(folder, 0700);
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}
