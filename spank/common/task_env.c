/* task_env.c - see task_env.h. */
#include "task_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc_parse.h"

#define MAX_SIZE ((size_t)1 << 20) /* bytes of an environment that are read */
#define MAX_END (UINT64_C(1) << 40)

int64_t ak_task_job_end(pid_t task) {
    char path[64], *text = malloc(MAX_SIZE);
    size_t size = 0;
    ssize_t n;
    uint64_t end = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)task);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        while (size < MAX_SIZE && (n = read(fd, text + size, MAX_SIZE - size)) > 0)
            size += (size_t)n;
        close(fd);
        if (!ak_parse_variable(text, size, "SLURM_JOB_END_TIME", &end) || end > MAX_END)
            end = 0;
    }
    free(text);
    return (int64_t)end;
}
