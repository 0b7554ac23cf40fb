/* extension.c - see extension.h. */
#include "extension.h"

#include <string.h>

#define KEY ",ext=auto"

/* Steps behind `key` and the digits that follow it. NULL: something else stands there. */
static const char *behind_number(const char *text, const char *key) {
    size_t n = strlen(key);
    if (!text || strncmp(text, key, n) != 0)
        return NULL;
    size_t digits = strspn(text + n, "0123456789");
    return digits ? text + n + digits : NULL;
}

bool ck_extension_stands(const char *comment) {
    for (const char *word = comment ? comment : ""; *word; word += strspn(word, " ")) {
        const char *times = behind_number(behind_number(word, "xt1:asked="), ",lim=");
        const char *end = behind_number(times, ",n=");
        if (end && (*end == ' ' || *end == '\0'))
            return times[strlen(",n=") + strspn(times + strlen(",n="), "0")] >= '0';
        word += strcspn(word, " ");
    }
    return false;
}

bool ck_extension_possible(const char *comment) {
    if (!comment || strncmp(comment, "ak1:", 4) != 0)
        return false;
    size_t length = strcspn(comment, " ");
    for (const char *at = comment; (at = strstr(at, KEY)) && at + strlen(KEY) <= comment + length; at++)
        if (strchr(", ", at[strlen(KEY)])) /* its end is one too */
            return true;
    return false;
}
