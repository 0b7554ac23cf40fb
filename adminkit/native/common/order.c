/* order.c - which of two hours a local time means, and whether the times of a row contradict each other. */
#include "fields.h"

enum { SUBMIT, ELIGIBLE, START, END, TIMES, ELAPSED = TIMES, CLOCK, SUSPENDED };

/* One that contradicts the order weighs more than any number of seconds. */
#define DISORDER ((uint64_t)1 << 50)
/* Seconds by which clocks may differ; adminkit/trace/sensible.py has the same. */
#define CLOCKS 60

static struct ak_cell *cell_of(struct ak_rows *rows, int what) {
    int column = rows->spec->order[what];
    struct ak_cell *cell = column ? &rows->cell[rows->spec->column[column - 1].out] : NULL;
    return cell && cell->type == AK_INT ? cell : NULL;
}

static struct ak_cell *elapsed_of(struct ak_rows *rows) {
    struct ak_cell *seconds = cell_of(rows, ELAPSED);
    return seconds ? seconds : cell_of(rows, CLOCK);
}

static uint64_t distance(int64_t a, int64_t b) {
    return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* How much is wrong with the times as they are: 0 where they are in order and the run time is theirs. */
static uint64_t wrong(struct ak_rows *rows) {
    uint64_t found = 0;
    const struct ak_cell *before = NULL, *start = cell_of(rows, START), *end = cell_of(rows, END);
    const struct ak_cell *elapsed = elapsed_of(rows), *suspended = cell_of(rows, SUSPENDED);
    for (int what = SUBMIT; what < TIMES; what++) {
        const struct ak_cell *cell = cell_of(rows, what);
        if (cell && before && cell->v.i < before->v.i)
            found += DISORDER;
        if (cell)
            before = cell;
    }
    if (start && end && elapsed && elapsed->v.i < (int64_t)1 << 40) {
        bool more = suspended && suspended->v.i < (int64_t)1 << 40;
        found += distance(end->v.i - start->v.i, elapsed->v.i + (more ? suspended->v.i : 0));
    }
    return found;
}

/* Gives the times in `at` their later meaning where `mask` has their bit, else the earlier one. */
static void mean(struct ak_rows *rows, const int *at, int n, unsigned mask) {
    for (int i = 0; i < n; i++)
        rows->cell[rows->twice_at[at[i]]].v.i = rows->twice[at[i]][mask >> i & 1];
}

void ak_settle(struct ak_rows *rows) {
    int at[TIMES], n = 0;
    for (int what = SUBMIT; what < TIMES; what++)
        for (int i = 0; i < rows->twices; i++)
            if (cell_of(rows, what) == &rows->cell[rows->twice_at[i]])
                at[n++] = i;
    uint64_t least = UINT64_MAX;
    unsigned first = 0, every = 0, any = 0;
    for (unsigned mask = 0; n && mask < 1u << n; mask++) {
        mean(rows, at, n, mask);
        uint64_t found = wrong(rows);
        if (found < least)
            least = found, first = every = any = mask;
        else if (found == least)
            every &= mask, any |= mask;
    }
    mean(rows, at, n, first);
    for (int i = 0; i < n; i++)
        rows->ambiguous -= !((any ^ every) >> i & 1);
}

bool ak_contradictory(struct ak_rows *rows) {
    const struct ak_cell *submit = cell_of(rows, SUBMIT), *start = cell_of(rows, START),
                         *end = cell_of(rows, END);
    const struct ak_cell *elapsed = elapsed_of(rows), *begin = start ? start : submit;
    if (end && submit && end->v.i < submit->v.i - CLOCKS)
        return true;
    return end && begin && (elapsed ? elapsed->v.i : 0) > end->v.i - begin->v.i + CLOCKS;
}

bool ak_spec_order(struct ak_spec *spec, const char *text) {
    for (int what = 0; what < AK_ORDER; what++) {
        int column = 0;
        for (; ak_digit(*text) && column <= AK_MAX_COLUMNS; text++)
            column = column * 10 + (*text - '0');
        if (column > spec->columns || *text++ != (what + 1 < AK_ORDER ? ',' : '\0'))
            return false;
        enum ak_kind kind = column ? spec->column[column - 1].kind : AK_SKIP;
        bool fits = what < TIMES ? kind == AK_TIME || kind == AK_EPOCH : kind == AK_SECONDS;
        if (column && !fits)
            return false;
        spec->order[what] = column;
    }
    return true;
}
