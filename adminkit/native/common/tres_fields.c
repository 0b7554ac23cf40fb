/* tres_fields.c - TRES and GRES lists, and what a step used of them. */
#include "fields.h"

#include <string.h>

#define MAX_TYPES 8

/* Splits off the part before `c`, or all of it. False where nothing is left. */
static bool next_part(struct ak_slice *rest, char c, struct ak_slice *part) {
    if (!rest->s)
        return false;
    const char *cut = rest->n ? memchr(rest->s, c, rest->n) : NULL;
    part->s = rest->s;
    part->n = cut ? (size_t)(cut - rest->s) : rest->n;
    rest->s = cut ? cut + 1 : NULL;
    rest->n = cut ? rest->n - part->n - 1 : 0;
    return true;
}

struct gpus {
    int64_t all, typed;
    bool has_all;
    struct ak_slice type[MAX_TYPES];
    int types;
};

static int compare(struct ak_slice a, struct ak_slice b) {
    int order = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Counts `count` GPUs of `type`, keeping the types sorted and single. */
static enum ak_fault add_type(struct gpus *gpus, struct ak_slice type, int64_t count) {
    if (__builtin_add_overflow(gpus->typed, count, &gpus->typed))
        return AK_TOO_LARGE;
    if (count == 0)
        return AK_FINE;
    int place = 0, order = 1;
    while (place < gpus->types && (order = compare(type, gpus->type[place])) > 0)
        place++;
    if (place < gpus->types && order == 0)
        return AK_FINE;
    if (gpus->types == MAX_TYPES)
        return AK_TOO_LARGE;
    memmove(&gpus->type[place + 1], &gpus->type[place], sizeof type * (size_t)(gpus->types - place));
    gpus->type[place] = type;
    gpus->types++;
    return AK_FINE;
}

static void set_types(const struct gpus *gpus, struct ak_cell *out, char *scratch, size_t *used) {
    if (gpus->types == 0)
        return;
    if (gpus->types == 1) {
        ak_set_text(out, gpus->type[0].s, gpus->type[0].n);
        return;
    }
    char *start = scratch + *used, *p = start;
    for (int i = 0; i < gpus->types; i++) {
        if (i)
            *p++ = '+';
        memcpy(p, gpus->type[i].s, gpus->type[i].n);
        p += gpus->type[i].n;
    }
    ak_set_text(out, start, (size_t)(p - start));
    *used += (size_t)(p - start);
}

/* A count into `out`; unset ones leave it alone. */
static enum ak_fault set_count(struct ak_slice value, struct ak_cell *out) {
    int64_t count;
    enum ak_fault fault = ak_count(value, &count);
    if (!fault)
        ak_set_int(out, count);
    return fault == AK_UNKNOWN ? AK_FINE : fault;
}

static enum ak_fault set_size(struct ak_slice value, int shift, int64_t most, struct ak_cell *out) {
    int64_t bytes;
    enum ak_fault fault = ak_size(value, shift, &bytes);
    if (!fault && bytes <= most)
        ak_set_int(out, bytes);
    return fault == AK_UNKNOWN ? AK_FINE : fault;
}

/* key=value into its halves. */
static bool halves(struct ak_slice item, struct ak_slice *key, struct ak_slice *value) {
    *value = item;
    return next_part(value, '=', key) && value->s && key->n;
}

/* A count at *p that ends with its item; *p moves behind it. AK_UNKNOWN: one of Slurm's numbers for "unset".
 */
static inline enum ak_fault item_count(const char **p, const char *end, int64_t *count) {
    uint64_t number;
    enum ak_fault fault = ak_digits(p, end, &number);
    if (fault == AK_MALFORMED || (*p < end && **p != ','))
        return AK_MALFORMED;
    return fault ? fault : ak_as_count(number, count);
}

/* A whole item into `item`; *p moves behind it. */
static void whole_item(const char **p, const char *end, struct ak_slice *item) {
    const char *start = *p;
    while (*p < end && **p != ',')
        ++*p;
    *item = (struct ak_slice){start, (size_t)(*p - start)};
}

/* gres/gpu:TYPE=COUNT, from TYPE on. */
static enum ak_fault typed_item(const char **p, const char *end, struct gpus *gpus) {
    const char *start = *p;
    int64_t count;
    while (*p < end && **p != ',' && **p != '=')
        ++*p;
    struct ak_slice type = {start, (size_t)(*p - start)};
    if (type.n == 0 || *p == end || **p != '=')
        return AK_MALFORMED;
    ++*p;
    enum ak_fault fault = item_count(p, end, &count);
    return fault ? fault : add_type(gpus, type, count);
}

enum ak_fault ak_tres(struct ak_slice s, struct ak_cell out[7], char *scratch, size_t *used) {
    struct gpus gpus = {0};
    const char *p = s.s, *end = s.s + s.n;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    for (;; p++) {
        struct ak_slice left = {p, (size_t)(end - p)}, item, key, value;
        enum ak_fault fault = AK_FINE;
        int64_t count;
        int to = -1;
        if (AK_STARTS(left, "cpu=")) {
            to = 0, p += 4;
        } else if (AK_STARTS(left, "mem=")) {
            p += 4;
            whole_item(&p, end, &item);
            fault = set_size(item, 20, AK_MAX_MEMORY - 1, &out[1]);
        } else if (AK_STARTS(left, "node=")) {
            to = 2, p += 5;
        } else if (AK_STARTS(left, "energy=")) {
            to = 5, p += 7;
        } else if (AK_STARTS(left, "billing=")) {
            to = 6, p += 8;
        } else if (AK_STARTS(left, "gres/gpu=")) {
            p += 9;
            fault = item_count(&p, end, &count);
            if (!fault)
                gpus.has_all = true, gpus.all = count;
        } else if (AK_STARTS(left, "gres/gpu:")) {
            p += 9;
            fault = typed_item(&p, end, &gpus);
        } else {
            whole_item(&p, end, &item);
            if (!halves(item, &key, &value))
                return AK_MALFORMED;
        }
        if (to >= 0) {
            fault = item_count(&p, end, &count);
            if (!fault)
                ak_set_int(&out[to], count);
        }
        if (fault && fault != AK_UNKNOWN)
            return fault;
        if (p == end)
            break;
    }
    ak_set_int(&out[3], gpus.has_all ? gpus.all : gpus.typed);
    set_types(&gpus, &out[4], scratch, used);
    return AK_FINE;
}

/* gpu, gpu:2, gpu:a100, gpu:a100:2; what is in brackets at the end is cut off before. */
static enum ak_fault gpu_item(struct ak_slice item, struct gpus *gpus) {
    struct ak_slice name = {0}, first = {0}, second = {0};
    int64_t count = 1;
    enum ak_fault fault;
    next_part(&item, ':', &name);
    if (name.n == 0)
        return AK_MALFORMED;
    if (!AK_IS(name, "gpu"))
        return AK_FINE;
    if (!next_part(&item, ':', &first))
        return __builtin_add_overflow(gpus->typed, 1, &gpus->typed) ? AK_TOO_LARGE : AK_FINE;
    if (first.n == 0)
        return AK_MALFORMED;
    if (next_part(&item, ':', &second)) {
        fault = ak_count(second, &count);
        if (item.s)
            return AK_MALFORMED;
        return fault ? fault : add_type(gpus, first, count);
    }
    fault = ak_count(first, &count);
    if (fault == AK_MALFORMED)
        return add_type(gpus, first, 1);
    if (!fault && __builtin_add_overflow(gpus->typed, count, &gpus->typed))
        fault = AK_TOO_LARGE;
    return fault;
}

enum ak_fault ak_gres(struct ak_slice s, struct ak_cell out[2], char *scratch, size_t *used) {
    struct gpus gpus = {0};
    if (ak_unknown(s))
        return AK_UNKNOWN;
    for (size_t i = 0; i <= s.n;) {
        size_t start = i, end;
        while (i < s.n && s.s[i] != ',' && s.s[i] != '(')
            i++;
        end = i;
        if (i < s.n && s.s[i] == '(') {
            const char *close = memchr(s.s + i, ')', s.n - i);
            if (!close)
                return AK_MALFORMED;
            i = (size_t)(close - s.s) + 1;
            if (i < s.n && s.s[i] != ',')
                return AK_MALFORMED;
        }
        struct ak_slice item = {s.s + start, end - start};
        if (AK_STARTS(item, "gres:") || AK_STARTS(item, "gres/"))
            item = (struct ak_slice){item.s + 5, item.n - 5};
        enum ak_fault fault = gpu_item(item, &gpus);
        if (fault)
            return fault == AK_UNKNOWN ? AK_MALFORMED : fault;
        i++; /* the comma, or past the end */
    }
    ak_set_int(&out[0], gpus.typed);
    set_types(&gpus, &out[1], scratch, used);
    return AK_FINE;
}

enum ak_fault ak_usage(struct ak_slice s, struct ak_cell out[6]) {
    struct ak_slice item, key, value;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    while (next_part(&s, ',', &item)) {
        enum ak_fault fault = AK_FINE;
        if (!halves(item, &key, &value))
            return AK_MALFORMED;
        if (AK_IS(key, "cpu")) {
            struct ak_clock clock;
            int64_t seconds;
            fault = ak_duration(value, &clock, &seconds);
            if (!fault)
                ak_set_real(&out[0], (double)seconds + (double)clock.fraction / clock.scale);
            else if (fault == AK_UNKNOWN)
                fault = AK_FINE;
        } else if (AK_IS(key, "mem")) {
            fault = set_size(value, 0, INT64_MAX, &out[1]);
        } else if (AK_IS(key, "fs/disk")) {
            fault = set_size(value, 0, INT64_MAX, &out[2]);
        } else if (AK_IS(key, "energy")) {
            fault = set_count(value, &out[3]);
        } else if (AK_IS(key, "gres/gpuutil")) {
            fault = set_count(value, &out[4]);
        } else if (AK_IS(key, "gres/gpumem")) {
            fault = set_size(value, 0, INT64_MAX, &out[5]);
        }
        if (fault)
            return fault;
    }
    return AK_FINE;
}
