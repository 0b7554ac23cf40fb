/* step_records.c - see step_records.h. */
#include "step_records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/private_folder.h"

#define MAX_SIZE 65536 /* bytes; a job may have very many failing steps */

int ck_exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The job's file; -1: errno. */
static int open_record(const char *folder, uint32_t job, int flags, bool make) {
    char name[16];
    int directory = ak_private_folder(folder, make);
    if (directory < 0)
        return -1;
    snprintf(name, sizeof name, "%" PRIu32, job);
    if (flags & O_EXCL)
        unlinkat(directory, name, 0);
    int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

int ck_step_records_create(const char *folder, uint32_t job) {
    int fd = open_record(folder, job, O_WRONLY | O_CREAT | O_EXCL, true);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* A line is short, so one write with O_APPEND never mixes with another step's. It starts with a newline, as a
 * full disk may have cut the line before it. */
static int append(const char *folder, uint32_t job, const char *line) {
    struct stat status;
    int error = 0, fd = open_record(folder, job, O_WRONLY | O_APPEND, false);
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) != 0)
        error = errno;
    else if (status.st_size > MAX_SIZE)
        error = EFBIG;
    else if (write(fd, line, strlen(line)) < 0)
        error = errno;
    close(fd);
    return error;
}

int ck_step_records_add_code(const char *folder, uint32_t job, int code) {
    char line[32];
    if (code == 0)
        return 0;
    snprintf(line, sizeof line, "\ncode %d\n", code);
    return append(folder, job, line);
}

int ck_step_records_add_signal(const char *folder, uint32_t job, uint32_t heard, int64_t at) {
    char line[64];
    snprintf(line, sizeof line, "\nheard %" PRIu32 " %" PRId64 "\n", heard, at);
    return append(folder, job, line);
}

/* Adds a line to `steps`; skips one that is cut or is not a record. */
static void parse_line(const char *line, struct ck_steps *steps) {
    int code;
    uint32_t heard;
    int64_t at;
    char end = '\0';
    if (sscanf(line, "code %d%c", &code, &end) == 2 && end == '\n' && code > 0 && code < 256) {
        steps->code[code] = true;
        steps->failed = true;
    } else if (sscanf(line, "heard %" SCNu32 " %" SCNd64 "%c", &heard, &at, &end) == 3 && end == '\n') {
        steps->heard += heard;
        if (heard > 0 && (steps->at == 0 || at < steps->at))
            steps->at = at;
    }
}

int ck_step_records_read(const char *folder, uint32_t job, struct ck_steps *steps) {
    char line[64];
    *steps = (struct ck_steps){0};
    int fd = open_record(folder, job, O_RDONLY, false);
    if (fd < 0)
        return errno;
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return ENOMEM;
    }
    while (fgets(line, sizeof line, file))
        parse_line(line, steps);
    fclose(file);
    return 0;
}

void ck_step_records_remove(const char *folder, uint32_t job) {
    char name[16];
    int directory = ak_private_folder(folder, false);
    if (directory < 0)
        return;
    snprintf(name, sizeof name, "%" PRIu32, job);
    unlinkat(directory, name, 0);
    close(directory);
}
