/* targets.h - which of a step's processes hear a signal. Pure: a snapshot and a scope in, targets out.
 *
 * On every branch of the tree of processes it is the topmost one that hears the signal, and nothing below it:
 * the workers of a data loader inherit the handler, and die or hang the training where they are signalled as
 * well. A process hears what it has a handler for, or what it waits for with sigwait or a signalfd. One that
 * only holds it back (its mask may be inherited, as with `unshare --fork`) is taken where nothing below it
 * hears. Never taken, always walked through to what is below:
 *
 * - whoever would die of the signal, ignores it, is a zombie, has another uid, or is slurmstepd;
 *
 * - shells: `trap … EXIT` catches every signal and dies at once, `trap … TERM` waits for the child. With
 * .shells one that is not interactive is a target as others are;
 *
 * - launchers (srun kills its step when it is told TERM; torchrun kills its workers), wrappers that pass a
 * signal to their whole group or end what they watch (timeout, make, strace), starters of containers, file
 * systems and services that a job lives on (squashfuse, MPS), tools that only end (tmux, vim, jupyter): see
 * names.c;
 *
 * - Go programs: their runtime catches every signal, and ends the program;
 *
 * - the JVM and other runtimes that always catch TERM and end. With .jvms they are targets as others are.
 */
#ifndef ADMINKIT_CK_TARGETS_H
#define ADMINKIT_CK_TARGETS_H

#include "snapshot.h"

struct ck_scope {
    uid_t uid; /* the job's user */
    int signal;
    const char *cgroup; /* the step's folder, see ck_step_cgroup(); NULL: the tree under roots and stepd */
    const pid_t *roots; /* the tasks; those that have ended do no harm */
    size_t root_count;
    pid_t stepd; /* 0: none. Never signalled; what hangs on it is of the step (daemons without a parent) */
    bool shells; /* --ckpt-target=shell */
    bool jvms;   /* --ckpt-target=jvm */
};

enum ck_why {
    CK_OUTSIDE, /* not of the step, or below a target */
    /* targets */
    CK_CATCHES,
    CK_WAITS,
    CK_BLOCKS,
    /* walked through */
    CK_HELD, /* as CK_BLOCKS, but something below hears */
    CK_DIES,
    CK_IGNORES,
    CK_ZOMBIE,
    CK_OTHER_USER,
    CK_STEPD,
    CK_SHELL,
    CK_INTERACTIVE,
    CK_LAUNCHER,
    CK_WRAPPER,
    CK_CONTAINER,
    CK_SERVICE,
    CK_TOOL,
    CK_GO,
    CK_JVM,
    CK_WHYS
};

/* "which has a handler for it", "which is a shell" */
extern const char *const ck_why_text[CK_WHYS];
bool ck_is_target(enum ck_why why);

/* why[i] for each process of the snapshot. False: no memory. */
bool ck_choose(const struct ck_snapshot *snapshot, const struct ck_scope *scope, enum ck_why *why);

#endif
