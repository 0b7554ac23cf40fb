/* fingerprint.c - 64 bits for a text. */
#include "fingerprint.h"
#include "fields.h"

#include <string.h>

uint64_t ak_fingerprint(uint64_t seed, const char *s, size_t n) {
    uint64_t a = seed ^ n * 0x9E3779B97F4A7C15u, b = ~a;
    for (; n >= 16; s += 16, n -= 16) {
        uint64_t x, y;
        memcpy(&x, s, 8);
        memcpy(&y, s + 8, 8);
        a = (a ^ x) * 0x9FB21C651E98DF25u;
        b = (b ^ y) * 0xD6E8FEB86659FD93u;
        a ^= a >> 32;
        b ^= b >> 32;
    }
    for (; n; s++, n--)
        a = (a ^ (unsigned char)*s) * 0x9FB21C651E98DF25u;
    a ^= (b << 29 | b >> 35) * 0x9E3779B97F4A7C15u;
    a = (a ^ a >> 30) * 0xBF58476D1CE4E5B9u;
    return a ^ a >> 31;
}

static uint64_t mix(uint64_t print, uint64_t x) {
    print = (print ^ x) * 0x9FB21C651E98DF25u;
    return print ^ print >> 32;
}

uint64_t ak_fingerprint_fields(const struct ak_spec *spec, const struct ak_record *record,
                               struct ak_slice seal) {
    uint64_t print = 0;
    for (int i = 0; i < spec->columns; i++) {
        struct ak_slice s = record->field[i];
        if (spec->column[i].kind == AK_TIME && s.n >= seal.n &&
            memcmp(s.s + s.n - seal.n, seal.s, seal.n) == 0)
            s.n -= seal.n;
        print = mix(print, s.n);
        for (; s.n > 8; s.s += 8, s.n -= 8)
            print = mix(print, ak_load(s.s));
        if (s.n) /* AK_PADDING makes it safe */
            print = mix(print, ak_load(s.s) & (UINT64_MAX >> (64 - 8 * s.n)));
    }
    return print;
}
