/* state.c - see state.h. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Places in the file. */
#define SAID DA_RECORD_SIZE
#define SAID_SIZE 24
#define FOLDER 512

int da_state_open(const struct da_cache *cache, uint32_t job, bool make) {
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, job);
    int fd = openat(cache->state, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
    return fd < 0 ? -errno : fd;
}

void da_state_remove(const struct da_cache *cache, uint32_t job) {
    char name[16];
    snprintf(name, sizeof name, "%" PRIu32, job);
    unlinkat(cache->state, name, 0);
}

static struct flock range(short type, enum da_lock first, enum da_lock last) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = last - first + 1};
}

bool da_state_hold(int fd, enum da_lock first, enum da_lock last, bool shared) {
    struct flock lock = range(shared ? F_RDLCK : F_WRLCK, first, last);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void da_state_let_go(int fd, enum da_lock lock) {
    struct flock its = range(F_UNLCK, lock, lock);
    fcntl(fd, F_OFD_SETLK, &its);
}

bool da_state_is_locked(int fd, enum da_lock lock) {
    struct flock its = range(F_WRLCK, lock, lock);
    return fcntl(fd, F_OFD_GETLK, &its) == 0 && its.l_type != F_UNLCK;
}

bool da_state_read(int fd, struct da_record *record) {
    char text[DA_RECORD_SIZE];
    ssize_t n = pread(fd, text, sizeof text, 0);
    return n == sizeof text && da_record_parse(record, text, sizeof text);
}

/* Where the disk is full, what was there before stands: the file was as long before. */
void da_state_write(int fd, const struct da_record *record) {
    char text[DA_RECORD_SIZE];
    da_record_print(text, record);
    if (pwrite(fd, text, sizeof text, 0) < 0)
        return;
}

void da_state_folder(int fd, char *folder, size_t size) {
    ssize_t n = pread(fd, folder, size - 1, FOLDER);
    folder[n > 0 ? n : 0] = '\0';
}

void da_state_set_folder(int fd, const char *folder) {
    static const char nothing[FOLDER];
    size_t size = strlen(folder) + 1;
    if (ftruncate(fd, FOLDER) != 0 || pwrite(fd, nothing, FOLDER, 0) != FOLDER ||
        pwrite(fd, folder, size, FOLDER) != (ssize_t)size)
        (void)!ftruncate(fd, 0); /* without it, nothing of the record is believed */
}

uint64_t da_state_said(int fd) {
    char text[SAID_SIZE + 1];
    ssize_t n = pread(fd, text, SAID_SIZE, SAID);
    text[n > 0 ? n : 0] = '\0';
    return strtoull(text, NULL, 10);
}

void da_state_set_said(int fd, uint64_t bytes) {
    char text[SAID_SIZE + 1];
    int n = snprintf(text, sizeof text, "%-*" PRIu64, SAID_SIZE, bytes);
    if (pwrite(fd, text, (size_t)n, SAID) < 0)
        return;
}
