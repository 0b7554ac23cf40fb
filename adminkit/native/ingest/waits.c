/* waits.c - what a run adds to the rollup by the month of its start. */
#include "waits.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define HOUR 3600
#define NO_MONTH (-1)

/* Upper ends of the buckets of sizes, beginning with bucket 1, and of limits. */
static const int64_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const int64_t limits[] = {HOUR / 4, HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR, 72 * HOUR, 168 * HOUR};
enum limit_bucket { LONGER = COUNT(limits), UNLIMITED, QUEUES_OWN, LIMIT_UNKNOWN };
enum left_out { COUNTED, NOT_STARTED, ELIGIBLE_UNKNOWN };

/* In the order of wait_sql.CAUSES. */
enum cause { QUEUE, ARRAY, DEPENDENCY, QOS, ASSOCIATION, HELD, BEGIN, OTHER };

/* Reasons of a cause: a word, or what they begin and end with. */
static const struct {
    enum cause cause;
    const char *begin, *end; /* NULL: the whole word is `begin` */
} causes[] = {
    {QUEUE, "None", NULL},
    {QUEUE, "Priority", NULL},
    {QUEUE, "Resources", NULL},
    {ARRAY, "JobArrayTaskLimit", NULL},
    {DEPENDENCY, "Dependency", ""},
    {QOS, "QOS", ""},
    {QOS, "Max", "PerAccount"},
    {QOS, "Max", "PerUser"},
    {QOS, "InvalidQOS", NULL},
    {ASSOCIATION, "Assoc", ""},
    {ASSOCIATION, "AccountingPolicy", NULL},
    {ASSOCIATION, "AccountNotAllowed", NULL},
    {ASSOCIATION, "InvalidAccount", NULL},
    {HELD, "JobHeld", ""},
    {HELD, "JobHoldMaxRequeue", NULL},
    {BEGIN, "BeginTime", NULL},
};

static bool is(struct ak_slice text, const char *word) {
    return text.s && text.n == strlen(word) && memcmp(text.s, word, text.n) == 0;
}

/* Trap: GLOB reads a text up to its first NUL. */
static bool is_between(struct ak_slice text, const char *begin, const char *end) {
    const char *nul = memchr(text.s, 0, text.n);
    size_t n = nul ? (size_t)(nul - text.s) : text.n, first = strlen(begin), last = strlen(end);
    return n >= first + last && memcmp(text.s, begin, first) == 0 &&
           memcmp(text.s + n - last, end, last) == 0;
}

static enum cause cause_of(struct ak_slice reason) {
    if (!reason.s)
        return QUEUE;
    for (size_t i = 0; i < COUNT(causes); i++)
        if (causes[i].end ? is_between(reason, causes[i].begin, causes[i].end) : is(reason, causes[i].begin))
            return causes[i].cause;
    return OTHER;
}

/* How many of the edges are below the value. */
static int64_t above(const int64_t *edge, size_t edges, int64_t value) {
    size_t n = 0;
    while (n < edges && edge[n] < value)
        n++;
    return (int64_t)n;
}

static int64_t size_bucket(struct ak_number size) {
    return size.known && size.i > 0 ? 1 + above(sizes, COUNT(sizes), size.i) : 0;
}

static int64_t limit_bucket(const struct ak_run *run) {
    struct ak_number limit = ak_req_limit(run);
    if (limit.known && limit.i > 0)
        return above(limits, COUNT(limits), limit.i);
    return is(run->text[AK_RUN_LIMIT_KIND], "unlimited")   ? UNLIMITED
           : is(run->text[AK_RUN_LIMIT_KIND], "partition") ? QUEUES_OWN
                                                           : LIMIT_UNKNOWN;
}

/* Whether a run that ended had started. Trap: one that was cancelled while it waited has a start, its end,
 * and no nodes. */
static bool has_started(const struct ak_number *n) {
    return n[AK_RUN_START].known &&
           (n[AK_RUN_END].i > n[AK_RUN_START].i || (n[AK_RUN_ELAPSED].known && n[AK_RUN_ELAPSED].i > 0) ||
            (n[AK_RUN_NODE_LIST].known && n[AK_RUN_NODE_LIST].i > 0));
}

/* Seconds from being eligible to the start, from 0 to AK_TOO_LONG. */
static int64_t wait_of(int64_t eligible, int64_t start) {
    int64_t wait;
    if (start < eligible)
        return 0;
    return __builtin_sub_overflow(start, eligible, &wait) || wait > AK_TOO_LONG ? AK_TOO_LONG : wait;
}

static void count(const struct ak_run *run, struct ak_waits *waits) {
    int64_t start = run->number[AK_RUN_START].i, eligible = run->number[AK_RUN_ELIGIBLE].i;
    int64_t wait = wait_of(eligible, start), *number = waits->number;
    struct ak_slice reason = run->text[AK_RUN_REASON], source = run->text[AK_RUN_SOURCE];
    number[AK_WAITS_GPUS] = size_bucket(ak_size_of(run, AK_GPUS));
    number[AK_WAITS_NODES] = size_bucket(ak_size_of(run, AK_NODES));
    number[AK_WAITS_CPUS] = number[AK_WAITS_GPUS] ? 0 : size_bucket(ak_size_of(run, AK_CPUS));
    number[AK_WAITS_LIMIT] = limit_bucket(run);
    number[AK_WAITS_CAUSE] = cause_of(reason);
    number[AK_WAITS_UNTOLD] = !reason.s && source.s && !is(source, "slurmdbd");
    waits->sum[1] = wait;
    waits->sum[2] = start < eligible;
    waits->bin = ak_bin_of(wait < AK_TOO_LONG ? wait : AK_TOO_LONG - 1);
}

bool ak_waits(const struct ak_run *run, struct ak_waits *waits) {
    const struct ak_number *n = run->number;
    *waits = (struct ak_waits){.month = NO_MONTH, .bin = -1};
    if (!n[AK_RUN_END].known)
        return false;
    if (n[AK_RUN_START].known)
        waits->month = ak_month_of(n[AK_RUN_START].i);
    waits->text[0] = run->text[AK_RUN_CLUSTER];
    waits->text[1] = run->text[AK_RUN_QUEUE];
    waits->text[2] = ak_class_of(run);
    waits->sum[0] = 1;
    waits->number[AK_WAITS_LEFT_OUT] = !has_started(n)             ? NOT_STARTED
                                       : !n[AK_RUN_ELIGIBLE].known ? ELIGIBLE_UNKNOWN
                                                                   : COUNTED;
    if (waits->number[AK_WAITS_LEFT_OUT] == COUNTED)
        count(run, waits);
    return true;
}
