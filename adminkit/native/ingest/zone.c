/* zone.c - a time zone by its name, from the C library. */
#include "zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool local_offset(void *context, int64_t epoch, int64_t *seconds) {
    (void)context;
    time_t t = (time_t)epoch;
    struct tm tm;
    if (!localtime_r(&t, &tm))
        return false;
    *seconds = tm.tm_gmtoff;
    return true;
}

/* Trap: the C library takes an unknown zone for UTC without a word. */
bool ak_zone_set(struct ak_zone *zone, const char *name, char *error, size_t error_size) {
    const char *folder = getenv("TZDIR") ? getenv("TZDIR") : "/usr/share/zoneinfo";
    char path[512];
    if (*name == '/' || *name == '\0' || strstr(name, "..") ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        (strcmp(name, "UTC") != 0 && access(path, R_OK) != 0)) {
        snprintf(error, error_size, "no such time zone: %s (%s has no readable file of that name)", name,
                 folder);
        return false;
    }
    if (setenv("TZ", name, 1) != 0) {
        snprintf(error, error_size, "couldn't set the time zone");
        return false;
    }
    tzset();
    zone->offset = local_offset;
    return true;
}
