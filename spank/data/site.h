/* site.h - what plugstack.conf says to adminkit_data. Pure. */
#ifndef ADMINKIT_DATA_SITE_H
#define ADMINKIT_DATA_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct da_site {
    char cache[PATH_MAX - 128]; /* root's folder */
    uint64_t size;              /* bytes that the copies may take; 0: half of the file system */
    long patience;              /* s that tasks wait for their part */
};

/* Reads the words after the plugin's name. `node` stands for %n in the cache's path. False: `why` says what
 * is wrong with them. */
bool da_site_read(struct da_site *site, int argc, char **argv, const char *node, char *why, size_t size);

/* A number of bytes with K, M, G or T behind it, or none. False: not one, or 0. */
bool da_size_read(const char *text, uint64_t *bytes);

#endif
