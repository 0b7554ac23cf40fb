/* records.c - bytes into records: where lines and delimiters are, and which lines make a record. */
#include "sacct.h"

#include <stdio.h>
#include <string.h>

#if defined(__SSE2__) && !defined(AK_PORTABLE)
#include <emmintrin.h>
#define AK_SSE2 1
#endif

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
        snprintf(error, error_size, "a line's end can be neither delimiter nor comment");
        return false;
    }
    if (format->space && format->ends) {
        snprintf(error, error_size, "blanks between columns do not end a record");
        return false;
    }
    r->columns = (size_t)spec->columns;
    r->want = r->columns - !format->ends;
    r->free_one = spec->free_one;
    r->first_free = ak_is_free(spec->column[0].kind);
    r->hold_last =
        !format->ends && !format->space && r->want > 0 && ak_is_free(spec->column[r->columns - 1].kind);
    r->line = 1;
    return true;
}

size_t ak_reader_release(struct ak_reader *r) {
    size_t keep = r->lines ? r->pending[r->first].at : r->line_at;
    size_t used = keep - r->base;
    r->base = keep;
    return used;
}

/* ---- marks ---- */

/* Marks every newline and every byte that may begin a delimiter in s[0..n), n at most AK_CHUNK. */
static void mark(struct ak_reader *r, const char *s, size_t n, char byte) {
    uint32_t *out = r->mark, *newline = r->newline;
    size_t i = 0;
    unsigned char high = 0, nul = 0;
#ifdef AK_SSE2
    const __m128i line = _mm_set1_epi8('\n'), delimiter = _mm_set1_epi8(byte), zero = _mm_setzero_si128();
    __m128i seen = zero;
    for (; i + 64 <= n; i += 64) {
        uint64_t found = 0, lines = 0;
        for (int part = 0; part < 4; part++) {
            __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s + i + 16 * (size_t)part));
            __m128i end = _mm_cmpeq_epi8(block, line);
            __m128i hit = _mm_or_si128(end, _mm_cmpeq_epi8(block, delimiter));
            seen = _mm_or_si128(seen, _mm_or_si128(block, _mm_cmpeq_epi8(block, zero)));
            found |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << (16 * part);
            lines |= (uint64_t)(uint32_t)_mm_movemask_epi8(end) << (16 * part);
        }
        uint32_t *start = out;
        for (; found; found &= found - 1)
            *out++ = (uint32_t)i + (uint32_t)__builtin_ctzll(found);
        for (uint32_t *at = start; lines; lines &= lines - 1) {
            uint32_t place = (uint32_t)i + (uint32_t)__builtin_ctzll(lines);
            while (*at != place)
                at++;
            *newline++ = (uint32_t)(at - r->mark);
        }
    }
    high = _mm_movemask_epi8(seen) ? 0x80 : 0;
#endif
    for (; i < n; i++) {
        high |= (unsigned char)s[i];
        nul |= s[i] == '\0';
        *newline = (uint32_t)(out - r->mark);
        newline += s[i] == '\n';
        *out = (uint32_t)i;
        out += s[i] == '\n' || s[i] == byte;
    }
    r->chunk_odd = high >= 0x80 || nul;
    r->marks = (size_t)(out - r->mark);
    r->newlines = (size_t)(newline - r->newline);
    r->next_mark = r->next_newline = 0;
}

/* Marks the next chunk. False where nothing is left, or what is left may hold half a delimiter. */
static bool next_chunk(struct ak_reader *r, const char *buf, size_t len, bool eof) {
    size_t end = r->base + len;
    size_t half = !eof && r->delimiter_size > 1 ? r->delimiter_size - 1 : 0;
    if (len <= half || r->scanned >= end - half)
        return false;
    end -= half;
    size_t n = end - r->scanned < AK_CHUNK ? end - r->scanned : AK_CHUNK;
    char byte = r->format.space ? '\n' : r->format.delimiter[0];
    r->chunk = r->scanned;
    mark(r, buf + (r->chunk - r->base), n, byte);
    r->scanned += n;
    r->line_odd |= r->chunk_odd;
    return true;
}

