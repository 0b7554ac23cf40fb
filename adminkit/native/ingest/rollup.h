/* rollup.h - the rollups of the rows that a load stores, summed up in memory. Private to the store. */
#ifndef ADMINKIT_ROLLUP_H
#define ADMINKIT_ROLLUP_H

#include "store.h"

/* Makes the SQL function rolled() known, where there is a --rollup, and prepares its statements. rolled(x,
 * RUN) is x, and keeps in mind what the run adds, whose columns RUN are in the order of image.h; rolled(x,
 * OLD, NEW) that it is one run no more and another one. Until
 * ak_rollup_finish() the database's own triggers do nothing. False: store->error. */
bool ak_rollup_open(struct ak_store *store);

/* Before a row's statement: nothing is in mind. */
void ak_rollup_forget(struct ak_store *store);

/* After a row's statement, if it has stored something: adds what is in mind. False: store->error. */
bool ak_rollup_take(struct ak_store *store);

/* Adds what the SELECT of --rollup rows= keeps in mind, row by row, and puts every sum away. False: as above.
 */
bool ak_rollup_finish(struct ak_store *store);

void ak_rollup_close(struct ak_store *store);

#endif
