/* number_fields.c - numbers, sizes, and the words for unknown. */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

bool ak_unknown(struct ak_slice s) {
    switch (s.n) {
    case 0:
        return true;
    case 1:
        return *s.s == '?';
    case 3:
        return AK_IS(s, "N/A");
    case 4:
        return AK_IS(s, "None");
    case 6:
        return AK_IS(s, "(null)");
    case 7:
        return AK_IS(s, "Unknown") || AK_IS(s, "INVALID");
    case 13:
        return AK_IS(s, "None assigned");
    default:
        return false;
    }
}

static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

enum ak_fault ak_digits_long(const char **p, const char *end, uint64_t *value) {
    const char *q = *p;
    uint64_t v = 0;
    bool over = false;
    unsigned n;
    do {
        uint64_t x = ak_load(q);
        n = ak_leading(x, (size_t)(end - q));
        if (n == 0)
            break;
        uint64_t head = ak_eight(x, n);
        if (v < 100000000000u)
            v = v * powers[n] + head;
        else
            over |= __builtin_mul_overflow(v, powers[n], &v) || __builtin_add_overflow(v, head, &v);
        q += n;
    } while (n == 8);
    *p = q;
    *value = v;
    return over ? AK_TOO_LARGE : AK_FINE;
}

enum ak_fault ak_count(struct ak_slice s, int64_t *value) {
    uint64_t v;
    enum ak_fault fault = ak_number(s, &v);
    return fault ? fault : ak_as_count(v, value);
}

enum ak_fault ak_int(struct ak_slice s, struct ak_cell *out) {
    if (s.n - 1 < 7) { /* most are this short */
        uint64_t x = ak_load(s.s);
        if (ak_leading(x, s.n) == s.n) {
            ak_set_int(out, ak_eight(x, (unsigned)s.n));
            return AK_FINE;
        }
    }
    bool minus = s.n && *s.s == '-';
    int64_t value;
    enum ak_fault fault = ak_count(minus ? (struct ak_slice){s.s + 1, s.n - 1} : s, &value);
    if (fault == AK_MALFORMED && ak_unknown(s))
        return AK_UNKNOWN;
    if (fault == AK_UNKNOWN && minus)
        return AK_TOO_LARGE;
    uint64_t number;
    if (fault == AK_TOO_LARGE && !ak_number(s, &number))
        return AK_UNKNOWN; /* 64 bits that were below 0, as of a counter that started again */
    if (fault)
        return fault;
    if (minus && (value == 1 || value == 2))
        return AK_UNKNOWN;
    ak_set_int(out, minus ? -value : value);
    return AK_FINE;
}

enum ak_fault ak_serial(struct ak_slice s, struct ak_cell *out) {
    uint64_t value;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    enum ak_fault fault = ak_number(s, &value);
    if (fault)
        return fault;
    if (ak_unset(value))
        return AK_UNKNOWN;
    ak_set_int(out, (int64_t)value);
    return AK_FINE;
}

/* [-]digits[.digits][e[+-]digits] */
static enum ak_fault decimal(struct ak_slice s, double *value, bool *whole) {
    const char *p = s.s, *end = s.s + s.n;
    char copy[512];
    p += p < end && *p == '-';
    const char *start = p;
    while (p < end && ak_digit(*p))
        p++;
    if (p == start)
        return AK_MALFORMED;
    *whole = p == end;
    if (p < end && *p == '.') {
        start = ++p;
        while (p < end && ak_digit(*p))
            p++;
        if (p == start)
            return AK_MALFORMED;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        start = p;
        while (p < end && ak_digit(*p))
            p++;
        if (p == start)
            return AK_MALFORMED;
    }
    if (p != end)
        return AK_MALFORMED;
    if (s.n >= sizeof copy)
        return AK_TOO_LARGE;
    memcpy(copy, s.s, s.n);
    copy[s.n] = '\0';
    *value = strtod(copy, NULL);
    return *value - *value != 0 ? AK_TOO_LARGE : AK_FINE;
}

enum ak_fault ak_real(struct ak_slice s, struct ak_cell *out) {
    double value;
    bool whole;
    uint64_t number;
    enum ak_fault fault = decimal(s, &value, &whole);
    if ((fault == AK_MALFORMED && ak_unknown(s)) || (!fault && !ak_number(s, &number) && ak_unset(number)))
        return AK_UNKNOWN;
    if (!fault)
        ak_set_real(out, value);
    return fault;
}

