#include "input.h"
#include "follow.h"

#include "fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE 4096
#define MOST_THINGS (1 << 20) /* of one kind, but for jobs */
#define MOST_JOBS (INT64_C(1) << 30)
#define CHUNK 8192

struct reading {
    struct sim *sim;
    FILE *file;
    long line;
    bool jobs, columns;
    const struct sim_field *column[64];
    int ncolumns;
};

static bool fail(struct reading *reading, const char *text, ...) {
    char what[SIM_MESSAGE - 40];
    va_list rest;
    va_start(rest, text);
    vsnprintf(what, sizeof what, text, rest);
    va_end(rest);
    snprintf(reading->sim->error, SIM_MESSAGE, "line %ld of the input: %s", reading->line, what);
    return false;
}

static bool number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

/* Takes NAME=NUMBER words into a record. */
static bool fields(struct reading *reading, const struct sim_field *table, void *record, char *rest) {
    char *save = NULL;
    for (char *word = strtok_r(rest, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equal = strchr(word, '=');
        int64_t value;
        if (!equal)
            return fail(reading, "= is missing in %.60s", word);
        *equal = '\0';
        const struct sim_field *field = sim_field_named(table, word);
        if (!field)
            return fail(reading, "no such field: %.60s", word);
        if (!number(equal + 1, &value) || !sim_field_put(field, record, value))
            return fail(reading, "%s cannot be %.60s", word, equal + 1);
    }
    return true;
}

/* One more record of `size` bytes at the end of *records. */
static bool grow(struct reading *reading, void **records, size_t *count, size_t size,
                 const struct sim_field *table, char *rest) {
    if (*count >= MOST_THINGS)
        return fail(reading, "more than %d such lines", MOST_THINGS);
    if ((*count & (*count - 1)) == 0) { /* its room is the next power of two */
        void *more = realloc(*records, size * (*count ? *count * 2 : 1));
        if (!more)
            return fail(reading, "out of memory");
        *records = more;
    }
    void *record = (char *)*records + size * *count;
    memset(record, 0, size);
    sim_fields_usual(table, record);
    if (!fields(reading, table, record, rest))
        return false;
    ++*count;
    return true;
}

static bool model(struct reading *reading, const char *name) {
    for (int i = 0; sim_models[i].name; i++)
        if (strcmp(sim_models[i].name, name) == 0) {
            reading->sim->model = i;
            return true;
        }
    return fail(reading, "no such model: %.60s", name);
}

static bool jobs(struct reading *reading, const char *text) {
    int64_t count;
    struct sim *sim = reading->sim;
    if (reading->jobs || !number(text, &count) || count < 0 || count > MOST_JOBS)
        return fail(reading, "not a number of jobs, or a second one: %.60s", text);
    sim->job = calloc(count ? (size_t)count : 1, sizeof *sim->job);
    if (!sim->job)
        return fail(reading, "out of memory for %lld jobs", (long long)count);
    sim->jobs = (size_t)count;
    for (size_t i = 0; i < sim->jobs; i++) {
        sim_fields_usual(sim_job_fields, &sim->job[i]);
        sim->job[i].id = (int64_t)i;
    }
    return reading->jobs = true;
}

static bool column(struct reading *reading, const char *name) {
    const struct sim_field *field = sim_field_named(sim_job_fields, name);
    if (!field || !reading->jobs)
        return fail(reading, field ? "a column before jobs" : "no such column: %.60s", name);
    for (int i = 0; i < reading->ncolumns; i++)
        if (reading->column[i] == field)
            return fail(reading, "the column %s twice", name);
    reading->column[reading->ncolumns++] = field;
    return true;
}

/* One line. *done: the numbers follow. */
static bool line(struct reading *reading, char *text, bool *done) {
    struct sim *sim = reading->sim;
    char *rest = strchr(text, ' ');
    if (rest)
        *rest++ = '\0';
    else
        rest = text + strlen(text);
    if (strcmp(text, "data") == 0)
        return *done = reading->jobs || fail(reading, "data before jobs");
    if (strcmp(text, "model") == 0)
        return model(reading, rest);
    if (strcmp(text, "set") == 0)
        return fields(reading, sim_set_fields, &sim->set, rest);
    if (strcmp(text, "queue") == 0)
        return grow(reading, (void **)&sim->queue, &sim->queues, sizeof *sim->queue, sim_queue_fields, rest);
    if (strcmp(text, "nodes") == 0)
        return grow(reading, (void **)&sim->nodes, &sim->classes, sizeof *sim->nodes, sim_nodes_fields, rest);
    if (strcmp(text, "down") == 0)
        return grow(reading, (void **)&sim->down, &sim->downs, sizeof *sim->down, sim_down_fields, rest);
    if (strcmp(text, "qos") == 0)
        return grow(reading, (void **)&sim->qos, &sim->qoses, sizeof *sim->qos, sim_qos_fields, rest);
    if (strcmp(text, "curve") == 0)
        return grow(reading, (void **)&sim->curve, &sim->curves, sizeof *sim->curve, sim_curve_fields, rest);
    if (strcmp(text, "jobs") == 0)
        return jobs(reading, rest);
    if (strcmp(text, "column") == 0)
        return column(reading, rest);
    return fail(reading, "no such word: %.60s", text);
}

static bool header(struct reading *reading) {
    char text[LINE];
    bool done = false;
    while (!done) {
        reading->line++;
        if (!fgets(text, sizeof text, reading->file))
            return fail(reading, "the input ends before data");
        size_t n = strlen(text);
        if (n == 0 || text[n - 1] != '\n')
            return fail(reading, "longer than %d bytes, or without a newline", LINE - 1);
        text[n - 1] = '\0';
        if (reading->line == 1) {
            if (strcmp(text, "adminkit-simulate 1") != 0)
                return fail(reading, "the format is not adminkit-simulate 1");
        } else if (!line(reading, text, &done)) {
            return false;
        }
    }
    return true;
}

/* Little-endian, whatever this machine is. */
static int64_t value_of(const unsigned char *bytes) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

static bool numbers(struct reading *reading, const struct sim_field *field) {
    static unsigned char bytes[CHUNK * 8];
    struct sim *sim = reading->sim;
    for (size_t at = 0; at < sim->jobs;) {
        size_t want = sim->jobs - at < CHUNK ? sim->jobs - at : CHUNK;
        if (fread(bytes, 8, want, reading->file) != want)
            return fail(reading, "the column %s ends too early", field->name);
        for (size_t i = 0; i < want; i++, at++)
            if (!sim_field_put(field, &sim->job[at], value_of(bytes + 8 * i)))
                return fail(reading, "%s of job %zu cannot be %lld", field->name, at,
                            (long long)value_of(bytes + 8 * i));
    }
    return true;
}

/* Whether the model has what it cannot do without. */
static bool has_what_it_needs(struct reading *reading) {
    const struct sim *sim = reading->sim;
    bool pool = sim_models[sim->model].pool;
    const char *const needs[] = {"submit", "run", pool ? "procs" : "run"};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        int at = 0;
        while (at < reading->ncolumns && strcmp(reading->column[at]->name, needs[i]) != 0)
            at++;
        if (at == reading->ncolumns)
            return fail(reading, "no column %s", needs[i]);
    }
    if (pool && sim->set.procs < 1)
        return fail(reading, "no procs");
    if (!pool && (sim->queues == 0 || sim->classes == 0))
        return fail(reading, "no queue or no nodes");
    return true;
}

