/* aside.c - what is kept of a text that could not be read. */
#include "aside.h"

#include <stdio.h>
#include <string.h>

static bool begins(struct ak_slice s, const char *word, size_t n) {
    return n && s.n >= n && memcmp(s.s, word, n) == 0;
}

struct ak_slice ak_aside(const struct ak_spec *spec, const struct ak_format *format, const char *seal,
                         struct ak_slice raw, char room[AK_MAX_RAW]) {
    const size_t delimiter = strlen(format->delimiter), sealed = strlen(seal);
    size_t n = 0, columns = 0;
    bool cut = spec->submitted < 0;
    if (cut && !sealed)
        return raw;
    for (struct ak_slice s = raw; s.n && n < AK_MAX_RAW;) {
        size_t step = 1;
        if (begins(s, format->delimiter, delimiter)) {
            step = delimiter;
            if ((int)++columns == spec->submitted) {
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
    if (!cut && spec->submitted > 0)
        n = (size_t)snprintf(room, AK_MAX_RAW, "(%zu bytes, not kept)", raw.n);
    return (struct ak_slice){room, n};
}
