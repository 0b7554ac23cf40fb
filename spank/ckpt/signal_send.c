/* deliver.c - see deliver.h. */
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
#define SPARED 4 /* processes that the line names where nobody hears */
#define NAMED 8  /* and where somebody does */

/* The same numbers on every processor; older headers lack them. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static bool hears(const struct ck_process *process) {
    return process->ear == CK_EAR_CATCHES || process->ear == CK_EAR_WAITS || process->ear == CK_EAR_BLOCKS;
}

/* The descriptor comes first: what is read after it, is of the process that the descriptor holds or of a
 * later one with the same pid, and the start time tells these apart. Without descriptors (before Linux 5.3,
 * or forbidden) a moment is left between the look and the kill. */
void ck_tell(struct ck_snapshot *snapshot, const struct ck_process *process, const struct ck_scope *scope,
             struct ck_told *told) {
    struct ck_process now;
    int handle = (int)syscall(SYS_pidfd_open, process->pid, 0);
    long sent = -1;

    told->fate = CK_GONE;
    if (handle < 0 && errno == ESRCH)
        return;
    if (!ck_process_read(snapshot, process->pid, scope->signal, &now) || now.start != process->start ||
        now.state == 'Z')
        goto out;
    told->fate = CK_CHANGED;
    if (!hears(&now) || now.uid != scope->uid)
        goto out;
    if (handle >= 0)
        sent = syscall(SYS_pidfd_send_signal, handle, scope->signal, NULL, 0);
    else
        sent = kill(process->pid, scope->signal);
    told->error = sent == 0 ? 0 : errno;
    told->fate = sent == 0 ? CK_SENT : told->error == ESRCH ? CK_GONE : CK_REFUSED;
out:
    if (handle >= 0)
        close(handle);
}

static void name(struct ck_told *told, const struct ck_process *process, enum ck_why why) {
    told->pid = process->pid;
    told->why = why;
    snprintf(told->comm, sizeof told->comm, "%s", process->comm);
}

/* Those that would hear and are passed over say more than those that would not. */
static size_t name_spared(struct ck_told *told, const struct ck_snapshot *snapshot, const enum ck_why *why) {
    size_t n = 0;

    for (int hearing = 1; hearing >= 0; hearing--)
        for (size_t i = 0; n < SPARED && i < snapshot->count; i++)
            if (hears(&snapshot->process[i]) == hearing && why[i] != CK_ZOMBIE && why[i] != CK_STEPD)
                name(&told[n++], &snapshot->process[i], why[i]);
    return n;
}

/* One look, and the signal to those who hear. False: nobody was there any more when it was sent. */
static bool deliver_once(const struct ck_scope *scope, const pid_t *roots, size_t root_count,
                         struct ck_heard *heard) {
    struct ck_snapshot snapshot;
    enum ck_why *why = NULL;
    size_t n = 0;

    heard->error = ck_snapshot_take(&snapshot, scope->cgroup, roots, root_count, scope->signal);
    heard->seen = snapshot.count;
    heard->partial = snapshot.partial;
    if (heard->error)
        goto out;
    why = malloc((snapshot.count + 1) * sizeof *why);
    heard->told = calloc(snapshot.count + SPARED, sizeof *heard->told);
    if (!why || !heard->told || !ck_choose(&snapshot, scope, why)) {
        heard->error = ENOMEM;
        goto out;
    }
    for (size_t i = 0; i < snapshot.count; i++) {
        if (!ck_is_target(why[i]))
            continue;
        name(&heard->told[n], &snapshot.process[i], why[i]);
        ck_tell(&snapshot, &snapshot.process[i], scope, &heard->told[n]);
        heard->sent += heard->told[n++].fate == CK_SENT;
    }
    heard->chosen = n;
    heard->told_count = n ? n : name_spared(heard->told, &snapshot, why);
out:
    ck_snapshot_free(&snapshot);
    free(why);
    return heard->error || heard->chosen == 0 || heard->sent > 0;
}

/* Where all that were chosen have ended or called exec since the look, nobody was signalled and a second look
 * does no harm. Where some were, what they leave behind could be taken for others, and the rest is let be. */
int ck_deliver(const struct ck_scope *scope, struct ck_heard *heard) {
    pid_t *roots = malloc((scope->root_count + 1) * sizeof *roots);
    bool done = false;

    *heard = (struct ck_heard){.signal = scope->signal};
    if (!roots || scope->signal < 1 || scope->signal > 64) {
        free(roots);
        return heard->error = roots ? EINVAL : ENOMEM;
    }
    if (scope->root_count)
        memcpy(roots, scope->roots, scope->root_count * sizeof *roots);
    roots[scope->root_count] = scope->stepd;
    for (int round = 0; !done && round < ROUNDS; round++) {
        ck_heard_free(heard);
        *heard = (struct ck_heard){.signal = scope->signal};
        done = deliver_once(scope, roots, scope->root_count + 1, heard);
    }
    free(roots);
    return heard->error;
}

void ck_heard_free(struct ck_heard *heard) {
    free(heard->told);
    heard->told = NULL;
    heard->told_count = 0;
}

static const char *signal_name(int signal, char *room, size_t size) {
    static const struct {
        int signal;
        const char *name;
    } names[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},  {SIGUSR1, "SIGUSR1"},
                 {SIGUSR2, "SIGUSR2"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},  {SIGCONT, "SIGCONT"},
                 {SIGURG, "SIGURG"},   {SIGXCPU, "SIGXCPU"}, {SIGWINCH, "SIGWINCH"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].signal == signal)
            return names[i].name;
    snprintf(room, size, "signal %d", signal);
    return room;
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

static void add_told(struct line *line, const struct ck_told *told) {
    add(line, "%s (%d), ", told->comm, (int)told->pid);
    if (told->fate == CK_GONE)
        add(line, "which had ended");
    else if (told->fate == CK_CHANGED)
        add(line, "which had become another program");
    else if (told->fate == CK_REFUSED)
        add(line, "which could not be told: %s", strerror(told->error));
    else
        add(line, "%s", ck_why_text[told->why]);
}

/* The first few of those told (sent) or not told; how many there were. */
static size_t add_some(struct line *line, const struct ck_heard *heard, bool sent, const char *before) {
    size_t n = 0;

    for (size_t i = 0; i < heard->told_count; i++) {
        if ((heard->told[i].fate == CK_SENT) != sent)
            continue;
        if (n++ < NAMED) {
            add(line, "%s", n == 1 ? before : "; ");
            add_told(line, &heard->told[i]);
        }
    }
    if (n > NAMED)
        add(line, "; and %zu more", n - NAMED);
    return n;
}

char *ck_heard_line(const struct ck_heard *heard, char *text, size_t size) {
    struct line line = {text, size, 0};
    char room[24];
    const char *signal = signal_name(heard->signal, room, sizeof room);

    if (size == 0)
        return text;
    text[0] = '\0';
    if (heard->error) {
        add(&line, "%s not sent: couldn't read the processes of this step: %s", signal,
            strerror(heard->error));
        return text;
    }
    if (heard->sent) {
        add(&line, "%s", signal);
        add_some(&line, heard, true, " to ");
        add_some(&line, heard, false, "; not to ");
    } else if (heard->chosen) {
        add(&line, "%s reached nobody", signal);
        add_some(&line, heard, false, ": ");
    } else {
        add(&line, "nothing here hears %s", signal);
        add_some(&line, heard, false, ": ");
    }
    if (heard->partial)
        add(&line, " (only the first %zu processes were looked at)", heard->seen);
    return text;
}
