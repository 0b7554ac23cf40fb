/* spec.c - the kinds of columns, and the column spec. */
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ak_kind_info ak_kinds[AK_KINDS] = {
    [AK_SKIP] = {"skip", 0, {0}},
    [AK_KIND_TEXT] = {"text", 1, {"text"}},
    [AK_FREE] = {"free", 1, {"text"}},
    [AK_ADMIN_COMMENT] = {"admin_comment",
                          10,
                          {"text", "limit", "source", "at", "heard", "requeues", "end", "asked", "extended",
                           "times"}},
    [AK_SUBMITTED] = {"submitted", 5, {"by", "ckpt", "program", "framework", "container"}},
    [AK_KIND_INT] = {"int", 1, {"value"}},
    [AK_SERIAL] = {"serial", 1, {"value"}},
    [AK_KIND_REAL] = {"real", 1, {"value"}},
    [AK_SWF] = {"swf", 1, {"value"}},
    [AK_TIME] = {"time", 1, {"epoch"}},
    [AK_EPOCH] = {"epoch", 1, {"epoch"}},
    [AK_SECONDS] = {"seconds", 1, {"seconds"}},
    [AK_CPUTIME] = {"cputime", 1, {"seconds"}},
    [AK_LIMIT] = {"limit", 2, {"seconds", "kind"}},
    [AK_JOBID] = {"jobid",
                  7,
                  {"job_id", "array_job", "array_task", "het_job", "het_offset", "step", "array_tasks"}},
    [AK_RAWID] = {"rawid", 1, {"value"}},
    [AK_STATE] = {"state", 2, {"state", "cancelled_by"}},
    [AK_EXIT] = {"exit", 2, {"code", "signal"}},
    [AK_MEM] = {"mem", 1, {"bytes"}},
    [AK_REQMEM] = {"reqmem", 2, {"bytes", "per"}},
    [AK_TRES] = {"tres", 8, {"cpus", "mem", "nodes", "gpus", "gpu_type", "energy", "billing", "gpu_parts"}},
    [AK_GRES] = {"gres", 4, {"gpus", "gpu_type", "gpu_parts", "per"}},
    [AK_USAGE] = {"usage", 6, {"cpu_time", "mem", "disk", "energy", "gpu_util", "gpu_mem"}},
    [AK_NODELIST] = {"nodelist", 1, {"nodes"}},
};

static bool column_parse(struct ak_column *column, const char *word, size_t n) {
    *column = (struct ak_column){0};
    for (; n && (word[n - 1] == '!' || word[n - 1] == '^'); n--) {
        column->required |= word[n - 1] == '!';
        column->inherit |= word[n - 1] == '^';
    }
    for (int kind = 0; kind < AK_KINDS; kind++)
        if (strlen(ak_kinds[kind].name) == n && memcmp(ak_kinds[kind].name, word, n) == 0) {
            column->kind = (enum ak_kind)kind;
            return !(kind == AK_SKIP && (column->required || column->inherit)) &&
                   !(kind == AK_JOBID && column->inherit);
        }
    return false;
}

bool ak_spec_parse(struct ak_spec *spec, const char *text, char *error, size_t error_size) {
    int frees = 0;
    *spec = (struct ak_spec){.jobid = -1, .free_one = -1, .submitted = -1};
    for (const char *word = text;; word++) {
        size_t n = strcspn(word, ",");
        struct ak_column *column = &spec->column[spec->columns];
        if (spec->columns == AK_MAX_COLUMNS) {
            snprintf(error, error_size, "more than %d columns", AK_MAX_COLUMNS);
            return false;
        }
        if (!column_parse(column, word, n)) {
            snprintf(error, error_size, "column %d has an unknown kind: %.*s", spec->columns + 1,
                     (int)(n < 40 ? n : 40), word);
            return false;
        }
        if (column->kind == AK_JOBID && spec->jobid >= 0) {
            snprintf(error, error_size, "columns %d and %d are both a jobid", spec->jobid + 1,
                     spec->columns + 1);
            return false;
        }
        if (column->kind == AK_SUBMITTED && spec->submitted >= 0) {
            snprintf(error, error_size, "columns %d and %d are both submitted", spec->submitted + 1,
                     spec->columns + 1);
            return false;
        }
        if (column->kind == AK_SUBMITTED)
            spec->submitted = spec->columns;
        column->out = spec->outputs;
        column->outputs = ak_kinds[column->kind].outputs;
        spec->outputs += column->outputs;
        if (column->inherit || column->kind == AK_JOBID)
            spec->inherited[spec->inherits++] = spec->columns;
        if (column->kind == AK_JOBID)
            spec->jobid = spec->columns;
        if (ak_is_free(column->kind)) {
            spec->free_one = spec->columns;
            frees++;
        }
        if (spec->outputs > AK_MAX_OUTPUTS) {
            snprintf(error, error_size, "more than %d outputs", AK_MAX_OUTPUTS);
            return false;
        }
        spec->columns++;
        word += n;
        if (*word == '\0')
            break;
    }
    if (frees != 1)
        spec->free_one = -1;
    if (spec->jobid < 0 || spec->inherits == 1)
        spec->inherits = 0; /* nothing but the id */
    return true;
}

static bool take_int64(const char **p, int64_t *value) {
    char *end;
    if (!ak_digit(**p) || strspn(*p, "0123456789") > 18)
        return false;
    *value = strtoll(*p, &end, 10);
    *p = end;
    return true;
}

bool ak_spec_without(struct ak_spec *spec, const char *text) {
    int64_t number;
    if (!take_int64(&text, &number) || *text++ != '=' || number < 1 || number > spec->columns)
        return false;
    spec->column[number - 1].without = text;
    return spec->column[number - 1].kind == AK_STATE;
}

bool ak_spec_wants(struct ak_spec *spec, const char *text, bool window) {
    int64_t number;
    if (!take_int64(&text, &number) || *text++ != '=' || number < 1 || number > spec->columns)
        return false;
    struct ak_column *column = &spec->column[number - 1];
    if (!window) {
        column->is = text;
        return column->kind == AK_KIND_TEXT;
    }
    column->within = true;
    bool time = column->kind == AK_TIME || column->kind == AK_EPOCH;
    return time && take_int64(&text, &column->from) && *text++ == '.' && *text++ == '.' &&
           take_int64(&text, &column->until) && *text == '\0';
}
