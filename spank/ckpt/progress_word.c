/* progress_word.c - see progress_word.h. */
#include "progress_word.h"

#include <stdio.h>
#include <string.h>

#include "common/slurmctld.h"

#define PREFIX "pf1:it="
#define DIGITS "0123456789"

bool ck_progress_parse(const char *text, size_t size, char digits[CK_PROGRESS_DIGITS + 1]) {
    size_t n = 0, end;
    digits[0] = '\0';
    while (n < size && n <= CK_PROGRESS_DIGITS && text[n] >= '0' && text[n] <= '9')
        n++;
    for (end = n; end < size && (text[end] == ' ' || text[end] == '\n'); end++)
        ;
    if (n == 0 || n > CK_PROGRESS_DIGITS || end < size)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    return true;
}

/* The length of the progress word at `p`; 0: there is none. */
static size_t word_at(const char *p) {
    size_t prefix = strlen(PREFIX), n = strncmp(p, PREFIX, prefix) == 0 ? strspn(p + prefix, DIGITS) : 0;
    bool whole = n > 0 && n <= CK_PROGRESS_DIGITS && (p[prefix + n] == ' ' || p[prefix + n] == '\0');
    return whole ? prefix + n : 0;
}

bool ck_progress_put(char *out, size_t size, const char *comment, const char *digits) {
    const char *word = comment ? comment : "";
    size_t length = 0;
    comment = word;
    while (*word && !(length = word_at(word))) {
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
    const char *rest = word + length;
    size_t before = (size_t)(word - comment);
    if (!*digits && length && *rest) /* the word goes with one of the blanks around it */
        rest++;
    else if (!*digits && length && before)
        before--;
    int n = snprintf(out, size, "%.*s%s%s%s%s", (int)before, comment, !length && before && *digits ? " " : "",
                     *digits ? PREFIX : "", digits, rest);
    if (n >= 0 && (size_t)n < size && n <= AK_COMMENT_MAX)
        return true;
    if (size)
        out[0] = '\0';
    return false;
}
