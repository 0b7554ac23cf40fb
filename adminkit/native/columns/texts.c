#include "texts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64
/* 2^31 - 1 */
#define PRIME 0x7fffffffu

static uint64_t modulo(uint64_t value) {
    value = (value & PRIME) + (value >> 31);
    return value >= PRIME ? value - PRIME : value;
}

/* The text as a polynomial at a random place, over the numbers modulo a prime: three bytes are a coefficient.
 * Whoever does not know the place cannot make two texts meet but by chance. */
static uint32_t hash_of(uint32_t seed, const char *text, int64_t length) {
    uint64_t place = seed % (PRIME - 2) + 1, hash = (uint64_t)length % PRIME;
    for (int64_t at = 0; at < length; at += 3) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < 3 ? (size_t)(length - at) : 3);
        hash = modulo(modulo(hash * place) + word);
    }
    return (uint32_t)hash;
}

/* The place of a text among the recent ones: by its length and its last bytes. */
static uint64_t recent_place(const char *text, int64_t length) {
    uint64_t word = 0;
    uint32_t first = 0, last = 0;
    if (length >= 8) {
        memcpy(&word, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&first, text, 4);
        memcpy(&last, text + length - 4, 4);
        word = (uint64_t)first << 32 | last;
    } else if (length > 0) {
        word = (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[length / 2] << 8 |
               (unsigned char)text[length - 1];
    }
    return ((word ^ (uint64_t)length) * 0x9e3779b97f4a7c15u) >> (64 - AK_RECENT_BITS);
}

static bool is(const struct ak_texts *texts, int64_t number, const char *text, int64_t length) {
    int64_t begin = number ? texts->ends[number - 1] : 0;
    return texts->ends[number] - begin == length &&
           (length == 0 || memcmp(texts->bytes + begin, text, (size_t)length) == 0);
}

/* Twice as many places, and each text in its own. */
static bool grow(struct ak_texts *texts) {
    int64_t size = texts->size ? texts->size * 2 : FIRST_SIZE;
    int64_t *ends = realloc(texts->ends, (size_t)size / 2 * sizeof *ends);
    texts->ends = ends != NULL ? ends : texts->ends;
    uint32_t *hashes = realloc(texts->hashes, (size_t)size / 2 * sizeof *hashes);
    texts->hashes = hashes != NULL ? hashes : texts->hashes;
    int64_t *places = realloc(texts->places, (size_t)size * sizeof *places);
    texts->places = places != NULL ? places : texts->places;
    if (ends == NULL || hashes == NULL || places == NULL)
        return false;
    texts->size = size;
    memset(texts->places, 0, (size_t)size * sizeof *texts->places);
    for (int64_t number = 0; number < texts->count; number++) {
        if (number + 1 == texts->none)
            continue;
        int64_t place = texts->hashes[number] & (size - 1);
        while (texts->places[place])
            place = (place + 1) & (size - 1);
        texts->places[place] = number + 1;
    }
    return true;
}

static int64_t add(struct ak_texts *texts, const char *text, int64_t length, uint32_t hash) {
    if (texts->length + length > texts->room) {
        int64_t room = (texts->length + length) * 2;
        char *bytes = realloc(texts->bytes, (size_t)room);
        if (bytes == NULL)
            return -1;
        texts->bytes = bytes;
        texts->room = room;
    }
    if (length)
        memcpy(texts->bytes + texts->length, text, (size_t)length);
    texts->length += length;
    texts->ends[texts->count] = texts->length;
    texts->hashes[texts->count] = hash;
    return texts->count++;
}

static int64_t looked_up(struct ak_texts *texts, const char *text, int64_t length) {
    if (texts->count >= texts->size / 2 && !grow(texts))
        return -1;
    uint32_t hash = hash_of(texts->seed, text, length);
    int64_t place = hash & (texts->size - 1), number;
    while ((number = texts->places[place] - 1) >= 0) {
        if (texts->hashes[number] == hash && is(texts, number, text, length))
            return number;
        place = (place + 1) & (texts->size - 1);
    }
    number = add(texts, text, length, hash);
    if (number >= 0)
        texts->places[place] = number + 1;
    return number;
}

int64_t ak_texts_number(struct ak_texts *texts, const char *text, int64_t length) {
    int64_t *recent = &texts->recent[recent_place(text, length)];
    if (*recent && is(texts, *recent - 1, text, length))
        return *recent - 1;
    int64_t number = looked_up(texts, text, length);
    *recent = number + 1;
    return number;
}

int64_t ak_texts_nothing(struct ak_texts *texts) {
    if (texts->none == 0) {
        if (texts->count >= texts->size / 2 && !grow(texts))
            return -1;
        texts->none = add(texts, "", 0, 0) + 1;
    }
    return texts->none - 1;
}

void ak_texts_free(struct ak_texts *texts) {
    free(texts->ends);
    free(texts->bytes);
    free(texts->hashes);
    free(texts->places);
    *texts = (struct ak_texts){0};
}
