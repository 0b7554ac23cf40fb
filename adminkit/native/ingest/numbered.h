/* numbered.h - one number for equal lists of parts, those of a table in the database. Private to the store.
 */
#ifndef ADMINKIT_NUMBERED_H
#define ADMINKIT_NUMBERED_H

#include "store.h"

/* A list of texts and numbers, written so that no two lists look alike. */
struct ak_parts {
    char *bytes;
    size_t n, room;
};

/* Puts a part behind the others. A text of NULL, or an unknown number, is NULL. False: no memory. */
bool ak_parts_text(struct ak_parts *parts, struct ak_slice text);
bool ak_parts_number(struct ak_parts *parts, bool known, int64_t number);

/* What was numbered already, kept in memory up to a bound, so that most lists need no statement. */
struct ak_numbered {
    struct ak_slots *slots;
    sqlite3_stmt *find, *before, *make;
    uint64_t seed;
    char *text; /* the lists of every slot, one behind the other */
    size_t used, room;
};

/* `find` is a SELECT of a list's number, with a parameter for each part, `before` and `make` INSERTs where
 * that finds none, with the same parameters; `before` may be NULL. The number is then found
 * again. False: store->error. ak_numbered_close() is due in both cases. */
bool ak_numbered_open(struct ak_numbered *numbered, struct ak_store *store, const char *find,
                      const char *before, const char *make);

/* The number of a list, the first `n` bytes of parts that were put together. False: store->error. */
bool ak_numbered_of(struct ak_numbered *numbered, struct ak_store *store, const char *parts, size_t n,
                    int64_t *number);

void ak_numbered_close(struct ak_numbered *numbered);

#endif
