#include "say.h"

#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>

void ck_say(const char *format, ...) {
    char line[512];
    va_list words;
    va_start(words, format);
    vsnprintf(line, sizeof line, format, words);
    va_end(words);
    slurm_spank_log("adminkit: %s", line);
}
