/* request.h - what a user asks for with --data=DIR[:MODE]. Pure. */
#ifndef ADMINKIT_DATA_REQUEST_H
#define ADMINKIT_DATA_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum da_mode {
    DA_FIRST,  /* tasks wait until this node's part is here */
    DA_BEHIND, /* tasks start at once */
    DA_OFF     /* tasks read the shared folder */
};

struct da_request {
    char folder[PATH_MAX]; /* absolute, without a slash at its end */
    enum da_mode mode;     /* DA_FIRST where the user names none */
};

/* Reads the option's text; a folder that does not begin with a slash is one in `here`. False: `why` says
 * what is wrong. Trap: a folder's name may have a colon; only a mode after the last one is cut off. */
bool da_request_read(struct da_request *request, const char *text, const char *here, const char **why);

/* first, behind or off */
const char *da_mode_name(enum da_mode mode);

#endif
