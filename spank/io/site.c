/* site.c - see site.h. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads NAME=N of that range; false: it is another word, or another number. */
static bool read_seconds(const char *word, const char *name, long min, long max, long *value) {
    size_t length = strlen(name);
    if (strncmp(word, name, length) != 0)
        return false;
    const char *text = word + length;
    size_t digits = strspn(text, "0123456789");
    long number = digits > 0 && digits <= 6 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    if (number < min || number > max)
        return false;
    *value = number;
    return true;
}

static bool read_word(struct io_site *site, const char *word) {
    if (strncmp(word, "state=/", 7) == 0)
        return snprintf(site->state, sizeof site->state, "%s", word + 6) < (int)sizeof site->state;
    return read_seconds(word, "period=", 1, 300, &site->period) ||
           read_seconds(word, "report=", 10, 86400, &site->report);
}

bool io_site_read(struct io_site *site, int argc, char **argv, char *why, size_t size) {
    *site = (struct io_site){.period = 5, .report = 600, .state = "/run/adminkit/io"};
    for (int i = 0; i < argc; i++)
        if (!read_word(site, argv[i])) {
            snprintf(why, size, "%.100s is not understood", argv[i]);
            return false;
        }
    return true;
}
