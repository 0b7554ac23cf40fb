/* site.c - see site.h. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_PERIOD 1
#define MAX_PERIOD 300
#define MIN_REPORT 10
#define MAX_REPORT 86400

static bool read_seconds(const char *text, long min, long max, long *value) {
    size_t n = strspn(text, "0123456789");
    *value = n > 0 && n <= 6 && text[n] == '\0' ? strtol(text, NULL, 10) : -1;
    return *value >= min && *value <= max;
}

static bool read_path(const char *text, char *path, size_t size) {
    return *text == '/' && snprintf(path, size, "%s", text) < (int)size;
}

/* The text after `key` in the word, or NULL. */
static const char *after(const char *word, const char *key) {
    size_t n = strlen(key);
    return strncmp(word, key, n) == 0 ? word + n : NULL;
}

static bool read_word(struct gu_site *site, const char *word) {
    const char *text;
    if ((text = after(word, "period=")))
        return read_seconds(text, MIN_PERIOD, MAX_PERIOD, &site->period);
    if ((text = after(word, "report=")))
        return read_seconds(text, MIN_REPORT, MAX_REPORT, &site->report);
    if ((text = after(word, "state=")))
        return read_path(text, site->state, sizeof site->state);
    if ((text = after(word, "nvml=")))
        return read_path(text, site->nvml, sizeof site->nvml);
    if ((text = after(word, "textfile=")))
        return read_path(text, site->text, sizeof site->text);
    return false;
}

bool gu_site_read(struct gu_site *site, int argc, char **argv, char *why, size_t size) {
    *site = (struct gu_site){
        .period = 30, .report = 600, .state = "/run/adminkit/gpu-use", .nvml = "libnvidia-ml.so.1"};
    for (int i = 0; i < argc; i++)
        if (!read_word(site, argv[i])) {
            snprintf(why, size, "%.100s is not understood", argv[i]);
            return false;
        }
    return true;
}
