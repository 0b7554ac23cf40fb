/* tres_ids.c - the names of a site's own TRES, for which slurmdbd's tables have numbers. */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

bool ak_tres_ids_parse(struct ak_tres_ids *ids, const char *text) {
    ids->n = 0;
    for (const char *p = text; *p; p += *p == ',') {
        const char *end = p + strcspn(p, ",");
        size_t digits = strspn(p, "0123456789");
        uint64_t id = strtoull(p, NULL, 10);
        p += digits;
        if (ids->n == AK_MAX_TRES_IDS || digits == 0 || digits > 18 || *p++ != ':' ||
            (ids->n && id <= ids->one[ids->n - 1].id) || (p < end && end[-1] != '='))
            return false;
        ids->one[ids->n].id = id;
        ids->one[ids->n++].name = (struct ak_slice){p, (size_t)(end - p)};
        p = end;
    }
    return true;
}

const struct ak_slice *ak_tres_name(const struct ak_tres_ids *ids, struct ak_slice key) {
    uint64_t id;
    if (!ids || ak_number(key, &id))
        return NULL;
    for (int low = 0, high = ids->n; low < high;) {
        int middle = (low + high) / 2;
        if (ids->one[middle].id == id)
            return &ids->one[middle].name;
        if (ids->one[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
