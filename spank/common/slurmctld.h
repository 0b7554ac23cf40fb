/* ask.h - the questions to slurmctld. Each blocks for one RPC, up to MessageTimeout and more where nobody
 * answers: call them through call.h. */
#ifndef ADMINKIT_CK_ASK_H
#define ADMINKIT_CK_ASK_H

#include "ckpt/requeue.h"

struct ck_answer {
    int error; /* 0, or Slurm's errno; then nothing else is set */
    enum ck_state state;
    int64_t start, end; /* epoch seconds */
    bool allowed;       /* to be requeued */
    uint32_t derived;   /* highest exit code of the steps, a status of wait() */
    uint32_t restarts;
    bool comment_whole; /* AdminComment fits */
    char comment[AK_COMMENT_MAX + 1];
};
/* Not slurm_get_end_time(): it answers from a cache for 60 s, and does not say that a job is suspended. */
void ck_ask(uint32_t job, struct ck_answer *answer);

/* Whether slurmctld appends to the output of a job that runs again (JobFileAppend); true where it does not
 * say. */
bool ck_ask_appends(void);

/* 0, also where the job is back in the queue already, or Slurm's errno. */
int ck_put_back(uint32_t job);

#endif
