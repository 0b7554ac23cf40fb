/* When the plugin asks and when it signals. Seconds in the tables; the step begins at 1000000. */
#include "ckpt/deadline.h"

#include "cases.h"

#define NEVER 0

struct row {
    const char *why;
    int lead, quiet, poll, nodes, node;              /* terms */
    int end, asked, failures, suspended, doubt, now; /* known, after the step's begin; 0: not */
    enum ck_act act;
    double from, to; /* when, after the step's begin */
};

static const struct row CASES[] = {
    {"a young step asks nothing", 60, 60, 0, 1, 0, NEVER, 0, 0, 0, 0, 5, CK_ASK, 57, 57},
    {"nor does one shorter than the lead", 300, 60, 0, 1, 0, NEVER, 0, 0, 0, 0, 5, CK_ASK, 297, 297},
    {"a site may be quicker", 5, 5, 0, 1, 0, NEVER, 0, 0, 0, 0, 0, CK_ASK, 2, 2},
    {"the nodes ask one after the other", 60, 60, 0, 4, 3, NEVER, 0, 0, 0, 0, 5, CK_ASK, 58.5, 58.5},
    {"however many there are", 60, 60, 0, 1000, 999, NEVER, 0, 0, 0, 0, 5, CK_ASK, 556.5, 556.5},
    {"once more before the signal", 60, 60, 0, 1, 0, 120, 57, 0, 0, 0, 57, CK_ASK, 58.5, 58.5},
    {"and then it is sent to the second", 60, 60, 0, 1, 0, 120, 59, 0, 0, 0, 59, CK_FIRE, 60, 60},
    {"an unanswered last question changes nothing", 60, 60, 0, 1, 0, 120, 59, 1, 0, 0, 59, CK_FIRE, 60, 60},
    {"the second node's last question comes first", 60, 60, 0, 2, 1, 120, 57, 0, 0, 0, 57, CK_ASK, 58, 58},
    {"long jobs are asked for in rounds", 300, 60, 0, 1, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 597, 672},
    {"a round is longer for many nodes", 300, 60, 0, 1000, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 797, 922},
    {"poll=10 asks more often", 300, 60, 10, 1, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 307, 309.5},
    {"but not more often than two a second", 300, 60, 10, 1000, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 797,
     922},
    {"without an answer the next round is longer", 300, 60, 0, 1, 0, 86400, 297, 1, 0, 0, 297, CK_ASK, 897,
     1047},
    {"up to sixteen times", 300, 60, 0, 1, 0, 86400, 297, 40, 0, 0, 297, CK_ASK, 5097, 6297},
    {"where nothing is known it asks again soon", 60, 60, 0, 1, 0, NEVER, 57, 1, 0, 0, 57, CK_ASK, 87, 95},
    {"then later", 60, 60, 0, 1, 0, NEVER, 57, 3, 0, 0, 57, CK_ASK, 177, 209},
    {"no round when all put their last question", 60, 60, 0, 1, 0, 420, 57, 0, 0, 0, 300, CK_ASK, 357, 358.5},
    {"a lowered limit brings it forward", 300, 60, 0, 1, 0, 400, 297, 0, 0, 0, 297, CK_FIRE, 100, 100},
    {"a dead slurmctld: what was known last counts", 60, 60, 0, 1, 0, 120, 57, 3, 0, 0, 61, CK_FIRE, 60, 60},
    {"a suspended job is not signalled", 60, 60, 0, 1, 0, 120, 59, 0, 1, 0, 500, CK_ASK, 359, 434},
    {"a resumed one is asked for at once", 60, 60, 0, 1, 0, 120, 59, 0, 0, 500, 500, CK_ASK, 500, 500},
    {"on every node in its place", 60, 60, 0, 8, 7, 120, 59, 0, 0, 500, 500, CK_ASK, 503.5, 503.5},
    {"and signalled when nobody answers", 60, 60, 0, 1, 0, 120, 501, 1, 0, 500, 502, CK_FIRE, 60, 60},
    {"a young step's last question is the only one", 30, 60, 0, 1, 0, 80, 49, 0, 0, 0, 49, CK_FIRE, 50, 50},
};

/* The last answer's comment has an extension that stands. */
static const struct row EXTENDED[] = {
    {"rounds are short while the limit may be lowered again", 300, 60, 0, 1, 0, 86400, 297, 0, 0, 0, 297,
     CK_ASK, 342, 353.25},
    {"a site's are shorter", 300, 60, 10, 1, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 307, 309.5},
    {"two questions a second all the same", 300, 60, 0, 1000, 0, 86400, 297, 0, 0, 0, 297, CK_ASK, 797, 922},
    {"without an answer the next round is longer", 300, 60, 0, 1, 0, 86400, 297, 1, 0, 0, 297, CK_ASK, 387,
     409.5},
};

