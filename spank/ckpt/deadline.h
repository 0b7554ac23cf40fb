/* deadline.h - when to ask slurmctld for the job's end, and when to signal. Pure: what is known and a clock
 * in, the next action out. Times are milliseconds since the epoch, spans are milliseconds.
 *
 * The nodes of one step ask at most two questions a second together, whatever their number. Every node has a
 * place of half a second in each round. A round is 300 s or half a second per node, whichever is longer, plus
 * up to a quarter, which is the same on all nodes of a step and differs between steps. Before the signal each
 * node asks once more, in its place again, the first node last. A node without an answer skips one round,
 * then three, seven, fifteen.
 *
 * The end in the environment is as old as the job, and may be that of a soft limit, at which nothing happens.
 * So it says when to ask, and no node signals by it: a node whose signal is due by it asks every CK_AGAIN
 * until slurmctld answers. A step with more nodes than places before that signal has closer places, down to
 * CK_CLOSEST.
 *
 * A limit that was raised by an extension may be lowered again. While one stands, a round is CK_EXTENDED or
 * half a second per node, so that the new end is heard a minute later at most in a step of 90 nodes. */
#ifndef ADMINKIT_CKPT_DEADLINE_H
#define ADMINKIT_CKPT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define CK_SECOND INT64_C(1000)
#define CK_PLACE (CK_SECOND / 2) /* between the questions of two nodes */
#define CK_CLOSEST (CK_PLACE / 10)
#define CK_ROUND (300 * CK_SECOND)
#define CK_EXTENDED (45 * CK_SECOND)
#define CK_AGAIN (15 * CK_SECOND)      /* a round while the end is unknown, or not confirmed when due */
#define CK_FIRST_EARLY (3 * CK_SECOND) /* so that a limit of twice `quiet` is met to the second */
#define CK_LAST_EARLY (1500)           /* from the last question to the signal */

struct ck_terms {
    int64_t began;        /* the step's tasks were forked */
    int64_t lead;         /* from the signal to the end */
    int64_t quiet;        /* a step younger than this, or than the lead, asks only before the signal */
    int64_t poll;         /* a shorter round than 300 s; 0: not set */
    uint32_t nodes, node; /* of the step, and the index of this one */
    uint32_t seed;        /* the same on all nodes of a step */
};

struct ck_known {
    int64_t end;              /* 0: unknown */
    bool confirmed;           /* slurmctld itself named the end; false: the environment did */
    int64_t asked;            /* when the last question was put; 0: none was */
    uint32_t failures;        /* consecutive questions without an answer */
    bool suspended, extended; /* extended: its limit was raised, and may be lowered again */
    int64_t doubt; /* the job was resumed then, so its end may have moved: ask before the signal; 0: no */
};

enum ck_act { CK_ASK, CK_FIRE };

/* The next action and its time; a time that is past means now. A suspended job is never signalled. */
struct ck_next {
    enum ck_act act;
    int64_t at;
};
struct ck_next ck_deadline_next(const struct ck_terms *terms, const struct ck_known *known, int64_t now);

#endif
