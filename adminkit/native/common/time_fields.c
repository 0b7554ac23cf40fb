/* time_fields.c - points in time. Local time is worked out from a zone's offsets, an hour at a time. */
#include "fields.h"

#define DATE ((size_t)19)       /* characters of YYYY-MM-DDTHH:MM:SS */
#define LAST_EPOCH 253402300799 /* 9999-12-31T23:59:59Z */

static int64_t days_since_1970(int year, int month, int day) {
    year -= month <= 2;
    int era = year / 400, of_era = year - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (int64_t)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* `n` digits at p, or -1. */
static int fixed(const char *p, int n) {
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (!ak_digit(p[i]))
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

/* What stands behind a date and time: Z, +01, +0100 or +01:00, perhaps after a blank, in seconds east of UTC.
 */
static bool offset_of(struct ak_slice s, int64_t *east) {
    const char *p = s.s;
    size_t n = s.n;
    if (n && *p == ' ')
        p++, n--;
    if (n == 1 && (*p == 'Z' || *p == 'z')) {
        *east = 0;
        return true;
    }
    if ((n != 3 && n != 5 && n != 6) || (*p != '+' && *p != '-') || (n == 6 && p[3] != ':'))
        return false;
    int hours = fixed(p + 1, 2), minutes = n == 3 ? 0 : fixed(p + n - 2, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *east = (hours * 3600 + minutes * 60) * (*p == '-' ? -1 : 1);
    return true;
}

/* YYYY-MM-DD[T ]HH:MM:SS as if it were UTC. */
static bool calendar(struct ak_slice s, int64_t *local) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *p = s.s;
    if (s.n != 19 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != ' ') || p[13] != ':' ||
        p[16] != ':')
        return false;
    int year = fixed(p, 4), month = fixed(p + 5, 2), day = fixed(p + 8, 2);
    int hour = fixed(p + 11, 2), minute = fixed(p + 14, 2), second = fixed(p + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || hour < 0 || minute < 0 || second < 0)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > lengths[month - 1] + (month == 2 && leap) || hour > 23 || minute > 59 || second > 59)
        return false;
    *local = days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

/* How often `local` occurs in the zone: 0, 1 or 2 times; *offset is that of the first, *second of the last.
 * -1: the zone does not say. */
static int occurs(const struct ak_zone *zone, int64_t local, int64_t *offset, int64_t *second) {
    int64_t before, after, there;
    if (!zone->offset(zone->context, local - 86400, &before) ||
        !zone->offset(zone->context, local + 86400, &after))
        return -1;
    int64_t east = before > after ? before : after, west = before > after ? after : before;
    bool early = zone->offset(zone->context, local - east, &there) && there == east;
    bool late = east != west && zone->offset(zone->context, local - west, &there) && there == west;
    *offset = early ? east : west;
    *second = late ? west : east;
    return early + late;
}

/* Counts it, and keeps both meanings for ak_settle(). */
static void occurs_twice(struct ak_rows *rows, const struct ak_cell *out, int64_t earlier, int64_t later) {
    rows->ambiguous++;
    if (rows->twices == AK_MAX_TWICE || earlier <= 0)
        return;
    rows->twice_at[rows->twices] = (int)(out - rows->cell);
    rows->twice[rows->twices][0] = earlier;
    rows->twice[rows->twices++][1] = later;
}

enum ak_fault ak_epoch(struct ak_slice s, struct ak_cell *out) {
    int64_t epoch;
    enum ak_fault fault = ak_count(s, &epoch);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    if (epoch == 0)
        return AK_UNKNOWN;
    if (epoch > LAST_EPOCH)
        return AK_TOO_LARGE;
    ak_set_int(out, epoch);
    return AK_FINE;
}

enum ak_fault ak_time(struct ak_slice s, struct ak_rows *rows, struct ak_cell *out) {
    int64_t local, offset, second, last;
    if (rows->seal.n) {
        size_t digits = s.n - rows->seal.n;
        if (ak_unknown(s))
            return AK_UNKNOWN;
        if (s.n <= rows->seal.n || memcmp(s.s + digits, rows->seal.s, rows->seal.n) != 0)
            return AK_UNSEALED;
        s.n = digits;
        if (!ak_digit(*s.s) || (s.n > 4 && s.s[4] == '-'))
            return AK_MALFORMED;
    }
    if (s.n && ak_digit(*s.s) && (s.n < 5 || s.s[4] != '-'))
        return ak_epoch(s, out);
    if (ak_unknown(s))
        return AK_UNKNOWN;
    struct ak_slice date = {s.s, s.n < DATE ? s.n : DATE};
    if (!calendar(date, &local))
        return AK_MALFORMED;
    if (s.n > DATE) {
        if (!offset_of((struct ak_slice){s.s + DATE, s.n - DATE}, &offset))
            return AK_MALFORMED;
        if (local - offset > LAST_EPOCH)
            return AK_TOO_LARGE;
        if (local - offset <= 0)
            return AK_UNKNOWN;
        ak_set_int(out, local - offset);
        return AK_FINE;
    }
    if (!rows->zone)
        return AK_NO_ZONE;
    int64_t hour = local / 3600;
    size_t slot = (size_t)hour % AK_HOURS;
    if (!rows->hours[slot].known || rows->hours[slot].hour != hour) {
        int times = occurs(rows->zone, local, &offset, &second);
        if (times <= 0)
            return AK_NO_SUCH_TIME;
        if (times == 2)
            occurs_twice(rows, out, local - offset, local - second);
        /* The whole hour is remembered where it has one offset from end to end. */
        if (times == 1 && occurs(rows->zone, hour * 3600, &last, &second) == 1 && last == offset &&
            occurs(rows->zone, hour * 3600 + 3599, &last, &second) == 1 && last == offset) {
            rows->hours[slot].hour = hour;
            rows->hours[slot].offset = (int32_t)offset;
            rows->hours[slot].known = true;
        }
    } else {
        offset = rows->hours[slot].offset;
    }
    if (local - offset <= 0)
        return AK_UNKNOWN;
    ak_set_int(out, local - offset);
    return AK_FINE;
}
