/* sums.h - sums of rows by group, made in memory between statements given from outside. Private to the store.
 */
#ifndef ADMINKIT_SUMS_H
#define ADMINKIT_SUMS_H

#include "store.h"

/* Runs --sum-rows, adds its rows up as each --sum says, and runs the statement of a --sum once for each of
 * its groups, in their order. The function numbered() of --sum-rows is the number that --number finds for its
 * arguments, or the rowid of the row that --number-new then makes. Where there is no --sum-rows it does
 * nothing. False: store->error. */
bool ak_sums_run(struct ak_store *store);

#endif
