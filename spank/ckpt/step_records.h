/* records.h - what the steps of a job leave, on its batch host, to the batch step: one small file per job in
 * a folder of root's. The batch step makes the file when it begins, reads it when it ends, and removes it; a
 * step of the job appends where there is one. On other nodes there is none, and nothing is left there. No
 * user can reach or replace any of it. */
#ifndef ADMINKIT_CK_RECORDS_H
#define ADMINKIT_CK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Of all steps together. */
struct ck_steps {
    bool code[256]; /* which exit codes there were; 128 + N for signal N; 0 is not kept */
    bool failed;    /* any of them but 0 */
    uint32_t heard; /* processes that got the signal */
    int64_t at;     /* when the first of them did, epoch seconds; 0: none */
};

/* 128 + N for signal N. */
int ck_exit_code(int status);

/* All return 0 or an errno. The folder and the one above are made; it is refused (EPERM) where it is not ours
 * alone. */
int ck_records_begin(const char *folder, uint32_t job);
int ck_records_code(const char *folder, uint32_t job, int code);
int ck_records_heard(const char *folder, uint32_t job, uint32_t heard, int64_t at);
int ck_records_read(const char *folder, uint32_t job, struct ck_steps *steps);
void ck_records_end(const char *folder, uint32_t job);

#endif
