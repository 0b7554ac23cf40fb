/* signal_send.h - sends the signal to those processes of a step that would take it.
 *
 *   struct ck_delivery delivery;
 *   ck_signal_send(&scope, &delivery);                 0 also where nothing was signalled
 *   ck_delivery_line(&delivery, line, sizeof line);    for the job's stderr, whatever the outcome
 *   ck_delivery_free(&delivery);
 *
 * targets.h has the rule for which processes are signalled, snapshot.h what is read of /proc. Nothing here
 * has state, takes a lock, forks, changes a signal's mask or handler, or touches a file of the user's; it may
 * run in any thread.
 *
 * One call signals no process twice. While .sent is 0, call it again after some seconds: a program may not
 * have installed its handler yet. Trap: once .sent is above 0 do not call it again; the children of a
 * signalled process that has ended (a data loader's workers) would then be topmost. */
#ifndef ADMINKIT_CKPT_SIGNAL_SEND_H
#define ADMINKIT_CKPT_SIGNAL_SEND_H

#include "targets.h"

enum ck_outcome {
    CK_NOT_TARGET,
    CK_SENT,
    CK_GONE,    /* it has ended; its pid may be another process' */
    CK_CHANGED, /* the signal would end it now: exec takes the handlers away */
    CK_REFUSED  /* .error says why */
};

struct ck_recipient {
    pid_t pid;
    char comm[AK_COMM_SIZE]; /* printable */
    enum ck_role role;
    enum ck_outcome outcome;
    int error; /* of CK_REFUSED */
};

struct ck_delivery {
    int signal;
    struct ck_recipient *recipient; /* the targets; without targets, a few other processes */
    size_t recipient_count;
    size_t targets, sent; /* how many; 0 targets: no process takes the signal */
    size_t seen;          /* processes of the step that were looked at */
    bool partial;         /* there were more processes or more text than snapshot.h reads */
    int error;            /* 0, or why the processes could not be read; then nothing was signalled */
};

/* 0, or the errno why the step's processes could not be read, also in delivery->error. Free the delivery
 * either way. */
int ck_signal_send(const struct ck_scope *scope, struct ck_delivery *delivery);
void ck_delivery_free(struct ck_delivery *delivery);

/* One line without a newline, cut to fit: "SIGTERM to python3 (4711), which has a handler for it". Returns
 * text. */
char *ck_delivery_line(const struct ck_delivery *delivery, char *text, size_t size);

/* Signals one process of the snapshot, if it is still the same and would still take the signal. For tests. */
void ck_signal_one(struct ck_snapshot *snapshot, const struct ck_process *process,
                   const struct ck_scope *scope, struct ck_recipient *recipient);

#endif
