/* job_log.c - see job_log.h. */
#include "job_log.h"

#include <poll.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define SLOW_READER 50 /* ms */

/* Trap: Slurm writes while it holds its log's lock, so a line that nobody reads would block all of
 * slurmstepd.
 */
static bool stderr_has_room(void) {
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, SLOW_READER) == 1 && out.revents == POLLOUT;
}

/* The line reaches the node's log and a terminal: nothing that a user wrote may start a line there or control
 * the terminal. */
static void make_printable(char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void ak_job_log(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    make_printable(line);
    if (stderr_has_room())
        slurm_spank_log("adminkit: %s", line);
}

void ak_node_log(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    make_printable(line);
    slurm_info("%s", line);
}
