/* signal_send.c - see signal_send.h. */
#include "signal_send.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 3
#define MAX_OTHERS 4 /* processes that the line names where there is no target */
#define MAX_NAMED 8  /* and where there are some */

/* The same numbers on every processor; older headers lack them. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static bool takes(const struct ck_process *process) {
    return process->disposition == CK_SIG_CAUGHT || process->disposition == CK_SIG_WAITED ||
           process->disposition == CK_SIG_BLOCKED;
}

/* Trap: the pidfd is opened before the process is read again. What is read then is of the process that the
 * pidfd refers to or of a later one with the same pid; the start time tells them apart. Without pidfds
 * (before Linux 5.3, or forbidden) the pid may change hands between the reading and the kill. */
void ck_signal_one(struct ck_snapshot *snapshot, const struct ck_process *process,
                   const struct ck_scope *scope, struct ck_recipient *recipient) {
    struct ck_process now;
    int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    long sent = -1;

    recipient->outcome = CK_GONE;
    if (pidfd < 0 && errno == ESRCH)
        return;
    if (!ck_process_read(snapshot, process->pid, scope->signal, &now) || now.start != process->start ||
        now.state == 'Z')
        goto out;
    recipient->outcome = CK_CHANGED;
    if (!takes(&now) || now.uid != scope->uid)
        goto out;
    if (pidfd >= 0)
        sent = syscall(SYS_pidfd_send_signal, pidfd, scope->signal, NULL, 0);
    else
        sent = kill(process->pid, scope->signal);
    recipient->error = sent == 0 ? 0 : errno;
    recipient->outcome = sent == 0 ? CK_SENT : recipient->error == ESRCH ? CK_GONE : CK_REFUSED;
out:
    if (pidfd >= 0)
        close(pidfd);
}

static void list(struct ck_recipient *recipient, const struct ck_process *process, enum ck_role role) {
    recipient->pid = process->pid;
    recipient->role = role;
    snprintf(recipient->comm, sizeof recipient->comm, "%s", process->comm);
}

/* Lists processes that are not targets: first those that would take the signal, which say more. */
static size_t list_others(struct ck_recipient *recipient, const struct ck_snapshot *snapshot,
                          const enum ck_role *role) {
    size_t n = 0;

    for (int taking = 1; taking >= 0; taking--)
        for (size_t i = 0; n < MAX_OTHERS && i < snapshot->count; i++)
            if (takes(&snapshot->process[i]) == taking && role[i] != CK_ROLE_ZOMBIE &&
                role[i] != CK_ROLE_STEPD)
                list(&recipient[n++], &snapshot->process[i], role[i]);
    return n;
}

/* One snapshot, and the signal to its targets. False: there were targets, and none of them was signalled. */
static bool send_once(const struct ck_scope *scope, const pid_t *roots, size_t root_count,
                      struct ck_delivery *delivery) {
    struct ck_snapshot snapshot;
    enum ck_role *role = NULL;
    size_t n = 0;

    delivery->error = ck_snapshot_take(&snapshot, scope->cgroup, roots, root_count, scope->signal);
    delivery->seen = snapshot.count;
    delivery->partial = snapshot.partial;
    if (delivery->error)
        goto out;
    role = malloc((snapshot.count + 1) * sizeof *role);
    delivery->recipient = calloc(snapshot.count + MAX_OTHERS, sizeof *delivery->recipient);
    if (!role || !delivery->recipient || !ck_choose_targets(&snapshot, scope, role)) {
        delivery->error = ENOMEM;
        goto out;
    }
    for (size_t i = 0; i < snapshot.count; i++) {
        if (!ck_is_target(role[i]))
            continue;
        list(&delivery->recipient[n], &snapshot.process[i], role[i]);
        ck_signal_one(&snapshot, &snapshot.process[i], scope, &delivery->recipient[n]);
        delivery->sent += delivery->recipient[n++].outcome == CK_SENT;
    }
    delivery->targets = n;
    delivery->recipient_count = n ? n : list_others(delivery->recipient, &snapshot, role);
out:
    ck_snapshot_free(&snapshot);
    free(role);
    return delivery->error || delivery->targets == 0 || delivery->sent > 0;
}

