/* site.h - what plugstack.conf says to adminkit_gpu_use. Pure. */
#ifndef ADMINKIT_GPU_USE_SITE_H
#define ADMINKIT_GPU_USE_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct gu_site {
    long period;               /* s between two readings of a GPU */
    long report;               /* s between two words in the job's comment */
    char state[PATH_MAX - 64]; /* root's folder */
    char nvml[PATH_MAX];       /* the library */
    char text[PATH_MAX - 64];  /* node_exporter's folder; "": none */
};

/* Reads the words after the plugin's name. False: `why` says what is wrong with them. */
bool gu_site_read(struct gu_site *site, int argc, char **argv, char *why, size_t size);

#endif
