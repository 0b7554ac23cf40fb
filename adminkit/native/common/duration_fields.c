/* duration_fields.c - lengths of time: clocks and limits. */
#include "fields.h"

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
        if (ak_fraction(&p, end, &clock->fraction, &clock->scale))
            return AK_MALFORMED;
    }
    if (p != end)
        return AK_MALFORMED;
    return fault || lead > 1000000000000 ? AK_TOO_LARGE : AK_FINE;
}

enum ak_fault ak_duration(struct ak_slice s, struct ak_clock *clock, int64_t *seconds) {
    uint64_t number;
    if (!ak_number(s, &number) && ak_unset(number))
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

/* A duration in a column of its own, where the words for unknown may stand. */
static enum ak_fault column_duration(struct ak_slice s, struct ak_clock *clock, int64_t *seconds) {
    enum ak_fault fault = ak_duration(s, clock, seconds);
    return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
}

enum ak_fault ak_seconds(struct ak_slice s, struct ak_cell *out) {
    struct ak_clock clock;
    int64_t seconds;
    enum ak_fault fault = column_duration(s, &clock, &seconds);
    if (!fault)
        ak_set_int(out, seconds);
    return fault;
}

enum ak_fault ak_cputime(struct ak_slice s, struct ak_cell *out) {
    struct ak_clock clock;
    int64_t seconds;
    enum ak_fault fault = column_duration(s, &clock, &seconds);
    if (!fault)
        ak_set_real(out, (double)seconds + (double)clock.fraction / clock.scale);
    return fault;
}

enum ak_fault ak_limit(struct ak_slice s, struct ak_cell out[2]) {
    struct ak_clock clock;
    uint64_t number = 0;
    bool plain = !ak_number(s, &number);
    ak_set_text(&out[1], "unknown", 7);
    if (AK_IS(s, "UNLIMITED") || AK_IS(s, "INFINITE") ||
        (plain && (number == AK_INFINITE || number == UINT64_MAX))) {
        ak_set_text(&out[1], "unlimited", 9);
        return AK_FINE;
    }
    if (AK_IS(s, "Partition_Limit") || (plain && (number == AK_NO_VAL || number == AK_NO_VAL64))) {
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
