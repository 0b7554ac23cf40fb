/* tree.h - the processes of a step, as they are at one moment. */
#ifndef ADMINKIT_CK_TREE_H
#define ADMINKIT_CK_TREE_H

#include "common/proc_parse.h"

#define CK_MOST 65536 /* processes that are looked at */
#define CK_NOBODY ((size_t)-1)

/* What comes of a signal that is sent to the process. */
enum ck_ear {
    CK_EAR_DIES, /* or whatever else the default is */
    CK_EAR_IGNORES,
    CK_EAR_CATCHES,
    CK_EAR_WAITS,  /* a thread is in sigwait for it, or there is a signalfd; and no thread would take it and
                      die */
    CK_EAR_BLOCKS, /* every thread holds it back, and nothing shows that one waits */
    CK_EAR_UNREAD, /* while a snapshot is taken: may hear, */
    CK_EAR_SLEEPS  /* may be in sigwait */
};

/* uid, caught, exe and argv are read only where the process would not die of the signal and does not ignore
 * it. */
struct ck_process {
    pid_t pid, parent;
    size_t up;      /* the parent's index, or CK_NOBODY */
    uint64_t start; /* ticks since boot: pid and start are one process for ever */
    uid_t uid;      /* (uid_t)-1 where it has several */
    char state;     /* R S D T t Z X … */
    bool terminal;  /* it has a controlling one */
    enum ck_ear ear;
    uint64_t caught;        /* bits as CK_BIT */
    const char *comm, *exe; /* exe: the last part of the program's path, "" where unknown */
    const char *argv; /* words with a NUL behind each; only the first few KiB, only where ck_needs_words() */
    size_t argv_size;
};

struct ck_snapshot {
    struct ck_process *process; /* by pid, each once */
    size_t count;
    bool partial; /* there were more than CK_MOST, or more text than is kept */
    struct ck_arena *arena;
};

/* Reads the processes in the cgroup's folder and the folders in it; where that is NULL or has none, those
 * that are roots or below them. 0, or an errno. The snapshot is to be freed either way. */
int ck_snapshot_take(struct ck_snapshot *snapshot, const char *cgroup, const pid_t *roots, size_t root_count,
                     int signal);
void ck_snapshot_free(struct ck_snapshot *snapshot);

/* Sorts by pid and sets every .up. A parent that is younger than its child is another process with a pid used
 * again. */
void ck_snapshot_link(struct ck_snapshot *snapshot);

/* One process, anew; its texts are the snapshot's. False: it is gone. */
bool ck_process_read(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process);

#endif
