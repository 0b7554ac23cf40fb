/* reader.c - bytes into records: which lines make a record. */
#include "reader.h"
#include "header.h"

#include <stdio.h>
#include <string.h>

bool ak_reader_init(struct ak_reader *r, const struct ak_spec *spec, const struct ak_format *format,
                    char *error, size_t error_size) {
    memset(r, 0, offsetof(struct ak_reader, pending));
    r->format = *format;
    r->delimiter_size = strlen(format->delimiter);
    r->comment_size = strlen(format->comment);
    if (!format->space && r->delimiter_size == 0) {
        snprintf(error, error_size, "the delimiter is empty");
        return false;
    }
    if (strpbrk(format->delimiter, "\r\n") || strpbrk(format->comment, "\r\n")) {
        snprintf(error, error_size, "a line end can be neither a delimiter nor a comment");
        return false;
    }
    if (format->space && format->ends) {
        snprintf(error, error_size, "blanks between columns do not end a record");
        return false;
    }
    if (!ak_may_pack(spec, format)) {
        snprintf(error, error_size, "these columns cannot be packed");
        return false;
    }
    r->more = format->packed > 1 ? (size_t)format->packed - 1 : 0;
    r->columns = (size_t)spec->columns - r->more;
    r->want = r->columns - !format->ends;
    r->free_one = spec->free_one < 0 ? -1 : spec->free_one - (int)r->more;
    r->first_free = ak_is_free(spec->column[0].kind);
    r->hold_last =
        !format->ends && !format->space && r->want > 0 && ak_is_free(spec->column[spec->columns - 1].kind);
    r->line = 1;
    return true;
}

/* Reads on as the layout says. */
static void lay_out(struct ak_reader *r) {
    const struct ak_layout *layout = r->layout;
    r->format.ends = layout->ends;
    r->columns = (size_t)layout->columns;
    r->want = r->columns - !layout->ends;
    r->free_one = layout->free_one;
    r->first_free = ak_is_free(layout->kind[0]);
    r->hold_last = !layout->ends && r->want > 0 && ak_is_free(layout->kind[r->columns - 1]);
}

void ak_reader_heads(struct ak_reader *r, const struct ak_fields *fields, struct ak_layout *layout) {
    r->fields = fields;
    r->layout = layout;
}

size_t ak_reader_release(struct ak_reader *r) {
    size_t keep = r->lines ? r->pending[r->first].at : r->line_at;
    size_t used = keep - r->base;
    r->base = keep;
    return used;
}

/* ---- pending lines ---- */

static void push(struct ak_reader *r, bool blank) {
    if (r->lines == 0) {
        r->first = 0;
        r->sum = 0;
        r->pending_line = r->line;
    }
    size_t slot = (r->first + r->lines++) % AK_MAX_LINES;
    r->pending[slot].at = r->line_at;
    r->pending[slot].count = (uint32_t)r->count;
    r->pending[slot].blank = blank;
    r->sum += r->count;
    r->pending_end = r->line_end;
    r->pending_text = r->line_text;
    r->pending_ends = r->line_ends;
}

/* Forgets the first pending line. */
static void forget(struct ak_reader *r) {
    r->sum -= r->pending[r->first].count;
    r->first = (r->first + 1) % AK_MAX_LINES;
    r->lines--;
    r->pending_line++;
}

/* Sets the first pending line aside, with the lines behind it that are nothing without it; a blank one is
 * merely passed over (AK_MORE). */
static enum ak_event pop(struct ak_reader *r, const char *buf, struct ak_record *record) {
    size_t slot = r->first, at = r->pending[slot].at;
    bool blank = r->pending[slot].blank;
    size_t count = r->pending[slot].count;
    uint64_t line = r->pending_line;
    forget(r);
    while (count && !r->first_free && r->lines && r->pending[r->first].count == 0)
        forget(r);
    r->trailing = count && !r->lines;
    size_t end = r->lines ? r->pending[r->first].at : r->pending_end;
    if (blank) {
        r->bytes_blank += end - at;
        return AK_MORE;
    }
    r->bytes_broken += end - at;
    struct ak_slice raw = ak_slice_of(r, buf, at, end);
    if (raw.n && raw.s[raw.n - 1] == '\n')
        raw.n--;
    return ak_record_broken(r, record, line, raw, AK_COUNTED, ak_columns_of(r, count));
}

/* Sets all pending lines aside as one. */
static enum ak_event drop(struct ak_reader *r, const char *buf, struct ak_record *record,
                          const char *reason) {
    size_t at = r->pending[r->first].at, sum = r->sum;
    r->bytes_broken += r->pending_end - at;
    r->lines = r->sum = 0;
    r->held = false;
    r->trailing = true;
    struct ak_slice raw = ak_slice_of(r, buf, at, r->pending_text);
    return ak_record_broken(r, record, r->pending_line, raw, reason ? reason : AK_COUNTED,
                            ak_columns_of(r, sum));
}

