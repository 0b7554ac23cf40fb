/* zone.h - a time zone by its name, from the C library. */
#ifndef ADMINKIT_ZONE_H
#define ADMINKIT_ZONE_H

#include "sacct.h"

/* Makes `name` the zone of the whole process. False: `error` is a sentence. */
bool ak_zone_set(struct ak_zone *zone, const char *name, char *error, size_t error_size);

#endif
