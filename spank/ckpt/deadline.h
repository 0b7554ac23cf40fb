/* deadline.h - when to ask slurmctld for the job's end, and when to signal. Pure: what is known and a clock
 * in, the next act out. Times are milliseconds since the epoch, spans are milliseconds.
 *
 * The questions of one step, whatever its size, are at most two a second. Each node has a place of half a
 * second in every round: a round is 300 s or half a second per node, whichever is longer, and up to a quarter
 * more, which is the same on all nodes of the step and differs between steps. Before the signal each node
 * asks once more, in its place again, the first node last; one too that has asked nothing yet: an end that is
 * known from the start is of the environment, which is as old as the job. A node that had no answer leaves
 * one round out, then three, seven, fifteen. */
#ifndef ADMINKIT_CK_DEADLINE_H
#define ADMINKIT_CK_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define CK_SECOND INT64_C(1000)
#define CK_PLACE (CK_SECOND / 2) /* between the questions of two nodes */
#define CK_ROUND (300 * CK_SECOND)
#define CK_AGAIN (15 * CK_SECOND)      /* a round while nothing is known */
#define CK_FIRST_EARLY (3 * CK_SECOND) /* so that a limit of twice the quiet is met to the second */
#define CK_LAST_EARLY (1500)           /* the last question comes that long before the signal */

struct ck_terms {
    int64_t began;        /* the step's tasks were forked */
    int64_t lead;         /* how long before the end the signal comes */
    int64_t quiet;        /* a step younger than this, or than the lead, asks nothing but before the signal */
    int64_t poll;         /* a shorter round than 300 s, 0: none wished */
    uint32_t nodes, node; /* of the step, and this one's place among them */
    uint32_t seed;        /* the same on all nodes of a step */
};

struct ck_known {
    int64_t end;       /* 0: unknown */
    int64_t asked;     /* the last question was put then; 0: none was */
    uint32_t failures; /* questions without an answer, in a row */
    bool suspended;
    int64_t doubt; /* since then the end may be another one (the job was resumed): ask before the signal; 0:
                      none */
};

enum ck_act { CK_ASK, CK_FIRE };

/* What is next, and when: at may be past, which means now. A suspended job is never signalled. */
struct ck_next {
    enum ck_act act;
    int64_t at;
};
struct ck_next ck_deadline_next(const struct ck_terms *terms, const struct ck_known *known, int64_t now);

#endif
