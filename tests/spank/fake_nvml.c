/* fake_nvml.c - a stand-in for libnvidia-ml.so.1, with the functions and numbers of NVIDIA's "NVML API
 * Reference".
 *
 * It reads the file `gpus` in its own folder at each call. A line is a GPU:
 *
 *     MINOR USE MEMORY OF WORD        USE in per cent; MEMORY and OF in MiB; WORD says what is wrong, ok:
 * nothing
 *
 * WORD: mig (divided), lost (as after an Xid), slow (each call takes 3 s), crash (the driver takes its caller
 * down), old (no samples, no memory, no UUID), sampled (USE is that of the samples, while the rate now is 0).
 * Without the file there is no driver. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, GPU_IS_LOST = 15 };
#define GPUS 16

struct gpu {
    unsigned minor, use, memory, of;
    char word[16];
};
struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct sample {
    unsigned long long at;
    union {
        double real;
        unsigned number;
        unsigned long long any;
    } value;
};

static struct gpu gpus[GPUS];

static int load(void) {
    char path[4096], line[128];
    Dl_info here;
    int count = 0;
    if (!dladdr((void *)&gpus, &here))
        return -1;
    snprintf(path, sizeof path, "%.*s/gpus", (int)(strrchr(here.dli_fname, '/') - here.dli_fname),
             here.dli_fname);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (count < GPUS && fgets(line, sizeof line, file)) {
        struct gpu *gpu = &gpus[count];
        count +=
            sscanf(line, "%u %u %u %u %15s", &gpu->minor, &gpu->use, &gpu->memory, &gpu->of, gpu->word) == 5;
    }
    fclose(file);
    return count;
}

static int is(const struct gpu *gpu, const char *word) {
    return strcmp(gpu->word, word) == 0;
}

/* What every call on a GPU does first. */
static int look(struct gpu *gpu) {
    if (load() < 0)
        return UNINITIALIZED;
    if (is(gpu, "slow"))
        sleep(3);
    if (is(gpu, "crash"))
        raise(SIGSEGV);
    return is(gpu, "lost") ? GPU_IS_LOST : SUCCESS;
}

int nvmlInit_v2(void) {
    return load() < 0 ? UNINITIALIZED : SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    int found = load();
    *count = found < 0 ? 0 : (unsigned)found;
    return found < 0 ? UNINITIALIZED : SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **device) {
    int count = load();
    if (count < 0 || index >= (unsigned)count)
        return INVALID;
    *device = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetMinorNumber(struct gpu *gpu, unsigned *minor) {
    *minor = gpu->minor;
    return SUCCESS;
}

int nvmlDeviceGetUUID(struct gpu *gpu, char *text, unsigned size) {
    if (is(gpu, "old"))
        return NOT_SUPPORTED;
    snprintf(text, size, "GPU-00000000-0000-0000-0000-%012u", gpu->minor);
    return SUCCESS;
}

int nvmlDeviceGetMigMode(struct gpu *gpu, unsigned *now, unsigned *later) {
    *now = *later = (unsigned)is(gpu, "mig");
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct utilization *now) {
    int error = look(gpu);
    now->gpu = is(gpu, "sampled") ? 0 : gpu->use;
    now->memory = 0;
    return error;
}

int nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *memory) {
    memory->total = (unsigned long long)gpu->of << 20;
    memory->used = (unsigned long long)gpu->memory << 20;
    memory->free = memory->total - memory->used;
    return is(gpu, "old") ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetSamples(struct gpu *gpu, int kind, unsigned long long since, int *type, unsigned *count,
                         struct sample *samples) {
    struct timespec now;
    if (kind != 1 || !is(gpu, "sampled"))
        return NOT_SUPPORTED;
    clock_gettime(CLOCK_REALTIME, &now);
    *type = 1;
    unsigned n = *count < 4 ? *count : 4;
    for (unsigned i = 0; i < n; i++) {
        samples[i].at =
            (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000 - (3 - i) * 10;
        samples[i].value.number = gpu->use;
    }
    (void)since;
    *count = n;
    return SUCCESS;
}
