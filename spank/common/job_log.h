/* say.h - one line to whoever looks at the job. */
#ifndef ADMINKIT_CK_SAY_H
#define ADMINKIT_CK_SAY_H

/* To the job's stderr and slurmd's log, or to the terminal of sbatch; "adminkit: " comes first. Bytes that
 * are not printable ASCII become '?'; where nobody reads stderr the line is dropped. */
void ck_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
