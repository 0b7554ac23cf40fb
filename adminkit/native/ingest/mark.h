/* mark.h - the SQL function mark(kind, text): a keyed hash, by which trace/forgotten.py knows a name that was
 * forgotten. */
#ifndef ADMINKIT_MARK_H
#define ADMINKIT_MARK_H

#include "store.h"

#define AK_KEY "ADMINKIT_FORGET_KEY" /* of the environment: 64 hexadecimal digits */

/* Makes mark() known to the database where the environment has a key. False: store->error. */
bool ak_mark_register(struct ak_store *store);

#endif
