/* program.h - the programs that plugins start as root, apart from slurmstepd. */
#ifndef ADMINKIT_PROGRAM_H
#define ADMINKIT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of a program that lies beside the plugin. False: the plugin's own place is unknown, or too long.
 */
bool ak_program_find(const char *name, char *path, size_t size);

/* Starts it in a session of its own with `input` as its standard input, and nothing else of the caller's open
 * but what stays open over an exec. 0 or an errno. */
int ak_program_start(const char *path, char **argv, char **environment, int input, pid_t *pid);

#endif