static bool is_delimiter(const struct ak_reader *r, const char *buf, size_t len, size_t place) {
    if (r->delimiter_size == 1)
        return true;
    size_t from = place - r->base;
    return len - from >= r->delimiter_size && memcmp(buf + from, r->format.delimiter, r->delimiter_size) == 0;
}

/* Takes the marks up to `end` as the current line's delimiters. */
static void take_marks(struct ak_reader *r, const char *buf, size_t len, size_t end) {
    uint32_t shift =
        (uint32_t)(r->chunk - r->line_at); /* wraps where the line began in the chunk: so does the sum */
    if (r->delimiter_size == 1) {
        size_t n = end - r->next_mark;
        size_t room = r->count <= AK_MAX_COLUMNS ? AK_MAX_COLUMNS + 1 - r->count : 0;
        for (size_t i = 0; i < n && i < room; i++)
            r->at[r->count + i] = r->mark[r->next_mark + i] + shift;
        if (n)
            r->last_end = r->chunk + r->mark[end - 1] + 1;
        r->count += n;
    } else {
        for (size_t i = r->next_mark; i < end; i++) {
            size_t place = r->chunk + r->mark[i];
            if (place < r->last_end || !is_delimiter(r, buf, len, place))
                continue;
            if (r->count <= AK_MAX_COLUMNS)
                r->at[r->count] = r->mark[i] + shift;
            r->count++;
            r->last_end = place + r->delimiter_size;
        }
    }
    r->next_mark = end;
}

/* Completes the current line: line_end, line_text (its end without the line break), count, at[]. */
static bool find_line(struct ak_reader *r, const char *buf, size_t len, bool eof) {
    for (;;) {
        bool found = r->next_newline < r->newlines;
        take_marks(r, buf, len, found ? r->newline[r->next_newline] : r->marks);
        if (found) {
            r->line_all = r->chunk + r->mark[r->newline[r->next_newline++]];
            r->line_end = r->line_all + 1;
            r->next_mark++;
            break;
        }
        if (r->scanned - r->line_at > AK_MAX_RECORD)
            return false;
        if (!next_chunk(r, buf, len, eof)) {
            if (!eof || r->line_at >= r->base + len)
                return false;
            r->line_end = r->line_all = r->base + len;
            break;
        }
    }
    r->line_text = r->line_all;
    if (r->line_text > r->last_end && buf[r->line_text - 1 - r->base] == '\r')
        r->line_text--;
    r->line_ends = r->count > 0 && r->last_end == r->line_text;
    return true;
}

/* Steps over the current line. */
static void next_line(struct ak_reader *r) {
    r->line_at = r->last_end = r->line_end;
    r->count = 0;
    r->line++;
    r->line_ready = false;
    r->line_odd = r->chunk_odd;
}

/* ---- records ---- */

static struct ak_slice slice(const struct ak_reader *r, const char *buf, size_t from, size_t to) {
    return (struct ak_slice){buf + (from - r->base), to - from};
}

static enum ak_event broken(struct ak_reader *r, struct ak_record *record, uint64_t line, struct ak_slice raw,
                            const char *format, size_t columns) {
    record->line = line;
    record->raw = raw;
    record->mended = record->plain = false;
    snprintf(record->reason, sizeof record->reason, format, columns, r->columns);
    return AK_BROKEN;
}
#define COUNTED "columns: %zu, expected: %zu"

/* How many columns that many delimiters are. */
static size_t columns_of(const struct ak_reader *r, size_t count) {
    return count + !r->format.ends;
}

/* Splits what is not one line with the right count: several lines, or surplus delimiters. */
static void split(const struct ak_reader *r, struct ak_record *record, size_t surplus) {
    const char *p = record->raw.s, *end = p + record->raw.n, *start = p;
    size_t field = 0, seen = 0, first = (size_t)r->free_one;
    bool mend = surplus && !r->format.surplus_ignore;
    while (field < r->columns && p < end) {
        p = memchr(p, r->format.delimiter[0], (size_t)(end - p));
        if (!p)
            break;
        if ((size_t)(end - p) < r->delimiter_size || memcmp(p, r->format.delimiter, r->delimiter_size) != 0) {
            p++;
            continue;
        }
        if (!mend || seen < first || seen >= first + surplus) {
            record->field[field++] = (struct ak_slice){start, (size_t)(p - start)};
            start = p + r->delimiter_size;
        }
        seen++;
        p += r->delimiter_size;
    }
    if (field < r->columns)
        record->field[field] = (struct ak_slice){start, (size_t)(end - start)};
}

