/* nvml.h - how busy NVIDIA's GPUs are, by the driver's own library, which is opened where it is and needed
 * nowhere.
 *
 * Functions, types and numbers are those of NVIDIA's "NVML API Reference". All of it may block where a driver
 * hangs, so it runs in a process of its own (sampler_main.c). */
#ifndef ADMINKIT_GPU_USE_NVML_H
#define ADMINKIT_GPU_USE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#define GU_UUID_SIZE 96

struct gu_nvml;
struct gu_device;

/* What a GPU does. `use` is the share of the time since the last reading, 0 to 1, in which a kernel ran. */
struct gu_reading {
    double use;
    bool has_memory;
    uint64_t memory, of; /* bytes in use, and there */
};

/* Opens `library`, such as libnvidia-ml.so.1. NULL: *why says what failed. */
struct gu_nvml *gu_nvml_open(const char *library, const char **why);

/* The GPU whose device file is /dev/nvidia`minor`. NULL: there is none that can be measured, *why says why.
 * Trap: of a GPU that is divided (MIG) NVML measures neither the whole nor the parts. */
struct gu_device *gu_nvml_device(struct gu_nvml *nvml, unsigned minor, const char **why);

/* "" where the driver does not say. */
const char *gu_device_uuid(const struct gu_device *device);

/* False: not known now, as of a GPU that was lost. */
bool gu_device_read(struct gu_device *device, struct gu_reading *reading);

#endif
