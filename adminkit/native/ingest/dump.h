/* dump.h - rows and kinds on standard output, as JSON. */
#ifndef ADMINKIT_DUMP_H
#define ADMINKIT_DUMP_H

#include "sacct.h"

/* A line ["SORT", cell, ...] for each row. */
void ak_dump_row(const char *sort, const struct ak_cell *cell, int n);

/* A line ["rejected", LINE, "REASON"]. */
void ak_dump_rejected(uint64_t line, const char *reason);

/* {"KIND": ["OUTPUT", ...], ...} */
void ak_dump_kinds(void);

#endif