/* The pending lines are a record. With `held`, blank lines after its text are not part of it. */
static enum ak_event whole(struct ak_reader *r, const char *buf, struct ak_record *record) {
    size_t at = r->pending[r->first].at;
    record->line = r->pending_line;
    record->raw = ak_slice_of(r, buf, at, r->pending_text);
    record->plain = false;
    record->repaired = r->sum > r->want && !r->format.surplus_ignore;
    ak_record_split(r, record, r->sum - r->want);
    r->bytes_records += r->pending_end - at;
    r->lines = r->sum = 0;
    r->held = false;
    return AK_RECORD;
}

/* ---- one line more ---- */

static bool is_comment(const struct ak_reader *r, struct ak_slice line) {
    if (r->comment_size == 0)
        return false;
    while (r->format.space && line.n && (*line.s == ' ' || *line.s == '\t'))
        line.s++, line.n--;
    return line.n >= r->comment_size && memcmp(line.s, r->format.comment, r->comment_size) == 0;
}

static bool is_blank(const struct ak_reader *r, struct ak_slice line) {
    for (size_t i = 0; i < line.n; i++)
        if (!r->format.space || (line.s[i] != ' ' && line.s[i] != '\t'))
            return false;
    return true;
}

/* A line longer than a record may be: its first part is set aside, the rest passed over as it comes. */
static enum ak_event too_long(struct ak_reader *r, const char *buf, struct ak_record *record) {
    r->bytes_broken += AK_MAX_RECORD;
    struct ak_slice raw = ak_slice_of(r, buf, r->line_at, r->line_at + AK_MAX_RECORD);
    enum ak_event event = ak_record_broken(r, record, r->line, raw, "line longer than 1 MiB", 0);
    r->line_at += AK_MAX_RECORD;
    r->line_ready = false;
    r->skipping = r->trailing = true;
    return event;
}

static void pass_over(struct ak_reader *r) {
    r->bytes_blank += r->line_end - r->line_at;
    ak_line_pass(r);
}

/* Looks at only the pending lines: is there anything to hand out? AK_MORE: no, look at the next line. */
static enum ak_event settle(struct ak_reader *r, const char *buf, struct ak_record *record) {
    while (r->lines && !r->held) {
        bool full = r->sum == r->want;
        bool headless = r->pending[r->first].count == 0 && (!r->first_free || r->pending[r->first].blank);
        if (headless || r->sum > r->want || (full && r->format.ends && !r->pending_ends)) {
            enum ak_event event = pop(r, buf, record);
            if (event != AK_MORE)
                return event;
        } else if (full && r->hold_last) {
            r->held = true;
        } else if (full) {
            return whole(r, buf, record);
        } else {
            break;
        }
    }
    return AK_MORE;
}

/* A line while a whole record waits for lines that continue it. AK_MORE: the line was taken. */
static enum ak_event held_line(struct ak_reader *r, const char *buf, struct ak_record *record, bool blank,
                               bool comment, bool fits) {
    if (r->count > 0 || comment || (blank && !fits))
        return whole(r, buf, record);
    if (!fits)
        return drop(r, buf, record, "record of more than 1 MiB or 131072 lines");
    size_t text = r->pending_text;
    push(r, blank);
    if (blank)
        r->pending_text = text;
    ak_line_pass(r);
    return AK_MORE;
}

/* A line that has at least as many delimiters as a record. */
static enum ak_event full_line(struct ak_reader *r, const char *buf, size_t len, struct ak_record *record) {
    bool exact = r->count == r->want && (!r->format.ends || r->line_ends);
    bool repairs = r->count > r->want &&
                   (r->format.surplus_ignore || (r->free_one >= 0 && (!r->format.ends || r->line_ends)));
    if (!exact && !repairs) {
        const char *reason = r->count == r->want ? "no delimiter after the last column" : AK_COUNTED;
        r->bytes_broken += r->line_end - r->line_at;
        struct ak_slice raw = ak_slice_of(r, buf, r->line_at, r->line_text);
        enum ak_event event = ak_record_broken(r, record, r->line, raw, reason, ak_columns_of(r, r->count));
        r->trailing = true;
        ak_line_pass(r);
        return event;
    }
    if (r->hold_last && !(repairs && r->format.surplus_ignore) && !ak_line_next_begins(r, buf, len)) {
        push(r, false);
        r->held = true;
        ak_line_pass(r);
        return AK_MORE;
    }
    ak_record_of_line(r, buf, record);
    r->bytes_records += r->line_end - r->line_at;
    ak_line_pass(r);
    return AK_RECORD;
}

/* ---- lines outside of records ---- */

