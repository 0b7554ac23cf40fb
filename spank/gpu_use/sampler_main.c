/* sampler_main.c - adminkit-gpu-use, which reads a job's GPUs on one node and adds up how busy they were.
 *
 *   adminkit-gpu-use LIBRARY FILE RUN NODE PERIOD MINOR[,MINOR…] [TEXT JOB]
 *
 * A process of its own, as a driver may hang, or take down who calls it. It ends when its standard input
 * does, which is a socket of the plugin's, and writes what is wrong to it, one line, before it ends by
 * itself. FILE is sums.h's. RUN: epoch seconds when the run of the job began. NODE: the place of the node in
 * the job's list. PERIOD: s. TEXT is a file for node_exporter's textfile collector. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nvml.h"
#include "sums.h"

#define LEAST_SPAN 0.5 /* s, that the last reading has to stand for */

static struct {
    struct gu_device *device[GU_GPUS];
    struct gu_sums sums;
    const char *file, *text, *job;
    long period;
    double before; /* the time of the last turn, steady seconds */
} gu;

__attribute__((format(printf, 1, 2))) static _Noreturn void give_up(const char *format, ...) {
    char line[200];
    va_list rest;
    va_start(rest, format);
    int n = vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (n > 0 && write(STDIN_FILENO, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1) < 0)
        _exit(2);
    _exit(1);
}

static double steady(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_labels(FILE *file, uint32_t i) {
    fprintf(file, "{job=\"%s\",gpu=\"%" PRIu32 "\",uuid=\"", gu.job, gu.sums.gpu[i].minor);
    for (const char *p = gu_device_uuid(gu.device[i]); *p; p++)
        if ((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || *p == '-')
            fputc(*p, file);
    fputs("\"}", file);
}

/* In the format of Prometheus. A GPU that could not be read now has no line. */
static void write_text(void) {
    char aside[4096];
    if (!gu.text || snprintf(aside, sizeof aside, "%s.new", gu.text) >= (int)sizeof aside)
        return;
    unlink(aside);
    FILE *file = fopen(aside, "wxe");
    if (!file)
        return;
    fputs("# HELP adminkit_gpu_use_ratio Share of the last period in which a kernel ran on a GPU of a job.\n"
          "# TYPE adminkit_gpu_use_ratio gauge\n",
          file);
    for (uint32_t i = 0; i < gu.sums.count; i++)
        if (gu.sums.gpu[i].known) {
            fputs("adminkit_gpu_use_ratio", file);
            print_labels(file, i);
            fprintf(file, " %.4f\n", gu.sums.gpu[i].use);
        }
    bool whole = fchmod(fileno(file), 0644) == 0 && fflush(file) == 0 && !ferror(file);
    if (fclose(file) != 0 || !whole || rename(aside, gu.text) != 0)
        unlink(aside);
}

/* The first reading stands for nothing: it begins the time that the next ones stand for. A turn that is late,
 * as after the host slept, stands for two periods at most. */
static void turn(bool first) {
    double now = steady(), span = first ? 0 : now - gu.before;
    if (span > 2.0 * (double)gu.period)
        span = 2.0 * (double)gu.period;
    gu.before = now;
    for (uint32_t i = 0; i < gu.sums.count; i++) {
        struct gu_gpu *gpu = &gu.sums.gpu[i];
        struct gu_reading reading;
        bool was_known = gpu->known;
        gpu->known = gu_device_read(gu.device[i], &reading);
        if (!gpu->known)
            continue;
        gu_sums_add(&gu.sums, i, time(NULL), was_known ? span : 0, reading.use);
        if (reading.has_memory && reading.memory >= gpu->memory)
            gpu->memory = reading.memory;
        if (reading.has_memory)
            gpu->of = reading.of;
    }
    int error = gu_sums_write(gu.file, &gu.sums);
    if (error)
        give_up("couldn't write %.120s: %s", gu.file, strerror(error));
    write_text();
}

/* What an earlier step's sampler left of the same run and the same GPUs is continued. */
static void take_over(int64_t run, uint32_t node) {
    struct gu_sums before;
    if (gu_sums_read(gu.file, &before) && before.run == run && before.count == gu.sums.count) {
        for (uint32_t i = 0; i < before.count; i++)
            if (before.gpu[i].minor != gu.sums.gpu[i].minor)
                return;
        gu.sums = before;
    }
    gu.sums.run = run;
    gu.sums.node = node;
}

static void open_gpus(const char *library, char *list) {
    const char *why = NULL;
    struct gu_nvml *nvml = gu_nvml_open(library, &why);
    if (!nvml)
        give_up("%s", why);
    for (char *rest = NULL, *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        unsigned long minor = strtoul(one, NULL, 10);
        if (gu.sums.count == GU_GPUS)
            give_up("more than %d GPUs", GU_GPUS);
        gu.device[gu.sums.count] = gu_nvml_device(nvml, (unsigned)minor, &why);
        if (!gu.device[gu.sums.count])
            give_up("GPU %lu: %s", minor, why);
        gu.sums.gpu[gu.sums.count++].minor = (uint32_t)minor;
    }
}

int main(int argc, char **argv) {
    if (argc != 7 && argc != 9)
        return 2;
    umask(077);
    if (nice(10) == -1)
        errno = 0; /* as busy as others, then */
    gu.file = argv[2];
    gu.period = strtol(argv[5], NULL, 10);
    if (argc == 9) {
        gu.text = argv[7];
        gu.job = argv[8];
    }
    open_gpus(argv[1], argv[6]);
    take_over(strtoll(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10));
    turn(true);
    struct pollfd plugin = {.fd = STDIN_FILENO, .events = POLLIN};
    double due = gu.before + (double)gu.period;
    for (;;) {
        double rest = due - steady();
        int found = poll(&plugin, 1, rest > 0 ? (int)(rest * 1000) + 1 : 0);
        if (found > 0)
            break;
        if (steady() < due)
            continue;
        turn(false);
        due += (double)gu.period;
        if (due < steady())
            due = steady() + (double)gu.period;
    }
    if (steady() - gu.before >= LEAST_SPAN)
        turn(false);
    if (gu.text)
        unlink(gu.text);
    return 0;
}
