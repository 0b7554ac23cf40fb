/* options.h - the command line of adminkit-ingest. */
#ifndef ADMINKIT_OPTIONS_H
#define ADMINKIT_OPTIONS_H

#include "store.h"

/* The environment's variable that has the seal: arguments are for every user to read. */
#define AK_SEAL "ADMINKIT_SEAL"

struct ak_options {
    struct ak_store_options store;
    struct ak_format format;
    const char *columns, *timezone, *known, *tres, *fields, *order;
    struct ak_words wants, within, without;
    uint64_t first_line, parent;
    bool progress, gentle, parse_only, dump, hold, sealed, no_steps, kinds, version, help;
};

/* False: *error is a sentence. */
bool ak_options_parse(struct ak_options *options, int argc, char **argv, char *error, size_t error_size);
void ak_options_help(void);

#endif
