/* nvml.c - see nvml.h. */
#include "nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Numbers and shapes of the ABI. */
enum { SUCCESS = 0, GPU_UTILIZATION_SAMPLES = 1, VALUE_UNSIGNED_INT = 1, MIG_ENABLED = 1 };
#define SAMPLES 256 /* the driver keeps about 100 */

typedef struct handle *handle_t;

struct utilization {
    unsigned gpu, memory; /* per cent, of the last sixth of a second up to a second */
};
struct memory {
    unsigned long long total, free, used;
};
struct sample {
    unsigned long long at; /* µs */
    union {
        double real;
        unsigned number;
        unsigned long long any;
    } value;
};

struct gu_nvml {
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, handle_t *device);
    int (*minor)(handle_t device, unsigned *minor);
    int (*utilization)(handle_t device, struct utilization *now);
    /* These may be missing in an old driver. */
    int (*uuid)(handle_t device, char *text, unsigned size);
    int (*memory)(handle_t device, struct memory *memory);
    int (*mig)(handle_t device, unsigned *now, unsigned *later);
    int (*samples)(handle_t device, int kind, unsigned long long since, int *type, unsigned *count,
                   struct sample *samples);
};

struct gu_device {
    const struct gu_nvml *nvml;
    handle_t handle;
    unsigned long long seen; /* the last sample that was counted */
    char uuid[GU_UUID_SIZE];
};

/* POSIX's dlsym() gives functions as objects. */
static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

struct gu_nvml *gu_nvml_open(const char *name, const char **why) {
    struct gu_nvml *nvml = calloc(1, sizeof *nvml);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int (*init)(void);
    if (!nvml || !library) {
        *why = "there is no NVML";
        goto fail;
    }
    if (!find(library, "nvmlInit_v2", &init) || !find(library, "nvmlDeviceGetCount_v2", &nvml->count) ||
        !find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->by_index) ||
        !find(library, "nvmlDeviceGetMinorNumber", &nvml->minor) ||
        !find(library, "nvmlDeviceGetUtilizationRates", &nvml->utilization)) {
        *why = "the driver is too old";
        goto fail;
    }
    find(library, "nvmlDeviceGetUUID", &nvml->uuid);
    find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory);
    find(library, "nvmlDeviceGetMigMode", &nvml->mig);
    find(library, "nvmlDeviceGetSamples", &nvml->samples);
    if (init() == SUCCESS)
        return nvml;
    *why = "NVML does not start: no driver, or one that does not fit its library";
fail:
    free(nvml); /* the library stays open: a driver's library that is unloaded may leave threads */
    return NULL;
}

/* Whether any GPU of the host is divided: Slurm then counts parts, and its index names no device file. */
static bool any_is_divided(const struct gu_nvml *nvml, unsigned count) {
    for (unsigned i = 0; nvml->mig && i < count; i++) {
        handle_t handle;
        unsigned now = 0, later = 0;
        if (nvml->by_index(i, &handle) == SUCCESS && nvml->mig(handle, &now, &later) == SUCCESS &&
            now == MIG_ENABLED)
            return true;
    }
    return false;
}

struct gu_device *gu_nvml_device(struct gu_nvml *nvml, unsigned minor, const char **why) {
    unsigned count = 0, its;
    handle_t handle;
    *why = "NVML does not know the GPU";
    if (nvml->count(&count) != SUCCESS)
        return NULL;
    if (any_is_divided(nvml, count)) {
        *why = "a GPU is divided (MIG), and NVML does not measure its parts";
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        if (nvml->by_index(i, &handle) != SUCCESS || nvml->minor(handle, &its) != SUCCESS || its != minor)
            continue;
        struct gu_device *device = calloc(1, sizeof *device);
        if (!device)
            return NULL;
        device->nvml = nvml;
        device->handle = handle;
        if (!nvml->uuid || nvml->uuid(handle, device->uuid, sizeof device->uuid) != SUCCESS)
            device->uuid[0] = '\0';
        device->uuid[GU_UUID_SIZE - 1] = '\0';
        return device;
    }
    return NULL;
}

const char *gu_device_uuid(const struct gu_device *device) {
    return device->uuid;
}

/* The mean of the samples that the driver took since the last call; false: it keeps none. */
static bool read_samples(struct gu_device *device, double *use) {
    static struct sample samples[SAMPLES];
    int type = 0;
    unsigned count = SAMPLES;
    if (!device->nvml->samples || device->nvml->samples(device->handle, GPU_UTILIZATION_SAMPLES, device->seen,
                                                        &type, &count, samples) != SUCCESS)
        return false;
    double sum = 0;
    unsigned taken = 0;
    for (unsigned i = 0; type == VALUE_UNSIGNED_INT && i < count && i < SAMPLES; i++) {
        if (samples[i].at <= device->seen || samples[i].value.number > 100)
            continue;
        sum += samples[i].value.number;
        taken++;
    }
    for (unsigned i = 0; taken && i < count && i < SAMPLES; i++)
        if (samples[i].at > device->seen)
            device->seen = samples[i].at;
    if (taken)
        *use = sum / taken / 100;
    return taken > 0;
}

bool gu_device_read(struct gu_device *device, struct gu_reading *reading) {
    const struct gu_nvml *nvml = device->nvml;
    struct utilization now;
    struct memory memory;
    memset(reading, 0, sizeof *reading);
    if (nvml->utilization(device->handle, &now) != SUCCESS || now.gpu > 100)
        return false; /* of a GPU that was lost old samples may still be there */
    if (!read_samples(device, &reading->use))
        reading->use = now.gpu / 100.0;
    if (nvml->memory && nvml->memory(device->handle, &memory) == SUCCESS && memory.used <= memory.total) {
        reading->has_memory = true;
        reading->memory = memory.used;
        reading->of = memory.total;
    }
    return true;
}