enum ak_fault ak_swf(struct ak_slice s, struct ak_cell *out) {
    double value;
    bool whole, minus = s.n && *s.s == '-';
    uint64_t number;
    enum ak_fault fault = decimal(s, &value, &whole);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    if (value == -1)
        return AK_UNKNOWN;
    if (!whole) {
        ak_set_real(out, value);
        return AK_FINE;
    }
    if (ak_number(minus ? (struct ak_slice){s.s + 1, s.n - 1} : s, &number) || number > INT64_MAX)
        return AK_TOO_LARGE;
    ak_set_int(out, minus ? -(int64_t)number : (int64_t)number);
    return AK_FINE;
}

enum ak_fault ak_fraction(const char **p, const char *end, uint32_t *value, uint32_t *scale) {
    const char *q = *p;
    *value = 0;
    *scale = 1;
    if (q == end || !ak_digit(*q))
        return AK_MALFORMED;
    for (; q < end && ak_digit(*q); q++) {
        if (*scale == 1000000000)
            return AK_MALFORMED;
        *value = *value * 10 + (uint32_t)(*q - '0');
        *scale *= 10;
    }
    *p = q;
    return AK_FINE;
}

/* Digits, or groups of three of them between commas: 1,024. */
static enum ak_fault grouped(const char **p, const char *end, uint64_t *value) {
    const char *start = *p;
    enum ak_fault fault = ak_digits(p, end, value);
    if (fault || *p - start > 3)
        return fault;
    bool over = false;
    while (*p < end && **p == ',') {
        uint64_t group = 0;
        start = ++*p;
        if (ak_digits(p, end, &group) || *p - start != 3)
            return AK_MALFORMED;
        over |= __builtin_mul_overflow(*value, 1000, value) || __builtin_add_overflow(*value, group, value);
    }
    return over ? AK_TOO_LARGE : AK_FINE;
}

enum ak_fault ak_size(struct ak_slice s, int shift, int64_t *bytes) {
    static const char units[] = "KMGTPE?"; /* Slurm has no letter behind P, and writes 2^64 bytes as "16?" */
    const char *p = s.s, *end = s.s + s.n;
    uint64_t whole, part = 0;
    uint32_t rest = 0, scale = 1;
    enum ak_fault fault = grouped(&p, end, &whole);
    if (fault == AK_MALFORMED)
        return fault;
    if (p == end) {
        if (!fault && ak_unset(whole))
            return AK_UNKNOWN;
    } else {
        if (*p == '.') {
            p++;
            if (ak_fraction(&p, end, &rest, &scale))
                return AK_MALFORMED;
        }
        const char *unit = p < end ? memchr(units, *p, sizeof units - 1) : NULL;
        if (unit) {
            shift = 10 * (int)(unit - units + 1);
            p++;
        }
        if (p != end)
            return AK_MALFORMED;
    }
    if (fault || shift > 60 || whole > (uint64_t)INT64_MAX >> shift)
        return AK_UNKNOWN;
    uint64_t left = rest;
    for (int done = 0; done < shift; done += 10) {
        left *= 1024;
        part = part * 1024 + left / scale;
        left %= scale;
    }
    *bytes = (int64_t)((whole << shift) + part);
    return AK_FINE;
}

enum ak_fault ak_mem(struct ak_slice s, struct ak_cell *out) {
    int64_t bytes;
    enum ak_fault fault = ak_size(s, 0, &bytes);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    ak_set_int(out, bytes);
    return AK_FINE;
}

enum ak_fault ak_reqmem(struct ak_slice s, struct ak_cell out[2]) {
    int64_t bytes;
    char per = s.n ? s.s[s.n - 1] : '\0';
    bool has_per = per == 'c' || per == 'n';
    enum ak_fault fault = ak_size((struct ak_slice){s.s, s.n - has_per}, 0, &bytes);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    if (bytes >= AK_MAX_MEMORY)
        return AK_UNKNOWN;
    ak_set_int(&out[0], bytes);
    if (has_per)
        ak_set_text(&out[1], s.s + s.n - 1, 1);
    return AK_FINE;
}
