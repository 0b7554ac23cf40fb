/* values.h - one field into one or more values. Private to the parser; sacct.h has the meaning of each kind.
 */
#ifndef ADMINKIT_VALUES_H
#define ADMINKIT_VALUES_H

#include "sacct.h"

enum ak_fault { AK_FINE, AK_UNKNOWN, AK_MALFORMED, AK_TOO_LARGE, AK_NO_ZONE, AK_NO_SUCH_TIME };

/* Days, hours, minutes … as they stand in a clock; `parts` of them in part[0..], leading one first. */
struct ak_clock {
    uint64_t days, part[3];
    int parts;
    bool has_days;
    uint32_t fraction, scale; /* .250 is 250 of 1000; scale is 1 without a fraction */
};

static inline bool ak_is(struct ak_slice s, const char *word, size_t n) {
    return s.n == n && __builtin_memcmp(s.s, word, n) == 0;
}
#define AK_IS(slice, literal) ak_is((slice), (literal), sizeof(literal) - 1)

static inline bool ak_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static inline void ak_set_int(struct ak_cell *cell, int64_t value) {
    cell->type = AK_INT;
    cell->v.i = value;
}
static inline void ak_set_real(struct ak_cell *cell, double value) {
    cell->type = AK_REAL;
    cell->v.d = value;
}
static inline void ak_set_text(struct ak_cell *cell, const char *s, size_t n) {
    cell->type = AK_TEXT;
    cell->n = (uint32_t)n;
    cell->v.s = s;
}

/* Is it one of the words for "unknown"? */
bool ak_unknown(struct ak_slice s);
/* Digits and nothing else. */
enum ak_fault ak_number(struct ak_slice s, uint64_t *value);
/* A count: digits, or one of Slurm's numbers for "unset" (AK_UNKNOWN). */
enum ak_fault ak_count(struct ak_slice s, int64_t *value);
/* A count, or digits with a fraction, K M G T P E; bytes. `shift`: what a number without a unit is shifted
 * by. */
enum ak_fault ak_size(struct ak_slice s, int shift, int64_t *bytes);
enum ak_fault ak_clock_read(struct ak_slice s, struct ak_clock *clock);
/* [D-]H:M:S[.f], M:S[.f] or S[.f] in whole seconds; the fraction stays in `clock`. */
enum ak_fault ak_duration(struct ak_slice s, struct ak_clock *clock, int64_t *seconds);

/* The kinds. Outputs are AK_NULL before. AK_UNKNOWN leaves them so (and `limit` says "unknown"). */
enum ak_fault ak_int(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_real(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_swf(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_seconds(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_cputime(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_limit(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_exit(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_mem(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_reqmem(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_state(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_jobid(struct ak_slice s, struct ak_cell out[6]);
enum ak_fault ak_rawid(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_usage(struct ak_slice s, struct ak_cell out[6]);
/* These may write a joined GPU type into `scratch` (as long as the field at most) and add to `*used`. */
enum ak_fault ak_tres(struct ak_slice s, struct ak_cell out[7], char *scratch, size_t *used);
enum ak_fault ak_gres(struct ak_slice s, struct ak_cell out[2], char *scratch, size_t *used);
/* Times. */
enum ak_fault ak_time(struct ak_slice s, struct ak_rows *rows, struct ak_cell *out);

#endif
