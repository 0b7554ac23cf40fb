/* spec.h - values, their kinds, and the column spec. sacct.h is its manual. */
#ifndef ADMINKIT_SPEC_H
#define ADMINKIT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AK_MAX_COLUMNS 256
#define AK_MAX_OUTPUTS 1024
#define AK_MAX_RECORD ((size_t)1 << 20)
#define AK_MAX_LINES 131072 /* slurmdbd keeps 64 KiB of a command line: 65,536 newlines */
#define AK_MAX_DELIMITER 16
#define AK_MAX_SEAL 24
#define AK_ORDER 7
#define AK_MAX_TWICE 8
#define AK_REASON 120
/* This number of bytes behind the input in the buffer must be readable; what they are does not matter. */
#define AK_PADDING 8

struct ak_fields; /* header.h */
struct ak_layout;
struct ak_slice {
    const char *s;
    size_t n;
};

/* ---- values ---- */

enum ak_type { AK_NULL, AK_INT, AK_REAL, AK_TEXT };

struct ak_cell {
    enum ak_type type;
    uint32_t n; /* of a text, in bytes */
    union {
        int64_t i;
        double d;
        const char *s; /* not terminated; lives until the next ak_rows_take() or change of the buffer */
    } v;
};

enum ak_kind {
    AK_SKIP,
    AK_KIND_TEXT,
    AK_FREE,
    AK_ADMIN_COMMENT,
    AK_SUBMITTED,
    AK_KIND_INT,
    AK_SERIAL,
    AK_KIND_REAL,
    AK_SWF,
    AK_TIME,
    AK_EPOCH,
    AK_SECONDS,
    AK_CPUTIME,
    AK_LIMIT,
    AK_JOBID,
    AK_RAWID,
    AK_STATE,
    AK_EXIT,
    AK_MEM,
    AK_REQMEM,
    AK_TRES,
    AK_GRES,
    AK_USAGE,
    AK_NODELIST,
    AK_KINDS
};

/* May it hold delimiters and newlines? */
static inline bool ak_is_free(enum ak_kind kind) {
    return kind == AK_FREE || kind == AK_ADMIN_COMMENT || kind == AK_SUBMITTED;
}

/* A kind's name and the names of its outputs, as adminkit/ingest/spec.py has them. */
struct ak_kind_info {
    const char *name;
    int outputs;
    const char *output[10];
};
extern const struct ak_kind_info ak_kinds[AK_KINDS];

struct ak_column {
    enum ak_kind kind;
    bool required, inherit;
    int out; /* place of its first output, from 0 */
    int outputs;
    const char *is;      /* what it must be in a job's row; NULL: anything */
    const char *without; /* a job's row with this text is passed over; NULL: none */
    bool within;         /* a known time must be in [from, until) */
    int64_t from, until;
};

struct ak_spec {
    struct ak_column column[AK_MAX_COLUMNS];
    int columns, outputs;
    int jobid;           /* index of the jobid column, or -1 */
    int free_one;        /* index of the free column where there is exactly one, or -1 */
    int submitted;       /* index of the submitted column, or -1 */
    int order[AK_ORDER]; /* ak_spec_order(): columns from 1, or 0 */
    int inherited[AK_MAX_COLUMNS + 1],
        inherits; /* the columns a job keeps for its steps: jobid and `^` ones */
};

/* Reads a spec. False: the text is not a spec, and `error` is a sentence. */
bool ak_spec_parse(struct ak_spec *spec, const char *text, char *error, size_t error_size);

/* Adds a demand to a spec: column N (from 1) of a job's row is `TEXT` ("N=TEXT", kept), or with `window` its
 * time is in [FROM, UNTIL) ("N=FROM..UNTIL"). False: the column, its kind or the times are wrong. */
bool ak_spec_wants(struct ak_spec *spec, const char *text, bool window);

/* A job's row whose column N, a state, is WORD ("N=WORD", kept) is AK_PASSED. False: no such column. */
bool ak_spec_without(struct ak_spec *spec, const char *text);

/* The columns of submission, eligibility, start, end, run time, the same as a clock, and suspension,
 * "3,0,4,5,6,0,0": their order, and the run time, say which one a time is that occurs twice. False: no such
 * columns. */
bool ak_spec_order(struct ak_spec *spec, const char *text);

/* Programs that are worth a name, for `submitted`: which word means what. */
#define AK_MAX_KNOWN 128
#define AK_LONGEST 64
struct ak_known {
    struct {
        struct ak_slice word, name;
        bool container; /* else a framework */
    } one[AK_MAX_KNOWN];
    int n;
    uint64_t last[AK_LONGEST + 1]; /* private: which last bytes words of a length have, modulo 64 */
};

/* Reads "WORD=f:NAME,WORD=c:NAME" (frameworks, containers). Keeps pointers into `text`. False: it is
 * not such a list. */
bool ak_known_parse(struct ak_known *known, const char *text);

/* A site's own TRES: their numbers in slurmdbd's tables, ascending, and their names with a = behind, or
 * nothing for one that is not a GRES. */
#define AK_MAX_TRES_IDS 4096
struct ak_tres_ids {
    struct {
        uint64_t id;
        struct ak_slice name;
    } one[AK_MAX_TRES_IDS];
    int n;
};

/* Reads "1001:gres/gpu=,1002:gres/gpu:a100=,1003:". Keeps pointers into `text`. False: it is not such a
 * list. */
bool ak_tres_ids_parse(struct ak_tres_ids *ids, const char *text);

/* What local time is: seconds east of UTC at `epoch`. False: unknown. */
struct ak_zone {
    bool (*offset)(void *context, int64_t epoch, int64_t *seconds);
    void *context;
};

#endif
