#include "input.h"

#include <string.h>

static bool put(FILE *file, int64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> 8 * i);
    return fwrite(bytes, 8, 1, file) == 1;
}

bool sim_write(const struct sim *sim, FILE *file) {
    fprintf(file, "adminkit-simulate 1\n");
    for (size_t i = 0; i < sim->facts; i++)
        fprintf(file, "fact %s=%lld\n", sim->fact[i].name, (long long)sim->fact[i].value);
    fprintf(file, "jobs %zu\ncolumn start\ncolumn end\ncolumn outcome\ncolumn order\n%sdata\n", sim->jobs,
            sim->promised ? "column promised\n" : "");
    for (int column = 0; column < (sim->promised ? 5 : 4); column++)
        for (size_t i = 0; i < sim->jobs; i++) {
            const struct sim_job *job = &sim->job[i];
            const int64_t value[] = {job->start, job->end, job->outcome, job->order,
                                     sim->promised ? sim->promised[i] : SIM_NONE};
            if (!put(file, value[column]))
                return false;
        }
    return fflush(file) == 0;
}
