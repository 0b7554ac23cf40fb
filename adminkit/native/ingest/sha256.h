/* sha256.h - SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). */
#ifndef ADMINKIT_SHA256_H
#define ADMINKIT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define AK_DIGEST 32 /* bytes of a digest, and of a key */

/* A digest on its way: eight words, the bytes so far, and those that fill no block yet. */
struct ak_sha256 {
    uint32_t word[8];
    uint64_t n;
    uint8_t block[64];
};

/* What a key makes of HMAC, computed once: both hashes after their first block. */
struct ak_hmac {
    struct ak_sha256 inner, outer;
};

void ak_hmac_key(struct ak_hmac *hmac, const uint8_t key[AK_DIGEST]);

/* The HMAC of a text of `n` bytes. */
void ak_hmac_text(const struct ak_hmac *hmac, const void *text, size_t n, uint8_t digest[AK_DIGEST]);

#endif
