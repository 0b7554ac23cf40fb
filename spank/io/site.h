/* site.h - what plugstack.conf says to adminkit_io. Pure. */
#ifndef ADMINKIT_IO_SITE_H
#define ADMINKIT_IO_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define IO_FIRST 12 /* samples, before which a step asks slurmctld nothing and leaves nothing */

struct io_site {
    long period;               /* s between two looks at the threads, on average */
    long report;               /* s between two words in the job's comment */
    char state[PATH_MAX - 64]; /* root's folder */
};

/* Reads the words after the plugin's name. False: `why` says what is wrong with them. */
bool io_site_read(struct io_site *site, int argc, char **argv, char *why, size_t size);

#endif
