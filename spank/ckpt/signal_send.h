/* deliver.h - the signal, to those processes of a step that hear it. This is all that the plugin calls.
 *
 *   struct ck_heard heard;
 *   ck_deliver(&scope, &heard);                  0 also where nothing was signalled
 *   ck_heard_line(&heard, line, sizeof line);    for the job's stderr, whatever came of it
 *   ck_heard_free(&heard);
 *
 * Who is signalled is in targets.h, what is read of /proc in tree.h. Nothing here has state, takes a lock,
 * forks, changes a signal's mask or handler, or touches a file of the user's; it may run in any thread. Ten
 * thousand processes take less than a second.
 *
 * Nobody is signalled twice by one call. A second call is for those who heard nothing: while .sent is 0, a
 * program that has not installed its handler yet may still be caught a few seconds later. After .sent is
 * above 0 do not call again: what the signalled ones leave behind (workers whose parent has ended) would then
 * be on top. */
#ifndef ADMINKIT_CK_DELIVER_H
#define ADMINKIT_CK_DELIVER_H

#include "common/cgroup.h"
#include "targets.h"

enum ck_fate {
    CK_SPARED, /* not chosen */
    CK_SENT,
    CK_GONE,    /* ended, or its pid is another's by now */
    CK_CHANGED, /* it would not outlive the signal any more (exec takes the handlers away) */
    CK_REFUSED  /* .error says why */
};

struct ck_told {
    pid_t pid;
    char comm[CK_COMM]; /* printable */
    enum ck_why why;
    enum ck_fate fate;
    int error; /* of CK_REFUSED */
};

struct ck_heard {
    int signal;
    struct ck_told *told; /* those that were chosen; where there are none, a few that were not, and why not */
    size_t told_count;
    size_t chosen, sent; /* 0 chosen: nothing hears it */
    size_t seen;         /* processes of the step that were looked at */
    bool partial; /* there were more than CK_MOST processes, or too much text: the rest was not looked at */
    int error;    /* 0, or why the processes could not be read; then nothing was signalled */
};

/* 0, or the errno why the step's processes could not be read (in heard->error too). heard is to be freed
 * either way. */
int ck_deliver(const struct ck_scope *scope, struct ck_heard *heard);

/* One line without its end, cut to fit: "SIGTERM to python3 (4711), which has a handler for it". Returns
 * text. */
char *ck_heard_line(const struct ck_heard *heard, char *text, size_t size);
void ck_heard_free(struct ck_heard *heard);

/* The signal to one process of a snapshot, if it is still the one that was chosen. For tests. */
void ck_tell(struct ck_snapshot *snapshot, const struct ck_process *process, const struct ck_scope *scope,
             struct ck_told *told);

#endif
