/* sums.c - see sums.h. */
#include "sums.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "adminkit-gpu-use 1"

void gu_sums_add(struct gu_sums *sums, uint32_t i, int64_t now, double span, double use) {
    struct gu_gpu *gpu = &sums->gpu[i];
    gpu->seconds += span;
    gpu->busy += span * use;
    gpu->use = use;
    gpu->known = true;
    if (use > 0)
        gpu->last = now;
    if (!sums->at)
        sums->at = now;
    sums->to = now;
}

uint32_t gu_sums_used(const struct gu_sums *sums) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < sums->count; i++)
        used += sums->gpu[i].last > 0 && sums->gpu[i].last + GU_WINDOW > sums->to;
    return used;
}

bool gu_sums_read(const char *path, struct gu_sums *sums) {
    int handle = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = handle < 0 ? NULL : fdopen(handle, "r");
    if (!file) {
        if (handle >= 0)
            close(handle);
        return false;
    }
    memset(sums, 0, sizeof *sums);
    bool whole = fscanf(file, MAGIC " %" SCNd64 " %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNu32, &sums->run,
                        &sums->node, &sums->at, &sums->to, &sums->count) == 5 &&
                 sums->count <= GU_GPUS;
    for (uint32_t i = 0; whole && i < sums->count; i++) {
        struct gu_gpu *gpu = &sums->gpu[i];
        whole = fscanf(file, "%" SCNu32 " %lf %lf %" SCNd64 " %" SCNu64 " %" SCNu64, &gpu->minor,
                       &gpu->seconds, &gpu->busy, &gpu->last, &gpu->memory, &gpu->of) == 6;
    }
    char end[4] = "";
    whole = whole && fscanf(file, " %3s", end) == 1 && strcmp(end, "end") == 0;
    fclose(file);
    return whole;
}

static bool print(FILE *file, const struct gu_sums *sums) {
    fprintf(file, MAGIC " %" PRId64 " %" PRIu32 " %" PRId64 " %" PRId64 " %" PRIu32 "\n", sums->run,
            sums->node, sums->at, sums->to, sums->count);
    for (uint32_t i = 0; i < sums->count; i++) {
        const struct gu_gpu *gpu = &sums->gpu[i];
        fprintf(file, "%" PRIu32 " %.3f %.3f %" PRId64 " %" PRIu64 " %" PRIu64 "\n", gpu->minor, gpu->seconds,
                gpu->busy, gpu->last, gpu->memory, gpu->of);
    }
    fputs("end\n", file);
    return fflush(file) == 0 && !ferror(file);
}

int gu_sums_write(const char *path, const struct gu_sums *sums) {
    char aside[4096];
    if (snprintf(aside, sizeof aside, "%s.new", path) >= (int)sizeof aside)
        return ENAMETOOLONG;
    int handle = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = handle < 0 ? NULL : fdopen(handle, "w");
    int error = 0;
    if (!file)
        error = errno;
    else if (!print(file, sums))
        error = EIO;
    if (file && fclose(file) != 0 && !error)
        error = errno;
    else if (!file && handle >= 0)
        close(handle);
    if (!error && rename(aside, path) != 0)
        error = errno;
    if (error)
        unlink(aside);
    return error;
}

/* Reads "0-1,3" up to ')' into minor[*count]; NULL: it is something else, or too many. */
static const char *take_list(const char *p, uint32_t *minor, uint32_t *count) {
    for (;;) {
        char *end;
        if (*p < '0' || *p > '9')
            return NULL;
        unsigned long first = strtoul(p, &end, 10), last = first;
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9')
                return NULL;
            last = strtoul(end + 1, &end, 10);
        }
        if (last < first || last > UINT16_MAX || last - first >= GU_GPUS - *count)
            return NULL;
        for (unsigned long one = first; one <= last; one++)
            minor[(*count)++] = (uint32_t)one;
        if (*end == ')')
            return end + 1;
        if (*end != ',' || *count == GU_GPUS)
            return NULL;
        p = end + 1;
    }
}

uint32_t gu_gres_gpus(const char *detail, uint32_t *minor) {
    uint32_t count = 0;
    for (const char *p = detail; p && *p;) {
        bool gpu = strncmp(p, "gpu:", 4) == 0 || strncmp(p, "gpu(", 4) == 0;
        const char *open = p + strcspn(p, "(,");
        if (gpu && strncmp(open, "(IDX:", 5) != 0)
            return 0;
        if (gpu)
            p = take_list(open + 5, minor, &count);
        else
            p = *open == '(' ? open + strcspn(open, ")") : open;
        if (!p)
            return 0;
        p += *p == ')';
        if (*p && *p != ',')
            return 0;
        p += *p == ',';
    }
    return count;
}
