/* snapshot.h - the processes of a step at one moment. */
#ifndef ADMINKIT_CKPT_SNAPSHOT_H
#define ADMINKIT_CKPT_SNAPSHOT_H

#include "common/proc_parse.h"

#define CK_MAX_PROCESSES 65536 /* others are not looked at */
#define CK_NO_PARENT ((size_t)-1)

/* What the signal would do to a process: its disposition (signal(7)), and where there is no handler also the
 * masks and waits of its threads. */
enum ck_disposition {
    CK_SIG_DEFAULT, /* the default action, which ends it */
    CK_SIG_IGNORED,
    CK_SIG_CAUGHT,  /* a handler */
    CK_SIG_WAITED,  /* a thread is in sigwait, or there is a signalfd; no thread would take it and die */
    CK_SIG_BLOCKED, /* every thread blocks it, and none is seen to wait for it */
    /* while a snapshot is taken: not known yet */
    CK_SIG_UNREAD,       /* caught or blocked, in the first thread */
    CK_SIG_UNREAD_SLEEPS /* default, unless it sleeps in sigwait */
};

/* uid, caught, exe and argv are read only where the process may take the signal. */
struct ck_process {
    pid_t pid, ppid;
    size_t parent;  /* its index in the snapshot, or CK_NO_PARENT */
    uint64_t start; /* ticks since boot; pid and start identify a process for ever */
    uid_t uid;      /* (uid_t)-1 where it has several */
    char state;     /* R S D T t Z X … */
    bool terminal;  /* it has a controlling terminal */
    enum ck_disposition disposition;
    uint64_t caught;        /* AK_SIGNAL_BIT of each signal with a handler */
    const char *comm, *exe; /* exe: the last part of the program's path, "" where unknown */
    const char *argv; /* words, each with a NUL after it; a few KiB at most, and only if ck_needs_argv() */
    size_t argv_size;
};

struct ck_snapshot {
    struct ck_process *process; /* by pid, each once */
    size_t count;
    bool partial; /* there were more than CK_MAX_PROCESSES, or more text than is kept */
    struct ck_arena *arena;
};

/* Reads the processes in the cgroup's folder and those below it; where that is NULL or empty, the processes
 * `roots` and those below them. 0 or an errno. Free the snapshot either way. */
int ck_snapshot_take(struct ck_snapshot *snapshot, const char *cgroup, const pid_t *roots, size_t root_count,
                     int signal);
void ck_snapshot_free(struct ck_snapshot *snapshot);

/* Sorts by pid and sets every .parent. Trap: a parent that is younger than its child is another process,
 * whose pid was used again. */
void ck_snapshot_link(struct ck_snapshot *snapshot);

/* Reads one process again; its texts belong to the snapshot. False: it is gone. */
bool ck_process_read(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process);

#endif
