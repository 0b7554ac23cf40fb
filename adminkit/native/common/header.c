/* header.c - the words of a header, and where the columns are that it names. */
#include "header.h"
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char nothing[AK_PADDING + 1];

static char small(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(struct ak_slice a, struct ak_slice b) {
    size_t i = 0;
    while (a.n == b.n && i < a.n && small(a.s[i]) == small(b.s[i]))
        i++;
    return a.n == b.n && i == a.n;
}

static int find(const struct ak_fields *fields, struct ak_slice name) {
    for (int i = 0; i < fields->n; i++)
        if (same(fields->one[i].name, name))
            return i;
    return -1;
}

/* A kind by its name; AK_KINDS for none. */
static enum ak_kind kind_of(struct ak_slice name) {
    int kind = 0;
    while (kind < AK_KINDS &&
           !(strlen(ak_kinds[kind].name) == name.n && memcmp(ak_kinds[kind].name, name.s, name.n) == 0))
        kind++;
    return (enum ak_kind)kind;
}

static bool add(struct ak_fields *fields, struct ak_slice name, struct ak_slice meaning) {
    if (fields->n == AK_MAX_FIELDS || name.n == 0 || name.n > AK_FIELD_NAME || meaning.n == 0)
        return false;
    fields->one[fields->n].name = name;
    fields->one[fields->n].place = -1;
    if (ak_digit(*meaning.s)) {
        char *end;
        long place = strtol(meaning.s, &end, 10);
        if (place >= fields->spec->columns)
            return false;
        fields->one[fields->n].place = (int)place;
        fields->one[fields->n].kind = fields->spec->column[place].kind;
        if (*end == ':')
            fields->one[fields->n].other =
                (struct ak_slice){end + 1, (size_t)(meaning.s + meaning.n - end - 1)};
    } else if ((fields->one[fields->n].kind = kind_of(meaning)) == AK_KINDS) {
        return false;
    }
    fields->n++;
    return true;
}

bool ak_fields_parse(struct ak_fields *fields, const struct ak_spec *spec, const char *text) {
    *fields = (struct ak_fields){.spec = spec};
    for (const char *word = text;; word++) {
        size_t n = strcspn(word, ","), name = strcspn(word, "=,");
        if (name == n ||
            !add(fields, (struct ak_slice){word, name}, (struct ak_slice){word + name + 1, n - name - 1}))
            return false;
        word += n;
        if (*word == '\0')
            return true;
    }
}

static void find_apart(struct ak_layout *layout) {
    int frees = 0;
    layout->free_one = layout->submitted = layout->number = -1;
    for (int i = 0; i < layout->columns; i++) {
        if (ak_is_free(layout->kind[i])) {
            layout->free_one = i;
            frees++;
        }
        if (layout->kind[i] == AK_SUBMITTED)
            layout->submitted = i;
        if (layout->kind[i] == AK_RAWID)
            layout->number = i;
    }
    if (frees != 1)
        layout->free_one = -1;
}

void ak_layout_of_spec(struct ak_layout *layout, const struct ak_spec *spec, bool ends) {
    layout->columns = spec->columns;
    layout->ends = ends;
    for (int i = 0; i < spec->columns; i++) {
        layout->kind[i] = spec->column[i].kind;
        layout->from[i] = i;
    }
    find_apart(layout);
}

/* The next word of *line, without blanks around it; *line is what follows. False: it was the last. */
static bool take_word(struct ak_slice *line, const char *delimiter, struct ak_slice *word) {
    size_t size = strlen(delimiter), at = 0;
    while (at < line->n && (line->n - at < size || memcmp(line->s + at, delimiter, size) != 0))
        at++;
    bool more = at < line->n;
    *word = (struct ak_slice){line->s, at};
    while (word->n && (*word->s == ' ' || *word->s == '\r'))
        word->s++, word->n--;
    while (word->n && (word->s[word->n - 1] == ' ' || word->s[word->n - 1] == '\r'))
        word->n--;
    *line =
        more ? (struct ak_slice){line->s + at + size, line->n - at - size} : (struct ak_slice){nothing, 0};
    return more;
}

/* The words of a line as columns: how many are known, and whether JobID is one of them. -1: more than there
 * may be columns. */
static int take_words(const struct ak_fields *fields, const char *delimiter, struct ak_slice line,
                      int word[AK_MAX_COLUMNS + 1], bool *has_job, bool *ends, int *columns) {
    struct ak_slice text;
    int known = 0, n = 0;
    bool more = true;
    *has_job = *ends = false;
    while (more) {
        if (n > AK_MAX_COLUMNS)
            return -1;
        more = take_word(&line, delimiter, &text);
        if (!more && text.n == 0 && n) {
            *ends = true;
            break;
        }
        word[n] = text.n <= AK_FIELD_NAME ? find(fields, text) : -1;
        known += word[n] >= 0;
        *has_job |=
            word[n] >= 0 && (fields->one[word[n]].kind == AK_JOBID || fields->one[word[n]].kind == AK_RAWID);
        n++;
    }
    *columns = n;
    return n <= AK_MAX_COLUMNS ? known : -1;
}

/* Gives the columns of the spec that the header lacks another's. False: `reason` says which has to be there.
 */
static bool fill_gaps(const struct ak_fields *fields, struct ak_layout *layout, char reason[AK_REASON]) {
    for (int i = 0; i < fields->n; i++) {
        int place = fields->one[i].place;
        if (place < 0 || layout->from[place] >= 0)
            continue;
        int other = fields->one[i].other.n ? find(fields, fields->one[i].other) : -1;
        if (other >= 0 && fields->one[other].place >= 0)
            layout->from[place] = layout->from[fields->one[other].place];
        if (fields->spec->column[place].required && layout->from[place] < 0) {
            snprintf(reason, AK_REASON, "a header lacks %.*s, so the rows after it cannot be read",
                     (int)fields->one[i].name.n, fields->one[i].name.s);
            return false;
        }
    }
    return true;
}

enum ak_heading ak_header_read(const struct ak_fields *fields, const char *delimiter, struct ak_slice line,
                               struct ak_layout *layout, char reason[AK_REASON]) {
    int word[AK_MAX_COLUMNS + 1], columns = 0;
    bool has_job, ends;
    if (line.n >= 3 && memcmp(line.s, "\xEF\xBB\xBF", 3) == 0)
        line.s += 3, line.n -= 3;
    int known = take_words(fields, delimiter, line, word, &has_job, &ends, &columns);
    if (known < 2 || !((has_job && 2 * known > columns) || (known >= 3 && known == columns)))
        return AK_NO_HEADER;
    layout->columns = columns;
    layout->ends = ends;
    for (int i = 0; i < fields->spec->columns; i++)
        layout->from[i] = -1;
    for (int i = 0; i < columns; i++) {
        int place = word[i] >= 0 ? fields->one[word[i]].place : -1;
        enum ak_kind kind = word[i] >= 0 ? fields->one[word[i]].kind : AK_SKIP;
        if (place < 0 && kind != AK_SKIP && kind != AK_FREE) {
            snprintf(reason, AK_REASON, "a header has a further column: %.*s",
                     (int)fields->one[word[i]].name.n, fields->one[word[i]].name.s);
            return AK_HEADER_BAD;
        }
        bool again = place >= 0 && layout->from[place] >= 0;
        layout->kind[i] = again ? AK_SKIP : kind;
        if (place >= 0 && !again)
            layout->from[place] = i;
    }
    find_apart(layout);
    return fill_gaps(fields, layout, reason) ? AK_HEADER_READ : AK_HEADER_BAD;
}

void ak_layout_apply(const struct ak_layout *layout, const struct ak_spec *spec, struct ak_record *record) {
    struct ak_slice field[AK_MAX_COLUMNS];
    for (int i = 0; i < spec->columns; i++)
        field[i] = layout->from[i] >= 0 ? record->field[layout->from[i]] : (struct ak_slice){nothing, 0};
    memcpy(record->field, field, sizeof *field * (size_t)spec->columns);
}
