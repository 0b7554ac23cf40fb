/* deadline.c - see deadline.h. */
#include "deadline.h"

static int64_t longer(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A pseudo-random number from 0 to bound - 1. */
static int64_t jitter(uint32_t seed, uint32_t turn, int64_t bound) {
    uint64_t x = ((uint64_t)seed << 32 | turn) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    return bound > 0 ? (int64_t)(x % (uint64_t)bound) : 0;
}

/* When this node asks next. The first round begins at `first`, each later one `base` to 5/4 `base` after the
 * one before it, at the same moment on all nodes of a step whatever each of them knows. */
static int64_t next_round(const struct ck_terms *terms, const struct ck_known *known) {
    int64_t place = terms->node * CK_PLACE;
    int64_t age = longer(longer(terms->quiet, terms->lead) - CK_FIRST_EARLY, 0);
    int64_t first = terms->began + age + place;
    if (known->asked == 0)
        return first;
    int64_t base = terms->poll > 0 ? sooner(terms->poll, CK_ROUND) : CK_ROUND;
    uint32_t doublings = known->failures < 4 ? known->failures : 4;
    if (known->extended)
        base = sooner(base, CK_EXTENDED);
    if (known->end == 0)
        base = sooner(base, CK_AGAIN);
    base = longer(base, terms->nodes * CK_PLACE);
    int64_t stride = base + base / 8;
    int64_t after = known->asked - first + (stride << doublings) - stride / 2;
    int64_t turn = longer(after / stride, 0);
    while (turn * stride - jitter(terms->seed, (uint32_t)turn, base / 8) <= after)
        turn++;
    return first + turn * stride - jitter(terms->seed, (uint32_t)turn, base / 8);
}

/* When this node puts its last question before a signal at `fire`. */
static int64_t last_question(const struct ck_terms *terms, const struct ck_known *known, int64_t fire) {
    int64_t last = fire - CK_LAST_EARLY - terms->node * CK_PLACE;
    if (known->asked)
        return longer(last, terms->began + terms->quiet - CK_FIRST_EARLY);
    if (last >= terms->began)
        return last;
    int64_t room = fire - CK_LAST_EARLY - terms->began;
    return terms->began + terms->node * longer(room / terms->nodes, CK_CLOSEST);
}

struct ck_next ck_deadline_next(const struct ck_terms *terms, const struct ck_known *known, int64_t now) {
    int64_t place = terms->node * CK_PLACE;
    int64_t round = next_round(terms, known);
    if (known->doubt != 0 && known->asked < known->doubt)
        return (struct ck_next){CK_ASK, known->doubt + place};
    if (known->suspended || known->end == 0)
        return (struct ck_next){CK_ASK, round};

    int64_t fire = known->end - terms->lead;
    if (now >= fire && known->confirmed)
        return (struct ck_next){CK_FIRE, fire};
    /* From `closing` on every node of the step puts its last question, and no other. */
    int64_t closing = fire - CK_LAST_EARLY - terms->nodes * CK_PLACE;
    if (now < fire && round < closing)
        return (struct ck_next){CK_ASK, round};
    int64_t last = last_question(terms, known, fire);
    if (known->asked < last && (last < fire || !known->asked))
        return (struct ck_next){CK_ASK, last};
    if (known->confirmed)
        return (struct ck_next){CK_FIRE, fire};
    return (struct ck_next){CK_ASK, known->asked + longer(CK_AGAIN, terms->nodes * CK_PLACE)};
}
