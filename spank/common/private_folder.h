/* private_folder.h - a folder that only this user, root, can look into. */
#ifndef ADMINKIT_PRIVATE_FOLDER_H
#define ADMINKIT_PRIVATE_FOLDER_H

#include <stdbool.h>

/* A descriptor of the folder, which `make` makes where it is missing, with the folder that it is in; -1:
 * errno, EPERM where it is another user's or others may enter it. */
int ak_private_folder(const char *folder, bool make);

#endif
