/* reader_fields.c - the text of a record into its fields. */
#include "reader.h"

#include <stdio.h>
#include <string.h>

enum ak_event ak_record_broken(struct ak_reader *r, struct ak_record *record, uint64_t line,
                               struct ak_slice raw, const char *format, size_t columns) {
    record->line = line;
    record->raw = raw;
    record->repaired = record->plain = false;
    snprintf(record->reason, sizeof record->reason, format, columns, r->columns + r->more);
    return AK_BROKEN;
}

void ak_record_split(const struct ak_reader *r, struct ak_record *record, size_t surplus) {
    const char *p = record->raw.s, *end = p + record->raw.n, *start = p;
    size_t field = 0, seen = 0, first = (size_t)r->free_one;
    bool repair = surplus && !r->format.surplus_ignore;
    while (field < r->columns && p < end) {
        p = memchr(p, r->format.delimiter[0], (size_t)(end - p));
        if (!p)
            break;
        if ((size_t)(end - p) < r->delimiter_size || memcmp(p, r->format.delimiter, r->delimiter_size) != 0) {
            p++;
            continue;
        }
        if (!repair || seen < first || seen >= first + surplus) {
            record->field[field++] = (struct ak_slice){start, (size_t)(p - start)};
            start = p + r->delimiter_size;
        }
        seen++;
        p += r->delimiter_size;
    }
    if (field < r->columns)
        record->field[field] = (struct ak_slice){start, (size_t)(end - start)};
}

void ak_record_of_line(const struct ak_reader *r, const char *buf, struct ak_record *record) {
    record->line = r->line;
    record->raw = ak_slice_of(r, buf, r->line_at, r->line_text);
    record->plain = !r->line_odd;
    record->repaired = r->count > r->want && !r->format.surplus_ignore;
    if (r->count > r->want) {
        ak_record_split(r, record, r->count - r->want);
        return;
    }
    const char *s = record->raw.s;
    size_t start = 0;
    for (size_t i = 0; i < r->want; i++) {
        record->field[i] = (struct ak_slice){s + start, r->at[i] - start};
        start = r->at[i] + r->delimiter_size;
    }
    if (!r->format.ends)
        record->field[r->want] = (struct ak_slice){s + start, record->raw.n - start};
}

enum ak_event ak_record_of_words(struct ak_reader *r, const char *buf, struct ak_record *record) {
    struct ak_slice raw = ak_slice_of(r, buf, r->line_at, r->line_text);
    size_t i = 0, fields = 0;
    for (;;) {
        while (i < raw.n && (raw.s[i] == ' ' || raw.s[i] == '\t'))
            i++;
        if (i == raw.n)
            break;
        size_t start = i;
        while (i < raw.n && raw.s[i] != ' ' && raw.s[i] != '\t')
            i++;
        if (fields < r->columns)
            record->field[fields] = (struct ak_slice){raw.s + start, i - start};
        fields++;
    }
    if (fields < r->columns || (fields > r->columns && !r->format.surplus_ignore))
        return ak_record_broken(r, record, r->line, raw, AK_COUNTED, fields);
    record->line = r->line;
    record->raw = raw;
    record->plain = !r->line_odd;
    record->repaired = false;
    return AK_RECORD;
}