/* A record of one line, with `count` delimiters (at least what is wanted). */
static void line_record(const struct ak_reader *r, const char *buf, struct ak_record *record) {
    record->line = r->line;
    record->raw = slice(r, buf, r->line_at, r->line_text);
    record->plain = !r->line_odd;
    record->mended = r->count > r->want && !r->format.surplus_ignore;
    if (r->count > r->want) {
        split(r, record, r->count - r->want);
        return;
    }
    const char *s = record->raw.s;
    size_t start = 0;
    for (size_t i = 0; i < r->want; i++) {
        record->field[i] = (struct ak_slice){s + start, r->at[i] - start};
        start = r->at[i] + r->delimiter_size;
    }
    if (!r->format.ends)
        record->field[r->want] = (struct ak_slice){s + start, record->raw.n - start};
}

static enum ak_event space_record(struct ak_reader *r, const char *buf, struct ak_record *record) {
    struct ak_slice raw = slice(r, buf, r->line_at, r->line_text);
    size_t i = 0, fields = 0;
    for (;;) {
        while (i < raw.n && (raw.s[i] == ' ' || raw.s[i] == '\t'))
            i++;
        if (i == raw.n)
            break;
        size_t start = i;
        while (i < raw.n && raw.s[i] != ' ' && raw.s[i] != '\t')
            i++;
        if (fields < r->columns)
            record->field[fields] = (struct ak_slice){raw.s + start, i - start};
        fields++;
    }
    if (fields < r->columns || (fields > r->columns && !r->format.surplus_ignore))
        return broken(r, record, r->line, raw, COUNTED, fields);
    record->line = r->line;
    record->raw = raw;
    record->plain = !r->line_odd;
    record->mended = false;
    return AK_RECORD;
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
    struct ak_slice raw = slice(r, buf, at, end);
    if (raw.n && raw.s[raw.n - 1] == '\n')
        raw.n--;
    return broken(r, record, line, raw, COUNTED, columns_of(r, count));
}

/* Sets all pending lines aside as one. */
static enum ak_event drop(struct ak_reader *r, const char *buf, struct ak_record *record,
                          const char *reason) {
    size_t at = r->pending[r->first].at, sum = r->sum;
    r->bytes_broken += r->pending_end - at;
    r->lines = r->sum = 0;
    r->held = false;
    r->trailing = true;
    struct ak_slice raw = slice(r, buf, at, r->pending_text);
    return broken(r, record, r->pending_line, raw, reason ? reason : COUNTED, columns_of(r, sum));
}

/* The pending lines are a record. With `held`, blank lines after its text are not part of it. */
static enum ak_event whole(struct ak_reader *r, const char *buf, struct ak_record *record) {
    size_t at = r->pending[r->first].at;
    record->line = r->pending_line;
    record->raw = slice(r, buf, at, r->pending_text);
    record->plain = false;
    record->mended = r->sum > r->want && !r->format.surplus_ignore;
    split(r, record, r->sum - r->want);
    r->bytes_records += r->pending_end - at;
    r->lines = r->sum = 0;
    r->held = false;
    return AK_RECORD;
}

/* Does the line after the current one surely begin a record of its own? */
static bool next_begins(const struct ak_reader *r, const char *buf, size_t len) {
    if (r->next_mark >= r->marks)
        return false;
    bool newline = r->next_newline < r->newlines && r->newline[r->next_newline] == r->next_mark;
    return !newline && is_delimiter(r, buf, len, r->chunk + r->mark[r->next_mark]);
}

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
    struct ak_slice raw = slice(r, buf, r->line_at, r->line_at + AK_MAX_RECORD);
    enum ak_event event = broken(r, record, r->line, raw, "line longer than 1 MiB", 0);
    r->line_at += AK_MAX_RECORD;
    r->line_ready = false;
    r->skipping = r->trailing = true;
    return event;
}

