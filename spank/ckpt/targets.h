/* targets.h - which of a step's processes are sent the signal. Pure: a snapshot and a scope in, roles out.
 *
 * On every branch of the process tree the target is the topmost process that would take the signal; nothing
 * below a target is one. The workers of a data loader inherit the handler, and would die or hang the training
 * if they got the signal too. A process takes the signal if it has a handler for it, or waits for it with
 * sigwait or a signalfd. One that only blocks it (its mask may be inherited, as with `unshare --fork`) is a
 * target where nothing below it takes the signal. The processes below are looked at, and the process itself
 * is never a target, if it is one of these:
 *
 * - a process that would die of the signal, ignores it, is a zombie, has another uid, or is slurmstepd;
 *
 * - a shell: with `trap … EXIT` it catches every signal and dies at once, with `trap … TERM` it waits for the
 *   child. With .shells one that is not interactive may be a target;
 *
 * - a launcher (srun kills its step on TERM; torchrun kills its workers), a wrapper that passes a signal to
 * its whole group or ends what it runs (timeout, make, strace), what starts containers, a file system or
 * service that a job depends on (squashfuse, MPS), a tool that ends with nothing to save (tmux, vim,
 * jupyter): see known_programs.c;
 *
 * - a Go program: its runtime catches every signal and ends the program;
 *
 * - the JVM or another runtime that always catches TERM and ends. With .jvms it may be a target. */
#ifndef ADMINKIT_CKPT_TARGETS_H
#define ADMINKIT_CKPT_TARGETS_H

#include "snapshot.h"

struct ck_scope {
    uid_t uid; /* the job's user */
    int signal;
    const char *cgroup; /* the step's folder, see ak_step_cgroup(); NULL: the tree below roots and stepd */
    const pid_t *roots; /* the tasks; those that have ended may be among them */
    size_t root_count;
    pid_t stepd; /* 0: none. Never a target; its children are of the step (daemons without a parent) */
    bool shells; /* --ckpt-target=shell */
    bool jvms;   /* --ckpt-target=jvm */
};

/* What a process is to the signal: a target, or the reason why not. */
enum ck_role {
    CK_ROLE_OUTSIDE, /* not of the step, or below a target */
    /* targets */
    CK_ROLE_CATCHES,
    CK_ROLE_WAITS,
    CK_ROLE_BLOCKS,
    /* not targets; the processes below are looked at */
    CK_ROLE_BLOCKS_ABOVE, /* as CK_ROLE_BLOCKS, but above a process that takes the signal */
    CK_ROLE_DEFAULT,      /* the default action would end it */
    CK_ROLE_IGNORES,
    CK_ROLE_ZOMBIE,
    CK_ROLE_OTHER_USER,
    CK_ROLE_STEPD,
    CK_ROLE_SHELL,
    CK_ROLE_INTERACTIVE,
    CK_ROLE_LAUNCHER,
    CK_ROLE_WRAPPER,
    CK_ROLE_CONTAINER,
    CK_ROLE_SERVICE,
    CK_ROLE_TOOL,
    CK_ROLE_GO,
    CK_ROLE_JVM,
    CK_ROLES
};

/* "which has a handler for it", "which is a shell" */
extern const char *const ck_role_text[CK_ROLES];
bool ck_is_target(enum ck_role role);

/* Sets role[i] for each process of the snapshot. False: no memory. */
bool ck_choose_targets(const struct ck_snapshot *snapshot, const struct ck_scope *scope, enum ck_role *role);

#endif
