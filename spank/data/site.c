/* site.c - see site.h. Pure. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATIENCE 86400

/* The text after `key` in the word, or NULL. */
static const char *after(const char *word, const char *key) {
    size_t n = strlen(key);
    return strncmp(word, key, n) == 0 ? word + n : NULL;
}

bool da_size_read(const char *text, uint64_t *bytes) {
    static const char UNITS[] = "KMGT";
    size_t n = strspn(text, "0123456789");
    const char *unit = text[n] ? strchr(UNITS, text[n]) : NULL;
    if (n == 0 || n > 12 || (text[n] && (!unit || text[n + 1])))
        return false;
    uint64_t number = strtoull(text, NULL, 10), shift = unit ? 10 * (uint64_t)(unit - UNITS + 1) : 0;
    *bytes = number << shift;
    return number > 0 && number <= (UINT64_C(1) << 60) >> shift;
}

static bool read_patience(const char *text, long *seconds) {
    size_t n = strspn(text, "0123456789");
    *seconds = n > 0 && n <= 6 && text[n] == '\0' ? strtol(text, NULL, 10) : -1;
    return *seconds >= 0 && *seconds <= MAX_PATIENCE;
}

static bool read_path(const char *text, const char *node, char *path, size_t size) {
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        bool name = p[0] == '%' && p[1] == 'n';
        int added = name ? snprintf(path + n, size - n, "%s", node) : snprintf(path + n, size - n, "%c", *p);
        n += (size_t)added;
        if (n >= size)
            return false;
        p += name;
    }
    return text[0] == '/' && n > 1;
}

bool da_site_read(struct da_site *site, int argc, char **argv, const char *node, char *why, size_t size) {
    *site = (struct da_site){.cache = "/var/cache/adminkit-data", .patience = 1800};
    for (int i = 0; i < argc; i++) {
        const char *text;
        bool known = false;
        if ((text = after(argv[i], "cache=")))
            known = read_path(text, node, site->cache, sizeof site->cache);
        else if ((text = after(argv[i], "size=")))
            known = da_size_read(text, &site->size);
        else if ((text = after(argv[i], "patience=")))
            known = read_patience(text, &site->patience);
        if (!known) {
            snprintf(why, size, "%.100s is not understood", argv[i]);
            return false;
        }
    }
    return true;
}