/* Passes over the rest of such a line. False: not yet at its end. */
static bool skip_rest(struct ak_reader *r, const char *buf, size_t len, bool eof) {
    size_t end = r->base + len;
    const char *newline =
        r->line_at < end ? memchr(buf + (r->line_at - r->base), '\n', end - r->line_at) : NULL;
    size_t to = newline ? r->base + (size_t)(newline - buf) + 1 : end;
    r->bytes_broken += to - r->line_at;
    r->line_at = r->line_end = to;
    if (newline || eof) {
        r->skipping = false;
        next_line(r);
    }
    /* Marks up to here are stale; scanning goes on behind them. */
    if (r->scanned < to) {
        r->scanned = r->chunk = to;
        r->marks = r->next_mark = r->newlines = r->next_newline = 0;
        r->chunk_odd = r->line_odd = false;
    }
    while (r->next_mark < r->marks && r->chunk + r->mark[r->next_mark] < to)
        r->next_mark++;
    while (r->next_newline < r->newlines && r->newline[r->next_newline] < r->next_mark)
        r->next_newline++;
    r->last_end = to;
    return !r->skipping;
}

static void pass_over(struct ak_reader *r) {
    r->bytes_blank += r->line_end - r->line_at;
    next_line(r);
}

/* The pending lines alone: is there anything to hand out? AK_MORE: no, look at the next line. */
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
    next_line(r);
    return AK_MORE;
}

/* A line that has at least as many delimiters as a record. */
static enum ak_event full_line(struct ak_reader *r, const char *buf, size_t len, struct ak_record *record) {
    bool exact = r->count == r->want && (!r->format.ends || r->line_ends);
    bool mends = r->count > r->want &&
                 (r->format.surplus_ignore || (r->free_one >= 0 && (!r->format.ends || r->line_ends)));
    if (!exact && !mends) {
        const char *reason = r->count == r->want ? "the last column does not end" : COUNTED;
        r->bytes_broken += r->line_end - r->line_at;
        struct ak_slice raw = slice(r, buf, r->line_at, r->line_text);
        enum ak_event event = broken(r, record, r->line, raw, reason, columns_of(r, r->count));
        r->trailing = true;
        next_line(r);
        return event;
    }
    if (r->hold_last && !(mends && r->format.surplus_ignore) && !next_begins(r, buf, len)) {
        push(r, false);
        r->held = true;
        next_line(r);
        return AK_MORE;
    }
    line_record(r, buf, record);
    r->bytes_records += r->line_end - r->line_at;
    next_line(r);
    return AK_RECORD;
}

/* The current line, with what is pending. AK_MORE: it was taken, go on. */
static enum ak_event take_line(struct ak_reader *r, const char *buf, size_t len, struct ak_record *record) {
    struct ak_slice text = slice(r, buf, r->line_at, r->line_text);
    bool blank = text.n == 0 || (r->format.space && is_blank(r, text));
    bool comment = !blank && is_comment(r, text);
    bool fits =
        r->lines == 0 || (r->lines < AK_MAX_LINES && r->line_text - r->pending[r->first].at <= AK_MAX_RECORD);
    if (r->held)
        return held_line(r, buf, record, blank, comment, fits);
    if (r->lines == 0 && (blank || comment)) {
        pass_over(r);
        return AK_MORE;
    }
    if (r->format.space) {
        enum ak_event event = space_record(r, buf, record);
        *(event == AK_RECORD ? &r->bytes_records : &r->bytes_broken) += r->line_end - r->line_at;
        next_line(r);
        return event;
    }
    if (r->trailing && r->count == 0 && r->want > 0 && !r->first_free) {
        r->bytes_broken += r->line_end - r->line_at;
        next_line(r);
        return AK_MORE;
    }
    r->trailing = false;
    if (r->count >= r->want)
        return r->lines ? drop(r, buf, record, NULL) : full_line(r, buf, len, record);
    if (!fits)
        return drop(r, buf, record, "record of more than 1 MiB or 131072 lines");
    push(r, blank);
    next_line(r);
    return AK_MORE;
}

enum ak_event ak_reader_next(struct ak_reader *r, const char *buf, size_t len, bool eof,
                             struct ak_record *record) {
    for (;;) {
        enum ak_event event = settle(r, buf, record);
        if (event != AK_MORE)
            return event;
        if (r->skipping && !skip_rest(r, buf, len, eof))
            return AK_MORE;
        if (!r->line_ready)
            r->line_ready = find_line(r, buf, len, eof);
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
