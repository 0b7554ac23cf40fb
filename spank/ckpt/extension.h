/* extension.h - what an AdminComment says of more time for the running job. Pure.
 *
 * A job that may be extended has `ext=auto` in the policy's record. `adminkit extend` writes, in the update
 * that sets the limit:
 *
 *     xt1:asked=3600,lim=5400,n=2
 *
 *     n   how many raises stand; while one does, the limit may be lowered again, down to the extension's lead
 *
 * The end itself is slurmctld's, whatever these words say: they say how often to ask for it. docs/extend.md
 */
#ifndef ADMINKIT_CKPT_EXTENSION_H
#define ADMINKIT_CKPT_EXTENSION_H

#include <stdbool.h>

/* Whether the first word that is wholly such a word has a raise that stands. NULL is an empty comment. */
bool ck_extension_stands(const char *comment);

/* Whether the policy's record lets the job be extended: somebody else may then write its AdminComment at any
 * time. */
bool ck_extension_possible(const char *comment);

#endif
