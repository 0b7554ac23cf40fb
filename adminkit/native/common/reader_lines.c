/* reader_lines.c - where lines and delimiters are. */
#include "reader.h"

#include <string.h>

#if defined(__SSE2__) && !defined(AK_PORTABLE)
#include <emmintrin.h>
#define AK_SSE2 1
#endif

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

bool ak_line_find(struct ak_reader *r, const char *buf, size_t len, bool eof) {
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

void ak_line_pass(struct ak_reader *r) {
    r->line_at = r->last_end = r->line_end;
    r->count = 0;
    r->line++;
    r->line_ready = false;
    r->line_odd = r->chunk_odd;
}

bool ak_line_next_begins(const struct ak_reader *r, const char *buf, size_t len) {
    if (r->next_mark >= r->marks)
        return false;
    bool newline = r->next_newline < r->newlines && r->newline[r->next_newline] == r->next_mark;
    return !newline && is_delimiter(r, buf, len, r->chunk + r->mark[r->next_mark]);
}

bool ak_line_skip(struct ak_reader *r, const char *buf, size_t len, bool eof) {
    size_t end = r->base + len;
    const char *newline =
        r->line_at < end ? memchr(buf + (r->line_at - r->base), '\n', end - r->line_at) : NULL;
    size_t to = newline ? r->base + (size_t)(newline - buf) + 1 : end;
    r->bytes_broken += to - r->line_at;
    r->line_at = r->line_end = to;
    if (newline || eof) {
        r->skipping = false;
        ak_line_pass(r);
    }
    /* Marks up to here are stale; scanning continues behind them. */
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
