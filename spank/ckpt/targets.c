/* targets.c - see targets.h. */
#include "targets.h"

#include <stdlib.h>

#include "common/proc_parse.h"
#include "known_programs.h"

const char *const ck_why_text[CK_WHYS] = {
    [CK_OUTSIDE] = "which has nothing to do with it",
    [CK_CATCHES] = "which has a handler for it",
    [CK_WAITS] = "which waits for it",
    [CK_BLOCKS] = "which holds it back until it looks",
    [CK_HELD] = "which holds it back",
    [CK_DIES] = "which would die of it",
    [CK_IGNORES] = "which ignores it",
    [CK_ZOMBIE] = "which has ended",
    [CK_OTHER_USER] = "which is another user's",
    [CK_STEPD] = "which is Slurm's own",
    [CK_SHELL] = "which is a shell",
    [CK_INTERACTIVE] = "which is an interactive shell",
    [CK_LAUNCHER] = "which is a launcher",
    [CK_WRAPPER] = "which would end what it runs",
    [CK_CONTAINER] = "which starts containers",
    [CK_SERVICE] = "which other processes live on",
    [CK_TOOL] = "which would end, with nothing to save",
    [CK_GO] = "which is a Go program",
    [CK_JVM] = "which is a runtime that always ends on it",
};

bool ck_is_target(enum ck_why why) {
    return why == CK_CATCHES || why == CK_WAITS || why == CK_BLOCKS;
}

/* Go's runtime has a handler for every real-time signal; nobody else does. (It leaves 32 to 34 to the C
 * library, and the terminal's stops as they are.) */
static bool is_go(const struct ck_process *process) {
    const uint64_t real_time = ~UINT64_C(0) << 34;
    return (process->caught & real_time) == real_time;
}

/* What would be said of the process if it stood alone. */
static enum ck_why judge(const struct ck_process *process, const struct ck_scope *scope) {
    if (process->state == 'Z' || process->state == 'X')
        return CK_ZOMBIE;
    if (process->pid == scope->stepd)
        return CK_STEPD;
    if (process->ear == CK_EAR_DIES)
        return CK_DIES;
    if (process->ear == CK_EAR_IGNORES)
        return CK_IGNORES;
    if (process->uid != scope->uid)
        return CK_OTHER_USER;

    enum ck_why kind = ck_kind(process);
    if (kind == CK_OUTSIDE && is_go(process))
        kind = CK_GO;
    bool wanted = (kind == CK_SHELL && scope->shells) || (kind == CK_JVM && scope->jvms);
    if (kind != CK_OUTSIDE && !wanted)
        return kind;
    return process->ear == CK_EAR_CATCHES ? CK_CATCHES : process->ear == CK_EAR_WAITS ? CK_WAITS : CK_BLOCKS;
}

/* Indices of the snapshot with every parent before its children. NULL: no memory. */
static size_t *parents_first(const struct ck_snapshot *snapshot) {
    size_t n = snapshot->count, *order = malloc((n + 1) * sizeof *order), filled = 0;
    bool *placed = calloc(n + 1, 1);

    for (size_t i = 0; order && placed && i < n; i++) {
        size_t last = filled;
        for (size_t at = i; at != CK_NOBODY && !placed[at]; at = snapshot->process[at].up) {
            placed[at] = true;
            order[filled++] = at;
        }
        for (size_t a = last, b = filled; a + 1 < b; a++) {
            size_t swap = order[a];
            order[a] = order[--b];
            order[b] = swap;
        }
    }
    if (!placed) {
        free(order);
        order = NULL;
    }
    free(placed);
    return order;
}

/* Three passes. Down: the topmost that hears for sure, and all below it are outside. Up: who has a target
 * below. Down: the topmost that only hold it back, where no target is above or below. */
bool ck_choose(const struct ck_snapshot *snapshot, const struct ck_scope *scope, enum ck_why *why) {
    size_t n = snapshot->count, *order = parents_first(snapshot);
    bool *below = calloc(n + 1, 1), done = order && below;

    for (size_t i = 0; i < n; i++) /* what is read of a parent that comes later, in a circle */
        why[i] = CK_DIES;
    for (size_t k = 0; done && k < n; k++) {
        size_t i = order[k], up = snapshot->process[i].up;
        why[i] = judge(&snapshot->process[i], scope);
        if (up != CK_NOBODY && (why[up] == CK_CATCHES || why[up] == CK_WAITS || why[up] == CK_OUTSIDE))
            why[i] = CK_OUTSIDE;
    }
    for (size_t k = n; done && k > 0; k--) {
        size_t i = order[k - 1], up = snapshot->process[i].up;
        below[i] |= why[i] == CK_CATCHES || why[i] == CK_WAITS;
        if (up != CK_NOBODY)
            below[up] |= below[i];
    }
    for (size_t k = 0; done && k < n; k++) {
        size_t i = order[k], up = snapshot->process[i].up;
        if (up != CK_NOBODY && (why[up] == CK_BLOCKS || why[up] == CK_OUTSIDE))
            why[i] = CK_OUTSIDE;
        else if (why[i] == CK_BLOCKS && below[i])
            why[i] = CK_HELD;
    }
    free(order);
    free(below);
    return done;
}
