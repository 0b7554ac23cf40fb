/* texts.h - a number for each different text, from 0 in the order in which they come. */
#ifndef ADMINKIT_TEXTS_H
#define ADMINKIT_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#define AK_RECENT_BITS 8

/* Zeroed but for the seed it is empty. */
struct ak_texts {
    uint32_t seed;  /* at random: users choose texts, and must not know which share a place */
    int64_t count;  /* of the texts */
    int64_t none;   /* 1 + the number that no text has; 0 where nobody asked for it */
    int64_t *ends;  /* of each text in `bytes` */
    char *bytes;    /* of all texts, one behind the other */
    int64_t length; /* of `bytes` */
    int64_t room;   /* for bytes */
    uint32_t *hashes;
    int64_t *places; /* of a hash -> the text's number + 1; 0 for none */
    int64_t size;    /* of `places`, a power of 2; half of it is the room for texts */
    /* Of texts that came lately the number + 1, by a hash that anybody can foresee: it saves the other one,
     * or nothing. */
    int64_t recent[1 << AK_RECENT_BITS];
};

/* The number of a text; -1 without memory. */
int64_t ak_texts_number(struct ak_texts *texts, const char *text, int64_t length);

/* The number that no text has; -1 without memory. */
int64_t ak_texts_nothing(struct ak_texts *texts);

void ak_texts_free(struct ak_texts *texts);

#endif
