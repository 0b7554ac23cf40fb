/* reader.h - the parts of ak_reader_next(): lines, and the fields of a record. Private to reader*.c; sacct.h
 * is the manual. `buf` holds `len` bytes of the input, from reader->base on. */
#ifndef ADMINKIT_READER_H
#define ADMINKIT_READER_H

#include "sacct.h"

/* What is wrong with a record: for ak_record_broken(), which is given the number of columns. */
#define AK_COUNTED "columns: %zu, expected: %zu"

/* The input from `from` up to `to`, both counted from its start. */
static inline struct ak_slice ak_slice_of(const struct ak_reader *r, const char *buf, size_t from,
                                          size_t to) {
    return (struct ak_slice){buf + (from - r->base), to - from};
}

/* How many columns that many delimiters are. */
static inline size_t ak_columns_of(const struct ak_reader *r, size_t count) {
    return count + !r->format.ends + r->more;
}

/* The next thing, of which packed columns are one field still: reader.c. */
enum ak_event ak_reader_event(struct ak_reader *r, const char *buf, size_t len, bool eof,
                              struct ak_record *record);

/* ---- packed columns: reader_packed.c ---- */

/* Whether the columns that the format packs are there, and none of them is free. */
bool ak_may_pack(const struct ak_spec *spec, const struct ak_format *format);

/* ---- lines: reader_lines.c ---- */

/* Completes the current line: line_end, line_text (its end without the line break), count, at[]. False: the
 * buffer ends before it does. */
bool ak_line_find(struct ak_reader *r, const char *buf, size_t len, bool eof);
/* Steps over the current line. */
void ak_line_pass(struct ak_reader *r);
/* Does the line after the current one surely begin a record of its own? */
bool ak_line_next_begins(const struct ak_reader *r, const char *buf, size_t len);
/* Passes over the rest of a line that is longer than a record may be. False: not yet at its end. */
bool ak_line_skip(struct ak_reader *r, const char *buf, size_t len, bool eof);

/* ---- fields: reader_fields.c ---- */

/* `raw` is not a record: `format` says why, of the number of `columns`. AK_BROKEN. */
enum ak_event ak_record_broken(struct ak_reader *r, struct ak_record *record, uint64_t line,
                               struct ak_slice raw, const char *format, size_t columns);
/* record->raw, several lines or with `surplus` delimiters too many, into record->field[]. */
void ak_record_split(const struct ak_reader *r, struct ak_record *record, size_t surplus);
/* The current line, which has at least the delimiters that are wanted, as a record. */
void ak_record_of_line(const struct ak_reader *r, const char *buf, struct ak_record *record);
/* The current line as words with blanks between: a record, or AK_BROKEN. */
enum ak_event ak_record_of_words(struct ak_reader *r, const char *buf, struct ak_record *record);

#endif
