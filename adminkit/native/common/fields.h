/* fields.h - one field into one or more values. Private to the parser; sacct.h has the meaning of each kind.
 */
#ifndef ADMINKIT_FIELDS_H
#define ADMINKIT_FIELDS_H

#include "sacct.h"

#include <string.h>

enum ak_fault { AK_FINE, AK_UNKNOWN, AK_MALFORMED, AK_TOO_LARGE, AK_NO_ZONE, AK_NO_SUCH_TIME, AK_UNSEALED };

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

static inline bool ak_starts(struct ak_slice s, const char *word, size_t n) {
    return s.n >= n && __builtin_memcmp(s.s, word, n) == 0;
}
#define AK_STARTS(slice, literal) ak_starts((slice), (literal), sizeof(literal) - 1)

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

/* slurm.h's numbers for "no value"; memory has them as MiB, so 2^31 MiB and above means "no value", too. */
#define AK_NO_VAL 4294967294u
#define AK_INFINITE 4294967295u
#define AK_NO_VAL64 (UINT64_MAX - 1)
#define AK_MAX_MEMORY ((int64_t)1 << 51)

static inline bool ak_unset(uint64_t value) {
    return value == AK_NO_VAL || value == AK_INFINITE || value >= AK_NO_VAL64;
}

/* Is it one of the words for "unknown"? */
bool ak_unknown(struct ak_slice s);
/* Eight characters, the first one lowest. AK_PADDING makes it safe at the buffer's end. */
static inline uint64_t ak_load(const char *p) {
    uint64_t x;
    memcpy(&x, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* Bit 7 of every byte that is not a digit. */
static inline uint64_t ak_no_digits(uint64_t x) {
    uint64_t low = (x & 0x7F7F7F7F7F7F7F7Fu) + 0x4646464646464646u;  /* above '9' */
    uint64_t high = (x | 0x8080808080808080u) - 0x3030303030303030u; /* bit 7 stays where not below '0' */
    return (low | ~high | x) & 0x8080808080808080u;
}

/* The first n (1 to 8) characters of x, all digits. */
static inline uint32_t ak_eight(uint64_t x, unsigned n) {
    x = (x - 0x3030303030303030u) << (64 - 8 * n);
    x = x * 10 + (x >> 8);
    return (uint32_t)((((x & 0x000000FF000000FFu) * 0x000F424000000064u) +
                       (((x >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
                      32);
}

/* How many of the first 8 characters are digits, of `left` that there are. */
static inline unsigned ak_leading(uint64_t x, size_t left) {
    uint64_t odd = ak_no_digits(x);
    unsigned n = odd ? (unsigned)__builtin_ctzll(odd) / 8 : 8;
    return n < left ? n : (unsigned)left;
}

/* Reads the digits at *p, at least one, and moves *p behind them. */
enum ak_fault ak_digits_long(const char **p, const char *end, uint64_t *value);
static inline enum ak_fault ak_digits(const char **p, const char *end, uint64_t *value) {
    uint64_t x = ak_load(*p);
    unsigned n = ak_leading(x, (size_t)(end - *p));
    if (n == 0)
        return AK_MALFORMED;
    if (n == 8)
        return ak_digits_long(p, end, value);
    *value = ak_eight(x, n);
    *p += n;
    return AK_FINE;
}
/* A number that counts something: not one of Slurm's for "unset" (AK_UNKNOWN), not above INT64_MAX. */
static inline enum ak_fault ak_as_count(uint64_t number, int64_t *count) {
    if (ak_unset(number))
        return AK_UNKNOWN;
    if (number > INT64_MAX)
        return AK_TOO_LARGE;
    *count = (int64_t)number;
    return AK_FINE;
}
/* Digits and nothing else. */
static inline enum ak_fault ak_number(struct ak_slice s, uint64_t *value) {
    const char *p = s.s, *end = s.s + s.n;
    enum ak_fault fault = ak_digits(&p, end, value);
    return p != end ? AK_MALFORMED : fault;
}
/* A count: digits, or one of Slurm's numbers for "unset" (AK_UNKNOWN). */
enum ak_fault ak_count(struct ak_slice s, int64_t *value);
/* A count, or digits with a fraction, K M G T P E; bytes. `shift`: what a number without a unit is shifted
 * by. AK_UNKNOWN: no value, or more than any memory: from 2^63 bytes on, and all that Slurm has no letter
 * for. */
enum ak_fault ak_size(struct ak_slice s, int shift, int64_t *bytes);
/* The digits at *p, nine at most, as value / scale; moves *p behind them. */
enum ak_fault ak_fraction(const char **p, const char *end, uint32_t *value, uint32_t *scale);
enum ak_fault ak_clock_read(struct ak_slice s, struct ak_clock *clock);
/* [D-]H:M:S[.f], M:S[.f] or S[.f] in whole seconds; the fraction stays in `clock`. */
enum ak_fault ak_duration(struct ak_slice s, struct ak_clock *clock, int64_t *seconds);

/* The name of a number in a list of TRES; NULL: it has none. `ids` may be NULL. */
const struct ak_slice *ak_tres_name(const struct ak_tres_ids *ids, struct ak_slice key);

/* The kinds. Outputs are AK_NULL before. After AK_UNKNOWN they still are (and the kind of `limit` is
 * "unknown"). */
enum ak_fault ak_int(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_serial(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_real(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_swf(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_seconds(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_cputime(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_limit(struct ak_slice s, struct ak_cell out[2]);
void ak_admin_comment(struct ak_slice s, struct ak_cell out[10]);
void ak_submitted(struct ak_slice s, const struct ak_known *known, struct ak_cell out[5]);
enum ak_fault ak_exit(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_mem(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_reqmem(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_state(struct ak_slice s, struct ak_cell out[2]);
enum ak_fault ak_jobid(struct ak_slice s, struct ak_cell out[7]);
enum ak_fault ak_rawid(struct ak_slice s, struct ak_cell *out);
enum ak_fault ak_usage(struct ak_slice s, const struct ak_tres_ids *ids, struct ak_cell out[6]);
/* These may write texts into `scratch` (three times as long as the field and 1 KiB at most) and add to
 * `*used`. */
enum ak_fault ak_tres(struct ak_slice s, const struct ak_tres_ids *ids, struct ak_cell out[8], char *scratch,
                      size_t *used);
enum ak_fault ak_gres(struct ak_slice s, struct ak_cell out[4], char *scratch, size_t *used);
/* Times. One that occurs twice is the first, and in rows->twice. */
enum ak_fault ak_time(struct ak_slice s, struct ak_rows *rows, struct ak_cell *out);
enum ak_fault ak_epoch(struct ak_slice s, struct ak_cell *out);
/* Decides between the meanings in rows->twice, as ak_spec_order() says. */
void ak_settle(struct ak_rows *rows);
/* Whether a job's times contradict each other, or its run time. */
bool ak_contradictory(struct ak_rows *rows);

#endif
