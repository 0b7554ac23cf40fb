#include "job_log.h"

#include <poll.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define SPAN 50 /* ms, for a reader that is slow */

/* Slurm writes with its log's lock held, so a line that nobody reads would hold all of slurmstepd. */
static bool has_room(void) {
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, SPAN) == 1 && out.revents == POLLOUT;
}

/* The node's log and a terminal read it too: nothing a user wrote makes a line or a control of its own. */
static void make_printable(char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void ck_say(const char *format, ...) {
    char line[512];
    va_list words;
    va_start(words, format);
    vsnprintf(line, sizeof line, format, words);
    va_end(words);
    make_printable(line);
    if (has_room())
        slurm_spank_log("adminkit: %s", line);
}
