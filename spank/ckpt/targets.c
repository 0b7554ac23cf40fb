/* targets.c - see targets.h. */
#include "targets.h"

#include <stdlib.h>

#include "common/proc_parse.h"
#include "known_programs.h"

const char *const ck_role_text[CK_ROLES] = {
    [CK_ROLE_OUTSIDE] = "which is outside the step or below a target",
    [CK_ROLE_CATCHES] = "which has a handler for it",
    [CK_ROLE_WAITS] = "which waits for it",
    [CK_ROLE_BLOCKS] = "which blocks it and may check for it later",
    [CK_ROLE_BLOCKS_ABOVE] = "which blocks it",
    [CK_ROLE_DEFAULT] = "which would die from it",
    [CK_ROLE_IGNORES] = "which ignores it",
    [CK_ROLE_ZOMBIE] = "which has ended",
    [CK_ROLE_OTHER_USER] = "which is another user's",
    [CK_ROLE_STEPD] = "which is Slurm's own",
    [CK_ROLE_SHELL] = "which is a shell",
    [CK_ROLE_INTERACTIVE] = "which is an interactive shell",
    [CK_ROLE_LAUNCHER] = "which is a launcher",
    [CK_ROLE_WRAPPER] = "which would end the program that it runs",
    [CK_ROLE_CONTAINER] = "which starts containers",
    [CK_ROLE_SERVICE] = "which other processes depend on",
    [CK_ROLE_TOOL] = "which would end, with nothing to save",
    [CK_ROLE_GO] = "which is a Go program",
    [CK_ROLE_JVM] = "which is a runtime that always exits on it",
};

bool ck_is_target(enum ck_role role) {
    return role == CK_ROLE_CATCHES || role == CK_ROLE_WAITS || role == CK_ROLE_BLOCKS;
}

/* Only Go's runtime has a handler for every real-time signal. (It leaves 32 to 34 to the C library, and the
 * terminal's stop signals as they are.) */
static bool is_go(const struct ck_process *process) {
    const uint64_t real_time = ~UINT64_C(0) << 34;
    return (process->caught & real_time) == real_time;
}

static bool takes(enum ck_role role) {
    return role == CK_ROLE_CATCHES || role == CK_ROLE_WAITS;
}

/* The role of the process if it were the only one. */
static enum ck_role role_alone(const struct ck_process *process, const struct ck_scope *scope) {
    if (process->state == 'Z' || process->state == 'X')
        return CK_ROLE_ZOMBIE;
    if (process->pid == scope->stepd)
        return CK_ROLE_STEPD;
    if (process->disposition == CK_SIG_DEFAULT)
        return CK_ROLE_DEFAULT;
    if (process->disposition == CK_SIG_IGNORED)
        return CK_ROLE_IGNORES;
    if (process->uid != scope->uid)
        return CK_ROLE_OTHER_USER;

    enum ck_role program = ck_program_role(process);
    if (program == CK_ROLE_OUTSIDE && is_go(process))
        program = CK_ROLE_GO;
    bool allowed = (program == CK_ROLE_SHELL && scope->shells) || (program == CK_ROLE_JVM && scope->jvms);
    if (program != CK_ROLE_OUTSIDE && !allowed)
        return program;
    if (process->disposition == CK_SIG_CAUGHT)
        return CK_ROLE_CATCHES;
    return process->disposition == CK_SIG_WAITED ? CK_ROLE_WAITS : CK_ROLE_BLOCKS;
}

/* The indices of the snapshot, every parent before its children. NULL: no memory. */
static size_t *parents_first(const struct ck_snapshot *snapshot) {
    size_t n = snapshot->count, *order = malloc((n + 1) * sizeof *order), filled = 0;
    bool *placed = calloc(n + 1, 1);

    for (size_t i = 0; order && placed && i < n; i++) {
        size_t last = filled;
        for (size_t at = i; at != CK_NO_PARENT && !placed[at]; at = snapshot->process[at].parent) {
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

/* Three passes. Down: the topmost process that catches or waits for the signal is a target, all below it are
 * outside. Up: which processes have a target below. Down: the topmost process that only blocks it is a
 * target, where no target is above or below. */
bool ck_choose_targets(const struct ck_snapshot *snapshot, const struct ck_scope *scope, enum ck_role *role) {
    size_t n = snapshot->count, *order = parents_first(snapshot);
    bool *below = calloc(n + 1, 1), done = order && below;

    for (size_t i = 0; i < n; i++) /* in a circle of parents one is read before it is set */
        role[i] = CK_ROLE_DEFAULT;
    for (size_t k = 0; done && k < n; k++) {
        size_t i = order[k], parent = snapshot->process[i].parent;
        role[i] = role_alone(&snapshot->process[i], scope);
        if (parent != CK_NO_PARENT && (takes(role[parent]) || role[parent] == CK_ROLE_OUTSIDE))
            role[i] = CK_ROLE_OUTSIDE;
    }
    for (size_t k = n; done && k > 0; k--) {
        size_t i = order[k - 1], parent = snapshot->process[i].parent;
        below[i] |= takes(role[i]);
        if (parent != CK_NO_PARENT)
            below[parent] |= below[i];
    }
    for (size_t k = 0; done && k < n; k++) {
        size_t i = order[k], parent = snapshot->process[i].parent;
        if (parent != CK_NO_PARENT && (role[parent] == CK_ROLE_BLOCKS || role[parent] == CK_ROLE_OUTSIDE))
            role[i] = CK_ROLE_OUTSIDE;
        else if (role[i] == CK_ROLE_BLOCKS && below[i])
            role[i] = CK_ROLE_BLOCKS_ABOVE;
    }
    free(order);
    free(below);
    return done;
}
