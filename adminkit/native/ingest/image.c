/* image.c - what a run adds to the rollups. */
#include "image.h"

#include <string.h>

#define MINUTE 60
#define HOUR 3600
#define DAY (24 * HOUR)
#define PERCENT 5 /* width of a bin of accuracy */
#define OVER (100 + PERCENT)
#define MILLION 1000000
#define MOST_ACCURATE 1000000000

static const int32_t edges[AK_ELAPSED_BINS] = {
    0,
    10,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    2700,
    1 * HOUR,
    3 * HOUR / 2,
    2 * HOUR,
    3 * HOUR,
    4 * HOUR,
    6 * HOUR,
    8 * HOUR,
    12 * HOUR,
    16 * HOUR,
    24 * HOUR,
    36 * HOUR,
    48 * HOUR,
    72 * HOUR,
    96 * HOUR,
    168 * HOUR,
    336 * HOUR,
    720 * HOUR,
    AK_TOO_LONG - 1,
};

static struct ak_number some(int64_t i) {
    return (struct ak_number){i, true};
}

static struct ak_number either(struct ak_number a, struct ak_number b) {
    return a.known ? a : b;
}

static bool counts(struct ak_number seconds) {
    return seconds.known && seconds.i >= 0 && seconds.i < AK_TOO_LONG;
}

