#include "input.h"

#include <string.h>

static bool put(FILE *file, int64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> 8 * i);
    return fwrite(bytes, 8, 1, file) == 1;
}

bool sim_write(const struct sim *sim, FILE *file) {
    const struct {
        const char *name;
        const int64_t *column;
    } more[] = {{"promised", sim->promised},
                {"energy", sim->energy},
                {"resizes", sim->resizes},
                {"last_limit", sim->last_limit},
                {"raises", sim->raises}};
    const size_t mores = sizeof more / sizeof *more;

    fprintf(file, "adminkit-simulate 1\n");
    for (size_t i = 0; i < sim->facts; i++)
        fprintf(file, "fact %s=%lld\n", sim->fact[i].name, (long long)sim->fact[i].value);
    fprintf(file, "jobs %zu\ncolumn start\ncolumn end\ncolumn outcome\ncolumn order\n", sim->jobs);
    for (size_t i = 0; i < mores; i++)
        if (more[i].column)
            fprintf(file, "column %s\n", more[i].name);
    fprintf(file, "data\n");
    for (int column = 0; column < 4; column++)
        for (size_t i = 0; i < sim->jobs; i++) {
            const struct sim_job *job = &sim->job[i];
            const int64_t value[] = {job->start, job->end, job->outcome, job->order};
            if (!put(file, value[column]))
                return false;
        }
    for (size_t column = 0; column < mores; column++)
        for (size_t i = 0; more[column].column && i < sim->jobs; i++)
            if (!put(file, more[column].column[i]))
                return false;
    return fflush(file) == 0;
}
