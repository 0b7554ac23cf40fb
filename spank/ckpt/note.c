/* note.c - the word in AdminComment; note.h has its grammar. Pure. */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const END[AK_NOTE_ENDS] = {NULL,     "more", "limit", "done",
                                              "failed", "max",  "short", "refused"};

/* Moves *p behind `word` where it stands there. */
static bool skip(const char **p, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return false;
    *p += n;
    return true;
}

/* Digits, at least one. More than `most` is `most`. */
static bool take(const char **p, uint64_t most, uint64_t *value) {
    const char *start = *p;
    *value = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        uint64_t digit = (uint64_t)(**p - '0');
        *value = *value > (most - digit) / 10 ? most : *value * 10 + digit;
    }
    return *p > start;
}

/* The note that begins at `p` and ends with its word; where that word ends, or NULL. */
static const char *read_word(const char *p, struct ak_note *note) {
    uint64_t at, heard, requeues;
    if (!skip(&p, "ck1:at=") || !take(&p, INT64_MAX, &at) || !skip(&p, ",heard=") ||
        !take(&p, UINT32_MAX, &heard) || !skip(&p, ",rq=") || !take(&p, UINT32_MAX, &requeues))
        return NULL;
    *note = (struct ak_note){.at = (int64_t)at, .heard = (uint32_t)heard, .requeues = (uint32_t)requeues};
    if (skip(&p, ",end=")) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        if (n == 0)
            return NULL;
        for (int end = AK_NOTE_MORE; end < AK_NOTE_ENDS; end++)
            if (strlen(END[end]) == n && strncmp(p, END[end], n) == 0)
                note->end = (enum ak_note_end)end;
        p += n;
    }
    return *p == ' ' || *p == '\0' ? p : NULL;
}

/* Where the comment's note begins, and ends at *end; NULL without one. */
static const char *find(const char *comment, const char **end, struct ak_note *note) {
    for (const char *word = comment; *word; word += strcspn(word, " ")) {
        word += strspn(word, " ");
        if ((*end = read_word(word, note)))
            return word;
    }
    return NULL;
}

bool ak_note_find(const char *comment, struct ak_note *note) {
    const char *end;
    memset(note, 0, sizeof *note);
    if (comment && find(comment, &end, note))
        return true;
    memset(note, 0, sizeof *note);
    return false;
}

bool ak_note_put(char *out, size_t size, const char *comment, const struct ak_note *note) {
    if (!comment)
        comment = "";
    struct ak_note old;
    const char *behind, *place = find(comment, &behind, &old);
    bool anew = place == NULL;
    if (anew) {
        size_t record = strncmp(comment, "ak1:", 4) == 0 ? strcspn(comment, " ") : 0;
        place = behind = comment + record;
    }
    const char *end = END[note->end];
    bool gap_before = anew && place > comment, gap_behind = anew && place == comment && *comment;
    int n = snprintf(out, size, "%.*s%sck1:at=%" PRId64 ",heard=%" PRIu32 ",rq=%" PRIu32 "%s%s%s%s",
                     (int)(place - comment), comment, gap_before ? " " : "", note->at, note->heard,
                     note->requeues, end ? ",end=" : "", end ? end : "", gap_behind ? " " : "", behind);
    if (n >= 0 && (size_t)n < size && n <= AK_COMMENT_MAX)
        return true;
    if (size)
        out[0] = '\0';
    return false;
}
