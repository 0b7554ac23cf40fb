/* sha256.c - SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104). */
#include "sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
}

static void add_block(uint32_t word[8], const uint8_t *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i - 7] +
               (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    memcpy(s, word, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t a = s[0], e = s[4];
        uint32_t one = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                       constant[i] + w[i];
        uint32_t two =
            (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        word[i] += s[i];
}

static void add(struct ak_sha256 *hash, const void *text, size_t n) {
    const uint8_t *from = text;
    while (n) {
        size_t at = hash->n % BLOCK, some = n < BLOCK - at ? n : BLOCK - at;
        memcpy(hash->block + at, from, some);
        hash->n += some;
        from += some;
        n -= some;
        if (hash->n % BLOCK == 0)
            add_block(hash->word, hash->block);
    }
}

static void end(struct ak_sha256 *hash, uint8_t digest[AK_DIGEST]) {
    uint64_t bits = hash->n * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(hash, "\x80", 1);
    while (hash->n % BLOCK != BLOCK - sizeof length)
        add(hash, "", 1);
    add(hash, length, sizeof length);
    for (int i = 0; i < AK_DIGEST; i++)
        digest[i] = (uint8_t)(hash->word[i / 4] >> (24 - 8 * (i % 4)));
}

static void begin(struct ak_sha256 *hash, const uint8_t key[AK_DIGEST], uint8_t pad) {
    uint8_t block[BLOCK];
    memset(block, pad, sizeof block);
    for (int i = 0; i < AK_DIGEST; i++)
        block[i] ^= key[i];
    memcpy(hash->word, first, sizeof first);
    hash->n = 0;
    add(hash, block, sizeof block);
}

void ak_hmac_key(struct ak_hmac *hmac, const uint8_t key[AK_DIGEST]) {
    begin(&hmac->inner, key, 0x36);
    begin(&hmac->outer, key, 0x5c);
}

void ak_hmac_text(const struct ak_hmac *hmac, const void *text, size_t n, uint8_t digest[AK_DIGEST]) {
    struct ak_sha256 inner = hmac->inner, outer = hmac->outer;
    add(&inner, text, n);
    end(&inner, digest);
    add(&outer, digest, AK_DIGEST);
    end(&outer, digest);
}
