/* fake_spank.h - what a plugin sees of Slurm: the step it is in, and a slurmctld that answers what a test
 * sets. */
#ifndef FAKE_SPANK_H
#define FAKE_SPANK_H

#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_JOBS 32
#define FAKE_VARIABLES 8

/* A job as slurmctld has it. Change it between fake_lock and fake_unlock when a watch runs. */
struct fake_job {
    uint32_t id, state, derived;
    int64_t start, end; /* epoch seconds */
    uint16_t requeue;
    uint64_t bitflags;
    uint32_t restarts;
    const char *tres; /* what it asks for on each node; NULL: nothing */
    char comment[2048];
    char ended[2048]; /* the comment when the job was put back: that of the run's own row */
    int load_error, update_error, requeue_error; /* what slurmctld answers, 0: it does */
    int hangs;                                   /* real milliseconds until it answers */
    int first_update;                            /* and until it takes the first update */
    unsigned questions, updates, requeues, releases;
    bool held; /* by the requeue */
};

extern struct fake {
    enum spank_context context;
    uint32_t step, nodes, node, job;
    pid_t task;
    int status; /* of the task that exits, as wait() has it */
    const char *variable[FAKE_VARIABLES][2];
    const char *script; /* of a batch step, with its folder */
    bool appends;
    struct fake_job jobs[FAKE_JOBS];
    struct spank_option *option[8];
    int options;
    char log[8192]; /* every line that was logged */
    unsigned confs;
    unsigned hanging; /* see fake_hanging */
} fake;

void fake_lock(void);
void fake_unlock(void);
/* Calls that have no answer yet. */
unsigned fake_hanging(void);
/* The job of that id, made where it is missing. */
struct fake_job *fake_job(uint32_t id);
/* As sbatch does with --NAME=TEXT. */
int fake_option(const char *name, const char *text);
/* A child that waits: at signal `number` it leaves with the code, at 0 it only hears it, below 0 it ignores
 * it. That is set already. Kill it. */
pid_t fake_child(int number, int code);

#endif
