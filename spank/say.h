/* say.h - one line to whoever looks at the job. */
#ifndef ADMINKIT_CK_SAY_H
#define ADMINKIT_CK_SAY_H

/* To the job's stderr and slurmd's log, or to the terminal of sbatch; "adminkit: " comes first. */
void ck_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
