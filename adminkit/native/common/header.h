/* header.h - headers between the records: several files of sacct's text one behind the other. Private to the
 * parser and its program; `--fields` of docs/ingest-spec.md is the manual. */
#ifndef ADMINKIT_HEADER_H
#define ADMINKIT_HEADER_H

#include "sacct.h"

#define AK_MAX_FIELDS 384
#define AK_FIELD_NAME 40

/* The words that a header may have, and what each is: the place of a column of the spec, or only a kind. */
struct ak_fields {
    const struct ak_spec *spec;
    struct {
        struct ak_slice name,
            other; /* other: whose column it has where the header lacks it; empty for none */
        int place; /* in the spec, or -1 */
        enum ak_kind kind;
    } one[AK_MAX_FIELDS];
    int n;
};

/* Reads "JobID=0,Eligible=7:Submit,Planned=skip". Keeps pointers into `text`. False: it is not such a list.
 */
bool ak_fields_parse(struct ak_fields *fields, const struct ak_spec *spec, const char *text);

/* How the columns of the text after a header lie. */
struct ak_layout {
    int columns;
    bool ends;
    enum ak_kind kind[AK_MAX_COLUMNS]; /* of the text's columns */
    int from[AK_MAX_COLUMNS];          /* column of the spec -> of the text, or -1 */
    int free_one, submitted, number;   /* the text's; -1 for none. number: the one of kind rawid */
};

/* The text's columns are those of the spec. */
void ak_layout_of_spec(struct ak_layout *layout, const struct ak_spec *spec, bool ends);

enum ak_heading { AK_NO_HEADER, AK_HEADER_READ, AK_HEADER_BAD };

/* Whether `line` is a header: JobID among its words, and most of them names of fields, or each of three or
 * more. READ: `layout` is filled. BAD: what follows cannot be read, and `reason` says why. */
enum ak_heading ak_header_read(const struct ak_fields *fields, const char *delimiter, struct ak_slice line,
                               struct ak_layout *layout, char reason[AK_REASON]);

/* Puts a record's fields into the order of the spec; those that the text lacks are empty. */
void ak_layout_apply(const struct ak_layout *layout, const struct ak_spec *spec, struct ak_record *record);

#endif
