/* aside.c - what is kept of a text that could not be read. */
#include "aside.h"
#include "fields.h"

#include <stdio.h>
#include <string.h>

#define AK_NAME 256 /* no job has a longer one */

static bool begins(struct ak_slice s, const char *word, size_t n) {
    return n && s.n >= n && memcmp(s.s, word, n) == 0;
}

/* What stands behind a column of the text, counted from 0. */
static const char *behind(const struct ak_format *format, int column, size_t *size) {
    static const char between[] = {AK_PACK};
    bool packed = column + 1 < format->packed;
    *size = packed ? sizeof between : strlen(format->delimiter);
    return packed ? between : format->delimiter;
}

/* Whether the columns before `submitted` that name the job do so. A line of a user's command line with
 * delimiters in it looks as if it had columns, too. Everybody knows what stands between packed ones, so one
 * of the times must have the seal. */
static bool names_a_job(const struct ak_layout *layout, const struct ak_format *format, const char *seal,
                        struct ak_slice raw) {
    const size_t sealed = strlen(seal);
    bool proven = !format->packed || !sealed;
    int named = 0;
    for (int index = 0; index < layout->submitted; index++) {
        size_t size;
        const char *delimiter = behind(format, index, &size);
        struct ak_slice field = {raw.s, 0};
        while (field.n < raw.n &&
               !begins((struct ak_slice){raw.s + field.n, raw.n - field.n}, delimiter, size))
            field.n++;
        if (field.n == raw.n)
            return false;
        char room[AK_NAME + AK_PADDING] = {0}; /* the readers look behind the end */
        struct ak_cell cell[7] = {0};
        enum ak_kind kind = layout->kind[index];
        if (kind == AK_TIME && sealed && field.n > sealed)
            proven = proven || memcmp(field.s + field.n - sealed, seal, sealed) == 0;
        if (kind == AK_JOBID || kind == AK_RAWID) {
            if (field.n > AK_NAME)
                return false;
            memcpy(room, field.s, field.n);
            struct ak_slice copy = {room, field.n};
            if ((kind == AK_JOBID ? ak_jobid(copy, cell) : ak_rawid(copy, cell)) != AK_FINE)
                return false;
            named++;
        }
        raw.s += field.n + size;
        raw.n -= field.n + size;
    }
    return named > 0 && proven;
}

struct ak_slice ak_aside(const struct ak_layout *layout, const struct ak_format *format, const char *seal,
                         struct ak_slice raw, char room[AK_MAX_RAW]) {
    const size_t sealed = strlen(seal);
    size_t n = 0, delimiter;
    int columns = 0;
    bool cut = layout->submitted < 0;
    if (cut && !sealed)
        return raw;
    if (!cut && !names_a_job(layout, format, seal, raw)) {
        n = (size_t)snprintf(room, AK_MAX_RAW, "(%zu bytes, not stored)", raw.n);
        return (struct ak_slice){room, n};
    }
    for (struct ak_slice s = raw; s.n && n < AK_MAX_RAW;) {
        size_t step = 1;
        const char *mark = behind(format, columns, &delimiter);
        if (begins(s, mark, delimiter)) {
            step = delimiter;
            if (++columns == layout->submitted) {
                cut = true;
                break;
            }
            if (sealed) {
                room[n++] = AK_ASIDE;
            } else {
                size_t fits = delimiter < AK_MAX_RAW - n ? delimiter : AK_MAX_RAW - n;
                memcpy(room + n, s.s, fits);
                n += fits;
            }
        } else if (begins(s, seal, sealed)) {
            step = sealed;
        } else {
            room[n++] = *s.s;
        }
        s.s += step;
        s.n -= step;
    }
    return (struct ak_slice){room, n};
}
