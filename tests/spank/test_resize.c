/* The order to go on with another number of GPUs: what is one, and when it is obeyed. */
#include "ckpt/resize.h"

#include <stdio.h>
#include <string.h>

#include "cases.h"

static void ranges(void) {
    static const struct {
        const char *text;
        uint32_t least, most;
        const char *why;
    } table[] = {
        {"1-8", 1, 8, "as it is written"},
        {"2-2", 2, 2, "it never changes"},
        {"001-008", 1, 8, "leading zeros"},
        {"1-1024", 1, 1024, "the most"},
        {"1-1025", 0, 0, "more than that"},
        {"0-8", 0, 0, "none at all"},
        {"8-1", 0, 0, "upside down"},
        {"8", 0, 0, "no range"},
        {"-8", 0, 0, "no least"},
        {"1-", 0, 0, "no most"},
        {"1-8 ", 0, 0, "a blank"},
        {"1-8,2", 0, 0, "more behind it"},
        {"1--8", 0, 0, "two dashes"},
        {"00001-8", 0, 0, "too many digits"},
        {"99999999999999999999-8", 0, 0, "far too many"},
        {"", 0, 0, "nothing"},
        {"on", 0, 0, "a word"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct ck_range range = {7, 7};
        bool read = ck_range_read(&range, table[i].text);
        CASE(read == (table[i].most > 0) && range.least == table[i].least && range.most == table[i].most,
             "%s (%s): %u-%u", table[i].why, table[i].text, range.least, range.most);
    }
}

static void orders(void) {
    static const struct {
        const char *comment;
        uint32_t gpus;
        int64_t until;
        const char *why;
    } table[] = {
        {"el1:gpus=4,until=1790000600", 4, 1790000600, "alone"},
        {"ak1:lim=60,src=e,el=1-8 ck1:at=5,heard=1,rq=1 el1:gpus=4,until=9 mine", 4, 9, "among others"},
        {"el1:gpus=4,until=9 el1:gpus=2,until=8", 4, 9, "the first counts"},
        {"el1:gpus=x,until=9 el1:gpus=2,until=8", 2, 8, "the first that is whole"},
        {"el1:gpus=0,until=9", CK_SAME_GPUS, 9, "to be put back only"},
        {"el1:gpus=4,until=9,more=1", 0, 0, "of another release"},
        {"el1:gpus=4", 0, 0, "without its end"},
        {"el1:until=9,gpus=4", 0, 0, "in another order"},
        {"xel1:gpus=4,until=9", 0, 0, "inside a word"},
        {"el1:gpus=44444,until=9", 0, 0, "too many digits"},
        {"el1:gpus=4,until=1790000600123", 0, 0, "no epoch"},
        {"el1:gpus=-4,until=9", 0, 0, "a sign"},
        {"", 0, 0, "nothing"},
        {NULL, 0, 0, "no comment"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct ck_order order = {7, 7};
        bool found = ck_order_find(table[i].comment, &order);
        CASE(found == (table[i].gpus > 0) && order.gpus == table[i].gpus && order.until == table[i].until,
             "%s: %u until %ld", table[i].why, order.gpus, (long)order.until);
    }
}

static void gpus(void) {
    static const struct {
        const char *text;
        uint32_t gpus;
    } table[] = {
        {"gres:gpu:2", 2},
        {"gres/gpu:2", 2},
        {"gpu:2", 2},
        {"gres/gpu:a100:4", 4},
        {"gres:gpu", 1},
        {"gres/gpu:a100", 1},
        {"gres/gpu:a100:x", 0},
        {"gres/gpu:", 0},
        {"gres/gpu:a100:", 0},
        {"gres/gpu:2,shard:1", 0},
        {"gres/shard:2", 0},
        {"gres/gpufoo:2", 0},
        {"gres/gpu=2", 0},
        {"gres/gpu:2(S:0)", 0},
        {"gres/gpu:99999", 0},
        {"gres/gpu:0", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CASE(ck_gpus_of(table[i].text) == table[i].gpus, "%s: %u", table[i].text, ck_gpus_of(table[i].text));
}

#define NOW 100000
#define DUE true
#define HOLDS true

static void obeying(void) {
    static const struct {
        const char *why;
        uint32_t gpus;
        int until;
        uint32_t least, most;
        bool requeue, may_requeue;
        int notes, restarts, age, left;
        const char *tres;
        bool holds, due;
    } table[] = {
        {"all is well", 4, 600, 1, 8, true, true, 0, 0, 900, 3600, "gres:gpu:1", HOLDS, DUE},
        {"to fewer", 1, 600, 1, 8, true, true, 0, 0, 900, 3600, "gres/gpu:a100:4", HOLDS, DUE},
        {"it did not opt in", 4, 600, 0, 0, true, true, 0, 0, 900, 3600, "gres:gpu:1", false, false},
        {"below what it takes", 1, 600, 2, 8, true, true, 0, 0, 900, 3600, "gres:gpu:4", false, false},
        {"above what it takes", 16, 600, 1, 8, true, true, 0, 0, 900, 3600, "gres:gpu:4", false, false},
        {"it has as many", 4, 600, 1, 8, true, true, 0, 0, 900, 3600, "gres:gpu:4", false, false},
        {"what it has is not known", 4, 600, 1, 8, true, true, 0, 0, 900, 3600, "", false, false},
        {"the order is void", 4, 0, 1, 8, true, true, 0, 0, 900, 3600, "gres:gpu:1", false, false},
        {"to be put back, and it did not opt in", CK_SAME_GPUS, 600, 0, 0, true, true, 0, 0, 900, 3600, "",
         HOLDS, DUE},
        {"to be put back, and it opted in", CK_SAME_GPUS, 600, 1, 8, true, true, 0, 0, 900, 3600,
         "gres:gpu:4", HOLDS, DUE},
        {"to be put back, and it asked for none", CK_SAME_GPUS, 600, 0, 0, false, true, 0, 0, 900, 3600, "",
         false, false},
        {"to be put back, and slurmctld may not", CK_SAME_GPUS, 600, 0, 0, true, false, 0, 0, 900, 3600, "",
         HOLDS, false},
        {"to be put back too late", CK_SAME_GPUS, 0, 0, 0, true, true, 0, 0, 900, 3600, "", false, false},
        {"nobody puts it back", 4, 600, 1, 8, false, true, 0, 0, 900, 3600, "gres:gpu:1", HOLDS, false},
        {"--no-requeue", 4, 600, 1, 8, true, false, 0, 0, 900, 3600, "gres:gpu:1", HOLDS, false},
        {"put back often enough", 4, 600, 1, 8, true, true, 3, 0, 900, 3600, "gres:gpu:1", HOLDS, false},
        {"restarted often enough", 4, 600, 1, 8, true, true, 0, 3, 900, 3600, "gres:gpu:1", HOLDS, false},
        {"too young to have come far", 4, 600, 1, 8, true, true, 0, 0, 119, 3600, "gres:gpu:1", HOLDS, false},
        {"just old enough", 4, 600, 1, 8, true, true, 0, 0, 120, 3600, "gres:gpu:1", HOLDS, DUE},
        {"its signal before the end is due", 4, 600, 1, 8, true, true, 0, 0, 900, 60, "gres:gpu:1", HOLDS,
         false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct ck_order order = {table[i].gpus, NOW + table[i].until};
        struct ck_elastic job = {{table[i].least, table[i].most}, table[i].requeue, 3, 60};
        struct ak_job_info info = {.may_requeue = table[i].may_requeue,
                                   .start = NOW - table[i].age,
                                   .end = NOW + table[i].left,
                                   .restarts = (uint32_t)table[i].restarts,
                                   .comment_whole = true};
        strcpy(info.tres_per_node, table[i].tres);
        snprintf(info.comment, sizeof info.comment, "ck1:at=5,heard=1,rq=%d", table[i].notes);
        CASE(ck_order_holds(&order, &job, &info, NOW) == table[i].holds, "%s", table[i].why);
        CASE(ck_order_due(&order, &job, &info, NOW) == table[i].due, "%s", table[i].why);
    }
}

int main(void) {
    ranges();
    orders();
    gpus();
    obeying();
    return DONE();
}
