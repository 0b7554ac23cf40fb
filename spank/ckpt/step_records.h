/* step_records.h - what the steps of a job leave to its batch step, on the batch host: a small file per job
 * in a folder of root's. The batch step creates the file when it begins, reads it when it ends, and removes
 * it. A step appends to it where it exists, which it does on no other node. No user can read or replace any
 * of it. */
#ifndef ADMINKIT_CKPT_STEP_RECORDS_H
#define ADMINKIT_CKPT_STEP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

/* The sum of all steps. */
struct ck_steps {
    bool code[256]; /* exit codes that occurred; 128 + N for signal N; 0 is not recorded */
    bool failed;    /* any code but 0 */
    uint32_t heard; /* processes that were sent the signal */
    int64_t at;     /* when the first of them was, epoch seconds; 0: none */
};

/* The exit code of a status of wait(); 128 + N for signal N. */
int ck_exit_code(int status);

/* `folder` is made where it is missing, and the folder above it; EPERM where others than its owner may enter
 * it, or it is another user's. 0 or an errno. */
int ck_step_records_create(const char *folder, uint32_t job);
int ck_step_records_add_code(const char *folder, uint32_t job, int code);
int ck_step_records_add_signal(const char *folder, uint32_t job, uint32_t heard, int64_t at);
int ck_step_records_read(const char *folder, uint32_t job, struct ck_steps *steps);
void ck_step_records_remove(const char *folder, uint32_t job);

#endif
