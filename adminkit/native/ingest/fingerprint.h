/* fingerprint.h - whether a text is the one of the last time. */
#ifndef ADMINKIT_FINGERPRINT_H
#define ADMINKIT_FINGERPRINT_H

#include "sacct.h"

/* 64 bits that two different texts hardly share. Not for the eyes of an adversary: the key of the row is
 * compared too. */
uint64_t ak_fingerprint(uint64_t seed, const char *s, size_t n);

/* The fingerprint of a record's fields, without what is drawn by lot for each answer: the delimiter, and the
 * seal behind its times. */
uint64_t ak_fingerprint_fields(const struct ak_spec *spec, const struct ak_record *record,
                               struct ak_slice seal);

#endif
