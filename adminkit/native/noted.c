/* noted.c - the word that adminkit's policy leaves in a job's comment; docs/policy-spec.md has its grammar.
 */
#include "values.h"

#include <stdbool.h>
#include <string.h>

static bool in_alphabet(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '+' || c == '-';
}

/* Takes `word` off the front of `s`. */
static bool skip(struct ak_slice *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || memcmp(s->s, word, n) != 0)
        return false;
    s->s += n;
    s->n -= n;
    return true;
}

/* Takes seconds off the front of `s`: digits, at least one. Too many of them are as many as fit. */
static bool take_seconds(struct ak_slice *s, int64_t *seconds) {
    size_t n = 0;
    *seconds = 0;
    for (; n < s->n && s->s[n] >= '0' && s->s[n] <= '9'; n++)
        *seconds = *seconds > (INT64_MAX - 9) / 10 ? INT64_MAX - 9 : *seconds * 10 + (s->s[n] - '0');
    s->s += n;
    s->n -= n;
    return n > 0;
}

/* `s` behind the source: nothing, or rules up to a blank. */
static bool ends_well(struct ak_slice s) {
    if (s.n == 0 || s.s[0] == ' ')
        return true;
    if (!skip(&s, ",rules="))
        return false;
    size_t n = 0;
    while (n < s.n && in_alphabet(s.s[n]))
        n++;
    return n > 0 && (n == s.n || s.s[n] == ' ');
}

void ak_noted(struct ak_slice s, struct ak_cell out[3]) {
    int64_t seconds = 0;
    if (s.n)
        ak_set_text(&out[0], s.s, s.n);
    if (!skip(&s, "ak1:lim="))
        return;
    if (skip(&s, "none,src=d")) {
        if (ends_well(s))
            ak_set_text(&out[2], "default", 7);
        return;
    }
    bool finite = !skip(&s, "inf");
    if ((finite && !take_seconds(&s, &seconds)) || !skip(&s, ",src=e") || !ends_well(s))
        return;
    if (finite) {
        out[1].type = AK_INT;
        out[1].v.i = seconds;
    }
    ak_set_text(&out[2], "explicit", 8);
}
