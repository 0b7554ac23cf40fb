/* tree.h - the processes of a step, as they are at one moment. */
#ifndef ADMINKIT_CK_TREE_H
#define ADMINKIT_CK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CK_COMM 64
#define CK_MOST 65536 /* processes */

/* What comes of a signal that is sent to the process. */
enum ck_ear {
    CK_EAR_DIES, /* or stops, or continues: whatever is the default */
    CK_EAR_IGNORES,
    CK_EAR_CATCHES,
    CK_EAR_WAITS, /* a thread is in sigwait for it or there is a signalfd, and no thread would die of it */
    CK_EAR_BLOCKS /* every thread holds it back */
};

/* Texts are in the snapshot; "" where not read: exe and argv are only for those that do not die or ignore. */
struct ck_process {
    pid_t pid, parent;
    uint64_t start; /* ticks since boot: pid and start are one process for ever */
    uid_t uid;      /* (uid_t)-1 where it has several */
    char state;     /* R S D T t Z X */
    bool terminal;  /* has a controlling one */
    enum ck_ear ear;
    uint64_t caught; /* the set: bit signal-1 */
    const char *comm, *exe; /* exe: the last part of its path */
    const char *argv;       /* words with a NUL after each, the last one may be cut */
    size_t argv_size;
};

struct ck_snapshot {
    struct ck_process *process; /* by pid */
    size_t count;
    bool partial;
    void *arena;
};

#endif
