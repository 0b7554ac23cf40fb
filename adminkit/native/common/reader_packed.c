/* reader_packed.c - columns that no user can write into, with one byte between them. */
#include "reader.h"

#include <string.h>

bool ak_may_pack(const struct ak_spec *spec, const struct ak_format *format) {
    if (format->packed < 0 || format->packed > spec->columns || (format->packed && format->space) ||
        (format->packed && strchr(format->delimiter, AK_PACK)))
        return false;
    for (int i = 0; i < format->packed; i++)
        if (ak_is_free(spec->column[i].kind))
            return false;
    return true;
}

/* The packed columns of a record that was split, each into its own field. False: `columns` are not those of
 * the spec. */
static bool unpack(const struct ak_reader *r, struct ak_record *record, size_t *columns) {
    const char *start = record->field[0].s, *end = start + record->field[0].n, *p;
    memmove(record->field + r->more + 1, record->field + 1, (r->columns - 1) * sizeof *record->field);
    size_t seen = 0;
    while ((p = memchr(start, AK_PACK, (size_t)(end - start)))) {
        if (seen < r->more)
            record->field[seen] = (struct ak_slice){start, (size_t)(p - start)};
        seen++;
        start = p + 1;
    }
    record->field[r->more] = (struct ak_slice){start, (size_t)(end - start)};
    *columns = r->columns + seen;
    return seen == r->more;
}

enum ak_event ak_reader_next(struct ak_reader *r, const char *buf, size_t len, bool eof,
                             struct ak_record *record) {
    uint64_t before = r->bytes_records;
    size_t columns;
    enum ak_event event = ak_reader_event(r, buf, len, eof, record);
    if (event != AK_RECORD || r->more == 0 || unpack(r, record, &columns))
        return event;
    r->bytes_broken += r->bytes_records - before;
    r->bytes_records = before;
    return ak_record_broken(r, record, record->line, record->raw, AK_COUNTED, columns);
}
