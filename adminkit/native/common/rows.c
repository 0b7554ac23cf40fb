/* rows.c - records into rows of cells. */
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A record's texts with every byte replaced by three, and as much again for joined GPU types. */
/* What texts of GPUs take, and all of them once more where bytes are not UTF-8. */
#define SCRATCH (13 * AK_MAX_RECORD + AK_MAX_COLUMNS * 4096)

/* ---- text ---- */

/* The length of the UTF-8 sequence at p; 0: these bytes are not UTF-8. */
static size_t utf8_length(const unsigned char *p, size_t left) {
    unsigned char a = p[0], b = left > 1 ? p[1] : 0;
    if (a < 0x80)
        return 1;
    if (a < 0xC2 || a > 0xF4 || (b & 0xC0) != 0x80)
        return 0;
    if (a < 0xE0)
        return 2;
    if (left < 3 || (p[2] & 0xC0) != 0x80)
        return 0;
    if (a < 0xF0)
        return (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) ? 0 : 3;
    if (left < 4 || (p[3] & 0xC0) != 0x80)
        return 0;
    return (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
}

/* Makes a text cell UTF-8: a copy in scratch with U+FFFD for every bad byte, if there are any. */
static void clean(struct ak_rows *rows, struct ak_cell *cell) {
    const unsigned char *p = (const unsigned char *)cell->v.s;
    size_t n = cell->n, i = 0, length;
    while (i < n && (length = utf8_length(p + i, n - i)))
        i += length;
    if (i == n)
        return;
    char *start = rows->scratch + rows->scratch_used, *out = start;
    for (i = 0; i < n; i += length) {
        length = utf8_length(p + i, n - i);
        if (length) {
            memcpy(out, p + i, length);
            out += length;
        } else {
            memcpy(out, "\xEF\xBF\xBD", 3);
            out += 3;
            length = 1;
            rows->utf8++;
        }
    }
    ak_set_text(cell, start, (size_t)(out - start));
    rows->scratch_used += (size_t)(out - start);
}

/* ---- rows ---- */

const char ak_step_alone[] = "a step that does not follow its job's row";

bool ak_rows_init(struct ak_rows *rows, const struct ak_spec *spec, const struct ak_zone *zone) {
    memset(rows, 0, sizeof *rows);
    rows->spec = spec;
    rows->zone = zone;
    rows->want_jobs = rows->want_steps = true;
    rows->scratch = malloc(SCRATCH);
    rows->kept = malloc(SCRATCH + AK_MAX_RECORD);
    if (rows->scratch && rows->kept)
        return true;
    ak_rows_free(rows);
    return false;
}

void ak_rows_free(struct ak_rows *rows) {
    free(rows->scratch);
    free(rows->kept);
    rows->scratch = rows->kept = NULL;
}

void ak_rows_broken(struct ak_rows *rows) {
    rows->parent_known = false;
}

/* AllocTRES mostly equals ReqTRES: the same text again has the same outputs. */
static enum ak_fault take_tres(struct ak_rows *rows, struct ak_slice s, bool plain, struct ak_cell *out) {
    if (plain && s.n && s.n == rows->tres.n && memcmp(s.s, rows->tres.s, s.n) == 0) {
        memcpy(out, &rows->cell[rows->tres_out], 8 * sizeof *out);
        return AK_FINE;
    }
    rows->tres = s;
    rows->tres_out = (int)(out - rows->cell);
    return ak_tres(s, rows->tres_ids, out, rows->scratch, &rows->scratch_used);
}

static enum ak_fault convert(struct ak_rows *rows, enum ak_kind kind, const struct ak_record *record,
                             int index, struct ak_cell *out) {
    struct ak_slice s = record->field[index];
    switch (kind) {
    case AK_SKIP:
    case AK_KINDS:
        break;
    case AK_KIND_TEXT:
        if (AK_IS(s, "(null)"))
            break;
        /* fall through */
    case AK_FREE:
        if (s.n)
            ak_set_text(out, s.s, s.n);
        break;
    case AK_ADMIN_COMMENT:
        ak_admin_comment(s, out);
        break;
    case AK_SUBMITTED:
        ak_submitted(s, rows->known, out);
        break;
    case AK_NODELIST:
        if (!ak_unknown(s))
            ak_set_text(out, s.s, s.n);
        break;
    case AK_KIND_INT:
        return ak_int(s, out);
    case AK_SERIAL:
        return ak_serial(s, out);
    case AK_KIND_REAL:
        return ak_real(s, out);
    case AK_SWF:
        return ak_swf(s, out);
    case AK_TIME:
        return ak_time(s, rows, out);
    case AK_EPOCH:
        return ak_epoch(s, out);
    case AK_SECONDS:
        return ak_seconds(s, out);
    case AK_CPUTIME:
        return ak_cputime(s, out);
    case AK_LIMIT:
        return ak_limit(s, out);
    case AK_JOBID:
        return ak_jobid(s, out);
    case AK_RAWID:
        return ak_rawid(s, out);
    case AK_STATE:
        return ak_state(s, out);
    case AK_EXIT:
        return ak_exit(s, out);
    case AK_MEM:
        return ak_mem(s, out);
    case AK_REQMEM:
        return ak_reqmem(s, out);
    case AK_TRES:
        return take_tres(rows, s, record->plain, out);
    case AK_GRES:
        return ak_gres(s, out, rows->scratch, &rows->scratch_used);
    case AK_USAGE:
        return ak_usage(s, rows->tres_ids, out);
    }
    return AK_FINE;
}

static const char *const faults[] = {
    [AK_MALFORMED] = "malformed",
    [AK_TOO_LARGE] = "too large",
    [AK_NO_ZONE] = "local time, but no --timezone",
    [AK_NO_SUCH_TIME] = "no such local time in --timezone",
    [AK_UNSEALED] = "not sealed",
};

static bool refuse(struct ak_rows *rows, int column, const char *why) {
    int place = rows->place ? rows->place[column] : column;
    snprintf(rows->reason, sizeof rows->reason, "column %d (%s): %s", place + 1,
             ak_kinds[rows->spec->column[column].kind].name, why);
    return false;
}

/* Converts one column. False: rows->reason. */
static inline bool take_column(struct ak_rows *rows, const struct ak_record *record, int index) {
    const struct ak_column *column = &rows->spec->column[index];
    struct ak_cell *out = &rows->cell[column->out];
    enum ak_fault fault = convert(rows, column->kind, record, index, out);
    if (fault > AK_UNKNOWN)
        return refuse(rows, index, faults[fault]);
    if (column->required && out->type == AK_NULL)
        return refuse(rows, index, "required, but unknown");
    if (!record->plain)
        for (int i = 0; i < column->outputs; i++)
            if (out[i].type == AK_TEXT)
                clean(rows, &out[i]);
    return true;
}

static bool is_text(const struct ak_cell *cell, const char *text) {
    return cell->type == AK_TEXT && cell->n == strlen(text) && memcmp(cell->v.s, text, cell->n) == 0;
}

/* Whether a job's column meets the demands of the spec. False: rows->reason. */
static bool meets_demands(struct ak_rows *rows, int index) {
    const struct ak_column *column = &rows->spec->column[index];
    const struct ak_cell *cell = &rows->cell[column->out];
    if (column->is && !is_text(cell, column->is))
        return refuse(rows, index, "not the value that was asked for");
    if (column->within && cell->type == AK_INT && (cell->v.i < column->from || cell->v.i >= column->until))
        return refuse(rows, index, "outside the range that was asked for");
    return true;
}

/* Keeps the job's id and what its steps will inherit. */
static void keep_parent(struct ak_rows *rows) {
    const struct ak_spec *spec = rows->spec;
    rows->parent_known = false;
    if (!spec->inherits || !rows->want_steps || rows->cell[spec->column[spec->jobid].out].type != AK_TEXT)
        return;
    rows->kept_used = 0;
    for (int i = 0; i < spec->inherits; i++) {
        const struct ak_column *column = &spec->column[spec->inherited[i]];
        for (int place = column->out; place < column->out + column->outputs; place++) {
            struct ak_cell *cell = &rows->parent[place];
            *cell = rows->cell[place];
            if (cell->type == AK_TEXT) {
                memcpy(rows->kept + rows->kept_used, cell->v.s, cell->n);
                cell->v.s = rows->kept + rows->kept_used;
                rows->kept_used += cell->n;
            }
        }
    }
    const struct ak_cell *id = &rows->parent[spec->column[spec->jobid].out];
    rows->parent_id = (struct ak_slice){id->v.s, id->n};
    rows->parent_known = true;
}

/* A job's row: everything, or (AK_SKIPPED) what its steps inherit. */
static enum ak_verdict take_job(struct ak_rows *rows, const struct ak_record *record) {
    const struct ak_spec *spec = rows->spec;
    bool passed = false;
    for (int index = 0; index < spec->columns; index++) {
        const struct ak_column *column = &spec->column[index];
        bool demanded = column->is || column->within;
        if (index != spec->jobid && (rows->want_jobs || column->inherit || demanded) &&
            !take_column(rows, record, index))
            return AK_REJECTED;
        if (demanded && !meets_demands(rows, index))
            return AK_REJECTED;
        passed |= column->without && is_text(&rows->cell[column->out], column->without);
    }
    if (rows->twices)
        ak_settle(rows);
    if (passed)
        return AK_PASSED;
    rows->contradictory = ak_contradictory(rows);
    keep_parent(rows);
    return rows->want_jobs ? AK_JOB : AK_SKIPPED;
}

static enum ak_verdict take_step(struct ak_rows *rows, const struct ak_record *record) {
    const struct ak_spec *spec = rows->spec;
    if (rows->no_steps) {
        snprintf(rows->reason, sizeof rows->reason, "a step, although only jobs were asked for");
        return AK_REJECTED;
    }
    if (!rows->want_steps)
        return AK_SKIPPED;
    if (spec->inherits && !rows->parent_known) {
        snprintf(rows->reason, sizeof rows->reason, "%s", ak_step_alone);
        return AK_REJECTED;
    }
    for (int index = 0; index < spec->columns; index++) {
        const struct ak_column *column = &spec->column[index];
        if (column->inherit)
            memcpy(&rows->cell[column->out], &rows->parent[column->out],
                   sizeof rows->cell[0] * (size_t)column->outputs);
        else if (index != spec->jobid && !take_column(rows, record, index))
            return AK_REJECTED;
    }
    if (rows->twices)
        ak_settle(rows);
    return AK_STEP;
}

enum ak_verdict ak_rows_take(struct ak_rows *rows, const struct ak_record *record) {
    const struct ak_spec *spec = rows->spec;
    bool parent = rows->parent_known;
    rows->scratch_used = 0;
    rows->tres.n = 0;
    memset(rows->cell, 0, (size_t)spec->outputs * sizeof *rows->cell);
    rows->utf8 = rows->ambiguous = 0;
    rows->twices = 0;
    rows->contradictory = false;
    rows->parent_known = false; /* until it is sure that this row keeps it or is one */
    if (!record->plain && memchr(record->raw.s, '\0', record->raw.n)) {
        snprintf(rows->reason, sizeof rows->reason, "NUL byte");
        return AK_REJECTED;
    }
    if (spec->jobid < 0)
        return take_job(rows, record);
    if (!take_column(rows, record, spec->jobid))
        return AK_REJECTED;
    const struct ak_cell *id = &rows->cell[spec->column[spec->jobid].out];
    if (id[5].type == AK_NULL)
        return take_job(rows, record);
    rows->parent_known =
        parent && id->n == rows->parent_id.n && memcmp(id->v.s, rows->parent_id.s, id->n) == 0;
    return take_step(rows, record);
}