/* Where all targets have ended or called exec since the snapshot, none was signalled and another snapshot
 * does no harm. Trap: where some were signalled, their children would be taken for targets, so there is no
 * other. */
int ck_signal_send(const struct ck_scope *scope, struct ck_delivery *delivery) {
    pid_t *roots = malloc((scope->root_count + 1) * sizeof *roots);
    bool done = false;

    *delivery = (struct ck_delivery){.signal = scope->signal};
    if (!roots || scope->signal < 1 || scope->signal > 64) {
        free(roots);
        return delivery->error = roots ? EINVAL : ENOMEM;
    }
    if (scope->root_count)
        memcpy(roots, scope->roots, scope->root_count * sizeof *roots);
    roots[scope->root_count] = scope->stepd;
    for (int round = 0; !done && round < ROUNDS; round++) {
        ck_delivery_free(delivery);
        *delivery = (struct ck_delivery){.signal = scope->signal};
        done = send_once(scope, roots, scope->root_count + 1, delivery);
    }
    free(roots);
    return delivery->error;
}

void ck_delivery_free(struct ck_delivery *delivery) {
    free(delivery->recipient);
    delivery->recipient = NULL;
    delivery->recipient_count = 0;
}

static const char *signal_name(int signal, char *buffer, size_t size) {
    static const struct {
        int signal;
        const char *name;
    } names[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},  {SIGUSR1, "SIGUSR1"},
                 {SIGUSR2, "SIGUSR2"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},  {SIGCONT, "SIGCONT"},
                 {SIGURG, "SIGURG"},   {SIGXCPU, "SIGXCPU"}, {SIGWINCH, "SIGWINCH"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].signal == signal)
            return names[i].name;
    snprintf(buffer, size, "signal %d", signal);
    return buffer;
}

struct line {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...) {
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line->text + line->used, line->size - line->used, format, args);
    va_end(args);
    if (n > 0)
        line->used = (size_t)n < line->size - line->used ? line->used + (size_t)n : line->size - 1;
}

static void add_recipient(struct line *line, const struct ck_recipient *recipient) {
    add(line, "%s (%d), ", recipient->comm, (int)recipient->pid);
    if (recipient->outcome == CK_GONE)
        add(line, "which had ended");
    else if (recipient->outcome == CK_CHANGED)
        add(line, "which had become another program");
    else if (recipient->outcome == CK_REFUSED)
        add(line, "which could not be signalled: %s", strerror(recipient->error));
    else
        add(line, "%s", ck_role_text[recipient->role]);
}

/* Adds the first few recipients that were sent the signal, or were not. */
static void add_some(struct line *line, const struct ck_delivery *delivery, bool sent, const char *before) {
    size_t n = 0;

    for (size_t i = 0; i < delivery->recipient_count; i++) {
        if ((delivery->recipient[i].outcome == CK_SENT) != sent)
            continue;
        if (n++ < MAX_NAMED) {
            add(line, "%s", n == 1 ? before : "; ");
            add_recipient(line, &delivery->recipient[i]);
        }
    }
    if (n > MAX_NAMED)
        add(line, "; and %zu more", n - MAX_NAMED);
}

char *ck_delivery_line(const struct ck_delivery *delivery, char *text, size_t size) {
    struct line line = {text, size, 0};
    char number[24];
    const char *signal = signal_name(delivery->signal, number, sizeof number);

    if (size == 0)
        return text;
    text[0] = '\0';
    if (delivery->error) {
        add(&line, "%s not sent: couldn't read the processes of this step: %s", signal,
            strerror(delivery->error));
        return text;
    }
    if (delivery->sent) {
        add(&line, "%s", signal);
        add_some(&line, delivery, true, " to ");
        add_some(&line, delivery, false, "; not to ");
    } else if (delivery->targets) {
        add(&line, "%s reached no process", signal);
        add_some(&line, delivery, false, ": ");
    } else {
        add(&line, "no process here catches %s", signal);
        add_some(&line, delivery, false, ": ");
    }
    if (delivery->partial)
        add(&line, " (only the first %zu processes were checked)", delivery->seen);
    return text;
}