int ak_bin_of(int64_t seconds) {
    int low = 0, high = AK_ELAPSED_BINS - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (seconds <= edges[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Which bin, or -1. */
static int bin_of(struct ak_number seconds) {
    return counts(seconds) ? ak_bin_of(seconds.i) : -1;
}

/* The bin's upper edge. */
static struct ak_number upto(struct ak_number seconds) {
    int bin = bin_of(seconds);
    return bin < 0 ? (struct ak_number){0} : some(edges[bin]);
}

/* The coarser bin of a run's elapsed time that is a part of its key. */
static struct ak_number ran_upto(struct ak_number elapsed) {
    return !counts(elapsed) ? (struct ak_number){0}
                            : some(elapsed.i <= 0        ? 0
                                   : elapsed.i <= MINUTE ? MINUTE
                                                         : AK_TOO_LONG - 1);
}

/* The day of a time; also of one before 1970. */
static int64_t day_of(int64_t time) {
    int64_t first;
    return __builtin_sub_overflow(time, (time % DAY + DAY) % DAY, &first) ? time : first;
}

/* Days are counted in years that begin in March, whose months have 31, 30, 31, 30, 31 days, twice. */
int64_t ak_month_of(int64_t time) {
    int64_t day = day_of(time);
    if (time < 0 || time > AK_LAST)
        return day;
    int64_t days = time / DAY + 719468; /* since 0000-03-01 */
    int64_t in_era = days % 146097;     /* of 400 years */
    int64_t years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * years + years / 4 - years / 100);
    int64_t month = (5 * in_year + 2) / 153, first = (153 * month + 2) / 5;
    return day - (in_year - first) * DAY;
}

static bool is(struct ak_slice text, const char *word) {
    return text.s && text.n == strlen(word) && memcmp(text.s, word, text.n) == 0;
}

/* The last limit, less the time that adminkit gave. */
static struct ak_number unextended(const struct ak_number *n) {
    struct ak_number limit = n[AK_RUN_TIME_LIMIT], asked = n[AK_RUN_EXT_ASKED], last = n[AK_RUN_EXT_LIMIT];
    bool extended = asked.known && last.known && n[AK_RUN_EXT_TIMES].known && n[AK_RUN_EXT_TIMES].i > 0 &&
                    asked.i > 0 && asked.i < last.i && last.i < AK_TOO_LONG;
    return extended && limit.known && limit.i <= last.i ? asked : limit;
}

struct ak_number ak_req_limit(const struct ak_run *run) {
    struct ak_number limit = unextended(run->number), first = run->number[AK_RUN_LIMIT_ORIGINAL];
    if (first.known && first.i > (limit.known ? limit.i : 0))
        limit = first;
    else if (limit.i <= 0)
        limit.known = false;
    return limit.known && limit.i < AK_TOO_LONG ? limit : (struct ak_number){0};
}

struct ak_number ak_size_of(const struct ak_run *run, enum ak_size size) {
    return either(run->number[AK_RUN_NODES + size], run->number[AK_RUN_REQ_NODES + size]);
}

struct ak_slice ak_class_of(const struct ak_run *run) {
    struct ak_number nodes = ak_size_of(run, AK_NODES), gpus = ak_size_of(run, AK_GPUS);
    const char *word = nodes.known && nodes.i > 1  ? "multi-node"
                       : !gpus.known || gpus.i < 0 ? NULL
                       : gpus.i > 1                ? "multi-gpu"
                       : gpus.i == 1               ? "single-gpu"
                                                   : "cpu";
    return (struct ak_slice){word, word ? strlen(word) : 0};
}

static bool above_0(struct ak_number number) {
    return number.known && number.i > 0;
}

/* Whether the row may have consequences for a person. */
static bool acting(const struct ak_run *run) {
    struct ak_slice source = run->text[AK_RUN_SOURCE];
    return is(source, "demo") ||
           ((is(source, "slurmdbd") || is(source, "trusted")) && !is(run->text[AK_RUN_AUDITED], "beyond"));
}

/* Whether the run's own columns say that it was put back, or carries on another. */
static bool checkpoint(const struct ak_run *run) {
    const struct ak_number *n = run->number;
    return above_0(n[AK_RUN_RESTARTS]) || is(run->text[AK_RUN_STATE], "REQUEUED") ||
           (n[AK_RUN_CKPT_REQUEUES].known &&
            (above_0(n[AK_RUN_CKPT_REQUEUES]) || above_0(n[AK_RUN_CKPT_HEARD])));
}

static void set_key(const struct ak_run *run, struct ak_number limit, struct ak_image *image) {
    const struct ak_number *n = run->number;
    const enum ak_run_text kept[] = {AK_RUN_CLUSTER, AK_RUN_QUEUE,      AK_RUN_USER,         AK_RUN_ACCOUNT,
                                     AK_RUN_STATE,   AK_RUN_LIMIT_KIND, AK_RUN_LIMIT_SOURCE, AK_RUN_SOURCE};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        image->key_text[i] = run->text[kept[i]];
    image->key_text[AK_KEY_TEXTS - 1] = ak_class_of(run);
    image->key_number[0] = upto(limit);
    image->key_number[1] = some(acting(run));
    image->key_number[2] = some(checkpoint(run));
    image->key_number[3] = n[AK_RUN_EXIT_CODE];
    image->key_number[4] = ran_upto(n[AK_RUN_ELAPSED]);
}

/* The sizes; 0 for one that is unknown or nonsense. */
static void set_sizes(const struct ak_run *run, int64_t size[AK_SIZES], bool known[AK_SIZES]) {
    for (int i = 0; i < AK_SIZES; i++) {
        struct ak_number one = ak_size_of(run, (enum ak_size)i);
        known[i] = one.known && one.i >= 0 && one.i <= AK_MOST;
        size[i] = known[i] ? one.i : 0;
    }
}

bool ak_image(const struct ak_run *run, struct ak_image *image) {
    const struct ak_number *n = run->number;
    struct ak_number elapsed = n[AK_RUN_ELAPSED], limit = ak_req_limit(run), wait = {0};
    int64_t size[AK_SIZES], end = n[AK_RUN_END].i, unused = 0;
    bool known[AK_SIZES], ran = counts(elapsed), limited = ran && above_0(limit);
    *image = (struct ak_image){0};
    if (!n[AK_RUN_END].known)
        return false;
    if (n[AK_RUN_START].known && n[AK_RUN_ELIGIBLE].known)
        wait.known = !__builtin_sub_overflow(n[AK_RUN_START].i, n[AK_RUN_ELIGIBLE].i, &wait.i);
    set_key(run, limit, image);
    set_sizes(run, size, known);
    image->month = ak_month_of(end);
    image->bin[0] = bin_of(elapsed);
    image->bin[1] = -1;
    image->bin[2] = AK_EVERYBODYS + (int)((day_of(end) - image->month) / DAY);
    if (limited) {
        int64_t accuracy = (elapsed.i * (100 / PERCENT) + limit.i - 1) / limit.i;
        image->bin[1] = AK_ELAPSED_BINS + (int)(accuracy < OVER / PERCENT ? accuracy : OVER / PERCENT);
        accuracy = elapsed.i * MILLION / limit.i;
        image->sum[4] = accuracy < MOST_ACCURATE ? accuracy : MOST_ACCURATE;
        unused = limit.i > elapsed.i ? limit.i - elapsed.i : 0;
    }
    image->sum[0] = 1;
    image->sum[1] = ran ? elapsed.i : 0;
    image->sum[2] = counts(wait) ? wait.i : 0;
    image->sum[3] = limit.known ? limit.i : 0;
    for (int i = 0; i < AK_SIZES; i++) {
        image->sum[5 + i] = known[i];
        image->sum[8 + i] = ran ? elapsed.i * size[i] : 0;
    }
    image->sum[11] = unused * size[AK_CPUS];
    image->sum[12] = unused * size[AK_GPUS];
    return true;
}