/* Whether the current line may be a header: a record has a number in the column of JobIDRaw. */
static bool may_head(const struct ak_reader *r, struct ak_slice text) {
    size_t number = r->layout->number >= 0 ? (size_t)r->layout->number : SIZE_MAX;
    if (text.s[0] >= '0' && text.s[0] <= '9')
        return false;
    if (number == SIZE_MAX || number == 0 || r->count < number || number > AK_MAX_COLUMNS)
        return true;
    size_t at = r->at[number - 1] + r->delimiter_size;
    return at >= text.n || text.s[at] < '0' || text.s[at] > '9';
}

/* A header, or a message that sacct wrote among the rows. AK_MORE: neither. */
static enum ak_event apart(struct ak_reader *r, const char *buf, struct ak_record *record) {
    static const char message[] = "sacct: ";
    struct ak_slice text = ak_slice_of(r, buf, r->line_at, r->line_text);
    bool says = r->count == 0 && text.n >= sizeof message && memcmp(text.s, message, sizeof message - 1) == 0;
    enum ak_heading heading = AK_NO_HEADER;
    if (!says && may_head(r, text)) {
        struct ak_layout layout;
        record->reason[0] = '\0';
        heading = ak_header_read(r->fields, r->format.delimiter, text, &layout, record->reason);
        if (heading != AK_NO_HEADER && r->lines)
            return r->held ? whole(r, buf, record) : drop(r, buf, record, NULL);
        if (heading == AK_HEADER_READ) {
            *r->layout = layout;
            lay_out(r);
        }
    }
    if (heading != AK_NO_HEADER) {
        record->line = r->line;
        record->raw = text;
        pass_over(r);
        r->trailing = false;
        return AK_HEADER;
    }
    if (!says || (r->lines && !r->held))
        return AK_MORE;
    if (r->held)
        return whole(r, buf, record);
    r->bytes_broken += r->line_end - r->line_at;
    enum ak_event event =
        ak_record_broken(r, record, r->line, text, "a message from sacct instead of a row", 0);
    r->trailing = true;
    ak_line_pass(r);
    return event;
}

/* The current line, with what is pending. AK_MORE: it was taken, read the next. */
static enum ak_event take_line(struct ak_reader *r, const char *buf, size_t len, struct ak_record *record) {
    struct ak_slice text = ak_slice_of(r, buf, r->line_at, r->line_text);
    bool blank = text.n == 0 || (r->format.space && is_blank(r, text));
    bool comment = !blank && is_comment(r, text);
    bool fits =
        r->lines == 0 || (r->lines < AK_MAX_LINES && r->line_text - r->pending[r->first].at <= AK_MAX_RECORD);
    if (r->fields && !blank) {
        enum ak_event event = apart(r, buf, record);
        if (event != AK_MORE)
            return event;
    }
    if (r->held)
        return held_line(r, buf, record, blank, comment, fits);
    if (r->lines == 0 && (blank || comment)) {
        pass_over(r);
        return AK_MORE;
    }
    if (r->format.space) {
        enum ak_event event = ak_record_of_words(r, buf, record);
        *(event == AK_RECORD ? &r->bytes_records : &r->bytes_broken) += r->line_end - r->line_at;
        ak_line_pass(r);
        return event;
    }
    if (r->trailing && r->count == 0 && r->want > 0 && !r->first_free) {
        r->bytes_broken += r->line_end - r->line_at;
        ak_line_pass(r);
        return AK_MORE;
    }
    r->trailing = false;
    if (r->count >= r->want)
        return r->lines ? drop(r, buf, record, NULL) : full_line(r, buf, len, record);
    if (!fits)
        return drop(r, buf, record, "record of more than 1 MiB or 131072 lines");
    push(r, blank);
    ak_line_pass(r);
    return AK_MORE;
}

enum ak_event ak_reader_event(struct ak_reader *r, const char *buf, size_t len, bool eof,
                              struct ak_record *record) {
    for (;;) {
        enum ak_event event = settle(r, buf, record);
        if (event != AK_MORE)
            return event;
        if (r->skipping && !ak_line_skip(r, buf, len, eof))
            return AK_MORE;
        if (!r->line_ready)
            r->line_ready = ak_line_find(r, buf, len, eof);
        size_t known = r->line_ready ? r->line_all : r->scanned;
        if (known > r->line_at + AK_MAX_RECORD) {
            if (r->lines)
                return r->held ? whole(r, buf, record) : drop(r, buf, record, NULL);
            return too_long(r, buf, record);
        }
        if (!r->line_ready)
            break;
        event = take_line(r, buf, len, record);
        if (event != AK_MORE)
            return event;
    }
    if (!eof || r->lines == 0)
        return AK_MORE;
    return r->held ? whole(r, buf, record) : drop(r, buf, record, NULL);
}
