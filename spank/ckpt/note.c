/* note.c - the word in AdminComment; note.h has its grammar. Pure. */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/slurmctld.h"

static const char *const END[CK_NOTE_ENDS] = {NULL,     "more", "limit", "done",
                                              "failed", "max",  "short", "refused"};

/* Moves *p past `word`; false: another text is there. */
static bool skip(const char **p, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return false;
    *p += n;
    return true;
}

/* Reads digits, at least one, and moves *p past them. A value above `max` becomes `max`. */
static bool take(const char **p, uint64_t max, uint64_t *value) {
    const char *start = *p;
    *value = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        uint64_t digit = (uint64_t)(**p - '0');
        *value = *value > (max - digit) / 10 ? max : *value * 10 + digit;
    }
    return *p > start;
}

/* Reads the word at `p` as a note. Returns the end of the word; NULL: it is not a note. */
static const char *read_word(const char *p, struct ck_note *note) {
    uint64_t at, heard, requeues;
    if (!skip(&p, "ck1:at=") || !take(&p, INT64_MAX, &at) || !skip(&p, ",heard=") ||
        !take(&p, UINT32_MAX, &heard) || !skip(&p, ",rq=") || !take(&p, UINT32_MAX, &requeues))
        return NULL;
    *note = (struct ck_note){.at = (int64_t)at, .heard = (uint32_t)heard, .requeues = (uint32_t)requeues};
    if (skip(&p, ",end=")) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        if (n == 0)
            return NULL;
        for (int end = CK_NOTE_MORE; end < CK_NOTE_ENDS; end++)
            if (strlen(END[end]) == n && strncmp(p, END[end], n) == 0)
                note->end = (enum ck_note_end)end;
        p += n;
    }
    return *p == ' ' || *p == '\0' ? p : NULL;
}

/* The start of the comment's note, and its end in *end; NULL: it has none. */
static const char *find(const char *comment, const char **end, struct ck_note *note) {
    for (const char *word = comment; *word; word += strcspn(word, " ")) {
        word += strspn(word, " ");
        if ((*end = read_word(word, note)))
            return word;
    }
    return NULL;
}

bool ck_note_find(const char *comment, struct ck_note *note) {
    const char *end;
    memset(note, 0, sizeof *note);
    if (comment && find(comment, &end, note))
        return true;
    memset(note, 0, sizeof *note);
    return false;
}

bool ck_note_put(char *out, size_t size, const char *comment, const struct ck_note *note) {
    if (!comment)
        comment = "";
    struct ck_note old;
    const char *rest, *place = find(comment, &rest, &old);
    bool insert = place == NULL;
    if (insert) {
        size_t record = strncmp(comment, "ak1:", 4) == 0 ? strcspn(comment, " ") : 0;
        place = rest = comment + record;
    }
    const char *end = END[note->end];
    bool blank_before = insert && place > comment, blank_after = insert && place == comment && *comment;
    int n = snprintf(out, size, "%.*s%sck1:at=%" PRId64 ",heard=%" PRIu32 ",rq=%" PRIu32 "%s%s%s%s",
                     (int)(place - comment), comment, blank_before ? " " : "", note->at, note->heard,
                     note->requeues, end ? ",end=" : "", end ? end : "", blank_after ? " " : "", rest);
    if (n >= 0 && (size_t)n < size && n <= AK_COMMENT_MAX)
        return true;
    if (size)
        out[0] = '\0';
    return false;
}
