/* scalar_fields.c - numbers, sizes, durations and limits. */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

#define NO_VAL 4294967294u
#define INFINITE 4294967295u
#define NO_VAL64 (UINT64_MAX - 1)
#define MAX_MEMORY ((int64_t)1 << 51) /* 2^31 MiB */

static bool unset(uint64_t value) {
    return value == NO_VAL || value == INFINITE || value >= NO_VAL64;
}

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

enum ak_fault ak_as_count(uint64_t number, int64_t *count) {
    if (unset(number))
        return AK_UNKNOWN;
    if (number > INT64_MAX)
        return AK_TOO_LARGE;
    *count = (int64_t)number;
    return AK_FINE;
}

enum ak_fault ak_number(struct ak_slice s, uint64_t *value) {
    const char *p = s.s, *end = s.s + s.n;
    enum ak_fault fault = ak_digits(&p, end, value);
    return p != end ? AK_MALFORMED : fault;
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
    if (unset(value))
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
    if ((fault == AK_MALFORMED && ak_unknown(s)) || (!fault && !ak_number(s, &number) && unset(number)))
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

/* Up to nine digits after a point. */
static enum ak_fault fraction(const char **p, const char *end, uint32_t *value, uint32_t *scale) {
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

enum ak_fault ak_size(struct ak_slice s, int shift, int64_t *bytes) {
    static const char units[] = "KMGTPE";
    const char *p = s.s, *end = s.s + s.n;
    uint64_t whole, part = 0;
    uint32_t rest = 0, scale = 1;
    enum ak_fault fault = ak_digits(&p, end, &whole);
    if (fault == AK_MALFORMED)
        return fault;
    if (p == end) {
        if (!fault && unset(whole))
            return AK_UNKNOWN;
    } else {
        if (*p == '.') {
            p++;
            if (fraction(&p, end, &rest, &scale))
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
    if (fault || whole > (uint64_t)INT64_MAX >> shift)
        return AK_TOO_LARGE;
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
    if (bytes >= MAX_MEMORY)
        return AK_UNKNOWN;
    ak_set_int(&out[0], bytes);
    if (has_per)
        ak_set_text(&out[1], s.s + s.n - 1, 1);
    return AK_FINE;
}

enum ak_fault ak_clock_read(struct ak_slice s, struct ak_clock *clock) {
    const char *p = s.s, *end = s.s + s.n;
    uint64_t lead;
    enum ak_fault fault = ak_digits(&p, end, &lead);
    if (fault == AK_MALFORMED)
        return fault;
    *clock = (struct ak_clock){.parts = 1, .scale = 1};
    if (p < end && *p == '-') {
        clock->has_days = true;
        clock->days = lead;
        const char *hours = ++p;
        if (ak_digits(&p, end, &clock->part[0]) || p - hours > 2 || clock->part[0] > 23)
            return AK_MALFORMED;
    } else {
        clock->part[0] = lead;
    }
    while (p < end && *p == ':') {
        if (clock->parts == 3 || end - p < 3 || !ak_digit(p[1]) || !ak_digit(p[2]) || p[1] > '5')
            return AK_MALFORMED;
        clock->part[clock->parts++] = (uint64_t)((p[1] - '0') * 10 + (p[2] - '0'));
        p += 3;
    }
    if (p < end && *p == '.') {
        p++;
        if (fraction(&p, end, &clock->fraction, &clock->scale))
            return AK_MALFORMED;
    }
    if (p != end)
        return AK_MALFORMED;
    return fault || lead > 1000000000000 ? AK_TOO_LARGE : AK_FINE;
}

enum ak_fault ak_duration(struct ak_slice s, struct ak_clock *clock, int64_t *seconds) {
    uint64_t number;
    if (!ak_number(s, &number) && unset(number))
        return AK_UNKNOWN;
    enum ak_fault fault = ak_clock_read(s, clock);
    if (fault == AK_MALFORMED || (clock->has_days && clock->parts != 3))
        return AK_MALFORMED;
    if (fault)
        return fault;
    uint64_t total = 0;
    for (int i = 0; i < clock->parts; i++)
        total = total * 60 + clock->part[i];
    *seconds = (int64_t)(total + clock->days * 86400);
    return AK_FINE;
}

enum ak_fault ak_seconds(struct ak_slice s, struct ak_cell *out) {
    struct ak_clock clock;
    int64_t seconds;
    enum ak_fault fault = ak_duration(s, &clock, &seconds);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    ak_set_int(out, seconds);
    return AK_FINE;
}

enum ak_fault ak_cputime(struct ak_slice s, struct ak_cell *out) {
    struct ak_clock clock;
    int64_t seconds;
    enum ak_fault fault = ak_duration(s, &clock, &seconds);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    ak_set_real(out, (double)seconds + (double)clock.fraction / clock.scale);
    return AK_FINE;
}

enum ak_fault ak_limit(struct ak_slice s, struct ak_cell out[2]) {
    struct ak_clock clock;
    uint64_t number = 0;
    bool plain = !ak_number(s, &number);
    ak_set_text(&out[1], "unknown", 7);
    if (AK_IS(s, "UNLIMITED") || AK_IS(s, "INFINITE") ||
        (plain && (number == INFINITE || number == UINT64_MAX))) {
        ak_set_text(&out[1], "unlimited", 9);
        return AK_FINE;
    }
    if (AK_IS(s, "Partition_Limit") || (plain && (number == NO_VAL || number == NO_VAL64))) {
        ak_set_text(&out[1], "partition", 9);
        return AK_FINE;
    }
    enum ak_fault fault = ak_clock_read(s, &clock);
    if (fault == AK_MALFORMED && ak_unknown(s))
        return AK_UNKNOWN;
    if (fault == AK_MALFORMED || clock.scale != 1)
        return AK_MALFORMED;
    if (fault)
        return fault;
    /* Without days M, M:S, H:M:S; with them D-H, D-H:M, D-H:M:S. */
    uint64_t seconds = clock.days * 86400;
    if (clock.has_days)
        seconds += clock.part[0] * 3600 + clock.part[1] * 60 + clock.part[2];
    else if (clock.parts == 3)
        seconds += clock.part[0] * 3600 + clock.part[1] * 60 + clock.part[2];
    else
        seconds += clock.part[0] * 60 + clock.part[1];
    if (seconds == 0)
        return AK_UNKNOWN;
    ak_set_int(&out[0], (int64_t)seconds);
    ak_set_text(&out[1], "finite", 6);
    return AK_FINE;
}

enum ak_fault ak_exit(struct ak_slice s, struct ak_cell out[2]) {
    if (s.n == 3 && ak_digit(s.s[0]) && s.s[1] == ':' && ak_digit(s.s[2])) { /* most are 0:0 */
        ak_set_int(&out[0], s.s[0] - '0');
        ak_set_int(&out[1], s.s[2] - '0');
        return AK_FINE;
    }
    const char *colon = s.n ? memchr(s.s, ':', s.n) : NULL;
    size_t head = colon ? (size_t)(colon - s.s) : s.n;
    int64_t code, signal;
    enum ak_fault fault = ak_count((struct ak_slice){s.s, head}, &code);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    if (colon) {
        fault = ak_count((struct ak_slice){colon + 1, s.n - head - 1}, &signal);
        if (fault)
            return fault;
        ak_set_int(&out[1], signal);
    }
    ak_set_int(&out[0], code);
    return AK_FINE;
}