/* What refers to something that is there. */
static bool refers(struct reading *reading) {
    struct sim *sim = reading->sim;
    if (sim->queues > SIM_MAX_QUEUES)
        return fail(reading, "more than %d queues", SIM_MAX_QUEUES);
    for (size_t i = 0; i < sim->downs; i++)
        if ((size_t)sim->down[i].nodes >= sim->classes)
            return fail(reading, "down: no nodes of number %lld", (long long)sim->down[i].nodes);
    for (size_t i = 0; i < sim->jobs; i++)
        if (sim->job[i].qos != SIM_NONE && (size_t)sim->job[i].qos >= sim->qoses)
            return fail(reading, "job %zu: no qos of number %d", i, sim->job[i].qos);
    for (size_t i = 0; i < sim->jobs; i++)
        if (sim->job[i].curve != SIM_NONE && (size_t)sim->job[i].curve >= sim->curves)
            return fail(reading, "job %zu: no curve of number %d", i, sim->job[i].curve);
    for (size_t i = 0; i < sim->jobs; i++)
        if (sim->job[i].after != SIM_NONE && (size_t)sim->job[i].after >= i)
            return fail(reading, "job %zu: job %d is not before it", i, sim->job[i].after);
    return true;
}

bool sim_read(struct sim *sim, FILE *file) {
    struct reading reading = {.sim = sim, .file = file};
    sim->model = SIM_NONE;
    sim_fields_usual(sim_set_fields, &sim->set);
    if (!header(&reading))
        return false;
    for (int i = 0; i < reading.ncolumns; i++)
        if (!numbers(&reading, reading.column[i]))
            return false;
    if (getc(file) != EOF)
        return fail(&reading, "more bytes than columns");
    if (sim->model == SIM_NONE)
        return fail(&reading, "no model");
    return has_what_it_needs(&reading) && refers(&reading);
}

void sim_free(struct sim *sim) {
    free(sim->queue);
    free(sim->nodes);
    free(sim->down);
    free(sim->qos);
    free(sim->curve);
    free(sim->job);
    free(sim->turn);
    free(sim->promised);
    free(sim->energy);
    free(sim->resizes);
    free(sim->last_limit);
    free(sim->raises);
    sim_follow_free(sim);
}