/* The end is the environment's: slurmctld has not answered yet. */
static const struct row ENVIRONMENT[] = {
    {"an end known from the start needs one question", 60, 60, 0, 1, 0, 200, 0, 0, 0, 0, 5, CK_ASK, 57,
     138.5},
    {"however young the step is, its environment may be older than the limit", 30, 60, 0, 1, 0, 80, 0, 0, 0,
     0, 5, CK_ASK, 48.5, 48.5},
    {"at once where that is past", 30, 60, 0, 1, 0, 31, 0, 0, 0, 0, 0, CK_ASK, 0, 0},
    {"more nodes than places share the time there is", 30, 60, 0, 200, 199, 80, 0, 0, 0, 0, 5, CK_ASK, 48.1,
     48.3},
    {"twenty questions a second at most", 30, 60, 0, 2000, 1999, 80, 0, 0, 0, 0, 5, CK_ASK, 99.95, 99.95},
    {"no answer, and the end is the environment's: no signal", 30, 60, 0, 1, 0, 80, 49, 1, 0, 0, 50, CK_ASK,
     64, 64},
    {"it asks again and again", 30, 60, 0, 1, 0, 80, 1000, 40, 0, 0, 1001, CK_ASK, 1015, 1015},
    {"on every node in its turn", 30, 60, 0, 100, 0, 80, 1000, 40, 0, 0, 1001, CK_ASK, 1050, 1050},
    {"a node that has not asked yet does", 30, 60, 0, 1, 0, 80, 0, 0, 0, 0, 64, CK_ASK, 48.5, 48.5},
};

static void each_row(const struct row *rows, size_t count, bool confirmed, bool extended) {
    for (size_t i = 0; i < count; i++) {
        const int64_t began = 1000000 * CK_SECOND;
        struct ck_terms terms = {.began = began,
                                 .lead = rows[i].lead * CK_SECOND,
                                 .quiet = rows[i].quiet * CK_SECOND,
                                 .poll = rows[i].poll * CK_SECOND,
                                 .nodes = (uint32_t)rows[i].nodes,
                                 .node = (uint32_t)rows[i].node,
                                 .seed = 4711};
        struct ck_known known = {.end = rows[i].end ? began + rows[i].end * CK_SECOND : 0,
                                 .asked = rows[i].asked ? began + rows[i].asked * CK_SECOND : 0,
                                 .confirmed = confirmed,
                                 .failures = (uint32_t)rows[i].failures,
                                 .suspended = rows[i].suspended,
                                 .extended = extended,
                                 .doubt = rows[i].doubt ? began + rows[i].doubt * CK_SECOND : 0};
        struct ck_next next = ck_deadline_next(&terms, &known, began + rows[i].now * CK_SECOND);
        double at = (double)(next.at - began) / CK_SECOND;
        CASE(next.act == rows[i].act, "%s: act %d", rows[i].why, next.act);
        CASE(at >= rows[i].from && at <= rows[i].to, "%s: at %g", rows[i].why, at);
    }
}

/* A whole step, all its nodes, when each is due, as the watch would, and once a minute: never more than two
 * questions in any second, every node signals once, within a second of `fire`. */
static void a_step_of(uint32_t nodes, int64_t limit, int64_t lead, int64_t poll, unsigned dead_from) {
    enum { MOST = 1000 };
    static struct ck_terms terms[MOST];
    static struct ck_known known[MOST];
    static int64_t due[MOST];
    static int fired[MOST];
    static unsigned asked[20000];
    int64_t began = 1000000 * CK_SECOND, end = began + limit * CK_SECOND;
    unsigned total = 0, worst = 0, left = nodes;
    for (uint32_t n = 0; n < nodes; n++) {
        terms[n] = (struct ck_terms){began, lead * CK_SECOND, 60 * CK_SECOND, poll * CK_SECOND, nodes, n, 99};
        known[n] = (struct ck_known){0};
        fired[n] = 0;
        due[n] = began;
    }
    for (size_t s = 0; s < sizeof asked / sizeof *asked; s++)
        asked[s] = 0;
    for (int64_t now = began; left > 0 && now <= end; now += 100)
        for (uint32_t n = 0; n < nodes; n++) {
            if (fired[n] || (now < due[n] && (now - began) % (60 * CK_SECOND)))
                continue;
            struct ck_next next = ck_deadline_next(&terms[n], &known[n], now);
            due[n] = next.at;
            if (next.at > now)
                continue;
            if (next.act == CK_FIRE) {
                fired[n] = 1;
                left--;
                CASE(now - (end - terms[n].lead) < CK_SECOND, "node %u of %u is late", n, nodes);
                continue;
            }
            known[n].asked = now;
            asked[(now - began) / CK_SECOND]++;
            total++;
            if (dead_from && now > began + dead_from * CK_SECOND) {
                known[n].failures++;
            } else {
                known[n].failures = 0;
                known[n].end = end;
                known[n].confirmed = true;
            }
        }
    for (size_t s = 0; s < sizeof asked / sizeof *asked; s++)
        worst = asked[s] > worst ? asked[s] : worst;
    CASE(left == 0, "%u of %u nodes were not signalled", left, nodes);
    CASE(worst <= 2, "%u nodes, poll %ld: %u questions in one second", nodes, (long)poll, worst);
    printf("  %4u nodes, %5ld s, poll %ld: %u questions, at most %u in a second\n", nodes, (long)limit,
           (long)poll, total, worst);
}

int main(void) {
    each_row(CASES, sizeof CASES / sizeof *CASES, true, false);
    each_row(EXTENDED, sizeof EXTENDED / sizeof *EXTENDED, true, true);
    each_row(ENVIRONMENT, sizeof ENVIRONMENT / sizeof *ENVIRONMENT, false, false);
    a_step_of(1, 7200, 300, 0, 0);
    a_step_of(1, 7200, 300, 10, 0);
    a_step_of(3, 7200, 300, 0, 1000);
#ifndef BRIEF
    a_step_of(1000, 10800, 300, 0, 0);
    a_step_of(1000, 10800, 300, 5, 0);
    a_step_of(1000, 10800, 300, 0, 2000);
#endif
    return DONE();
}
