/* aside.h - what is kept of a text that could not be read: the same text of the same job each time, without
 * what was drawn by lot for one answer, and nothing of anybody's command line. */
#ifndef ADMINKIT_ASIDE_H
#define ADMINKIT_ASIDE_H

#include "header.h"

#define AK_MAX_RAW 65536
#define AK_ASIDE '\x1f' /* stands for the delimiter of a sealed answer */

/* `raw` itself, or a copy in `room`: with a seal its delimiters are AK_ASIDE and its seals are gone; where
 * the text has a `submitted` column only the columns before it are there, and of a text where these do not
 * name a job (jobid and rawid columns, one at least) nothing but its length. */
struct ak_slice ak_aside(const struct ak_layout *layout, const struct ak_format *format, const char *seal,
                         struct ak_slice raw, char room[AK_MAX_RAW]);

#endif
