/* numbered.h - the SQL function numbered(): one number for equal arguments. Private to the store. */
#ifndef ADMINKIT_NUMBERED_H
#define ADMINKIT_NUMBERED_H

#include "store.h"

/* What was numbered already, kept in memory up to a bound, so that most calls need no statement. */
struct ak_numbered {
    struct ak_slots *slots;
    sqlite3_stmt *find, *make;
    uint64_t seed;
    char *text; /* the arguments of every slot, one behind the other, and at `used` those of this call */
    size_t used, room;
};

/* Makes the function known to the store's database. False: store->error. ak_numbered_close() is due in both
 * cases. */
bool ak_numbered_open(struct ak_numbered *numbered, struct ak_store *store);
void ak_numbered_close(struct ak_numbered *numbered, struct ak_store *store);

#endif
