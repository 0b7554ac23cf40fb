/* progress_file.h - the file in which a batch job says how far it came: adminkit_progress beside its script,
 * in the folder that slurmd makes for the job. The folder is root's and the file the user's, as the script
 * is: they can write into it, and put nothing else in its place. */
#ifndef ADMINKIT_CKPT_PROGRESS_FILE_H
#define ADMINKIT_CKPT_PROGRESS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "progress_word.h"

#define CK_PROGRESS_VARIABLE "ADMINKIT_PROGRESS"

struct ck_progress {
    char path[PATH_MAX]; /* "": there is no such file */
    uid_t uid;           /* whose it is */
    gid_t gid;
};

/* Names the file of the batch step whose script this is. False: the script has no folder of its own. */
bool ck_progress_name(struct ck_progress *file, const char *script);

/* Makes it, empty, and its user's. 0 or an errno. */
int ck_progress_create(const struct ck_progress *file);

/* Reads it as its user, without following a link or waiting for anybody. False: it is not there, no plain
 * file of that user's, or no number, and `digits` is "". */
bool ck_progress_read(const struct ck_progress *file, char digits[CK_PROGRESS_DIGITS + 1]);

/* Removes it: slurmd cannot remove a folder in which something is left. */
void ck_progress_remove(const struct ck_progress *file);

#endif
