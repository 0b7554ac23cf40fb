/* job_fields.c - what only jobs have: ids, states, exit codes. */
#include "fields.h"

#include <string.h>

static bool letter(char c) {
    return (unsigned char)((c | 32) - 'a') < 26;
}

/* The length of the id before a step's dot; dots may stand within brackets. */
static size_t id_length(struct ak_slice s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == '[') {
            const char *close = memchr(s.s + i, ']', s.n - i);
            if (!close)
                return s.n; /* older sacct cuts long lists */
            i = (size_t)(close - s.s);
        } else if (s.s[i] == '.') {
            return i;
        }
    }
    return s.n;
}

static bool step_name(struct ak_slice s) {
    if (s.n == 0 || s.n > 64)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!letter(s.s[i]) && !ak_digit(s.s[i]) && s.s[i] != '_' && s.s[i] != '+' && s.s[i] != '-')
            return false;
    return true;
}

/* How many tasks one part of a list has: 7, 5-9, 5-9:2; 0 for another text. */
static int64_t tasks_of(struct ak_slice part) {
    int64_t number[3] = {0, 0, 1}; /* first, last, step */
    static const char before[3] = {0, '-', ':'};
    size_t at = 0;
    for (int i = 0; i < 3 && (i == 0 || at < part.n); i++) {
        size_t from = i ? at + 1 : at;
        if (i && part.s[at] != before[i])
            return 0;
        for (at = from; at < part.n && ak_digit(part.s[at]);)
            at++;
        if (at - from > 10 || ak_count((struct ak_slice){part.s + from, at - from}, &number[i]))
            return 0;
        if (i == 0)
            number[1] = number[0];
    }
    if (at < part.n || number[1] < number[0] || number[2] < 1)
        return 0;
    return (number[1] - number[0]) / number[2] + 1;
}

/* How many tasks a list like 5-9,11-20:3%2 has, without its brackets; `whole`: it ends with one. What is
 * behind a % is not a task, so a list that is cut there is whole. 0 where the list was cut, or is another
 * text.
 */
static int64_t listed(struct ak_slice list, bool whole) {
    const char *limit = memchr(list.s, '%', list.n);
    size_t n = limit ? (size_t)(limit - list.s) : list.n;
    int64_t tasks = 0;
    for (size_t from = 0, to; (whole || limit) && from <= n; from = to + 1) {
        const char *comma = memchr(list.s + from, ',', n - from);
        to = comma ? (size_t)(comma - list.s) : n;
        int64_t some = tasks_of((struct ak_slice){list.s + from, to - from});
        if (some == 0)
            return 0;
        tasks += some;
    }
    return tasks;
}

/* 123, 123_4, 123_[5-9%2], 123+1, without a step. */
static enum ak_fault job_number(struct ak_slice id, struct ak_cell out[7]) {
    size_t n = 0;
    int64_t job, part;
    while (n < id.n && ak_digit(id.s[n]))
        n++;
    enum ak_fault fault = ak_count((struct ak_slice){id.s, n}, &job);
    if (fault || n == id.n)
        return fault == AK_UNKNOWN ? AK_MALFORMED : fault;
    struct ak_slice rest = {id.s + n + 1, id.n - n - 1};
    int to = id.s[n] == '_' ? 1 : id.s[n] == '+' ? 3 : 0;
    if (to == 0)
        return AK_MALFORMED;
    ak_set_int(&out[to], job);
    if (to == 1 && rest.n && *rest.s == '[') {
        size_t end = rest.n - (rest.s[rest.n - 1] == ']');
        for (size_t i = 1; i < end; i++)
            if (!ak_digit(rest.s[i]) && !memchr(",-%:.", rest.s[i], 5))
                return AK_MALFORMED;
        if (end < 2)
            return AK_MALFORMED;
        int64_t tasks = listed((struct ak_slice){rest.s + 1, end - 1}, end < rest.n);
        if (tasks)
            ak_set_int(&out[6], tasks);
        return AK_FINE;
    }
    fault = ak_count(rest, &part);
    if (fault)
        return fault == AK_UNKNOWN ? AK_MALFORMED : fault;
    ak_set_int(&out[to + 1], part);
    return AK_FINE;
}

enum ak_fault ak_jobid(struct ak_slice s, struct ak_cell out[7]) {
    if (ak_unknown(s))
        return AK_UNKNOWN;
    size_t n = id_length(s);
    enum ak_fault fault = job_number((struct ak_slice){s.s, n}, out);
    if (fault)
        return fault;
    if (n < s.n) {
        struct ak_slice step = {s.s + n + 1, s.n - n - 1};
        if (!step_name(step))
            return AK_MALFORMED;
        ak_set_text(&out[5], step.s, step.n);
    }
    ak_set_text(&out[0], s.s, n);
    return AK_FINE;
}

enum ak_fault ak_rawid(struct ak_slice s, struct ak_cell *out) {
    int64_t value;
    const char *dot = s.n ? memchr(s.s, '.', s.n) : NULL;
    size_t n = dot ? (size_t)(dot - s.s) : s.n;
    enum ak_fault fault = ak_count((struct ak_slice){s.s, n}, &value);
    if (fault == AK_MALFORMED && ak_unknown(s))
        return AK_UNKNOWN;
    if (dot && !step_name((struct ak_slice){dot + 1, s.n - n - 1}))
        return AK_MALFORMED;
    if (!fault)
        ak_set_int(out, value);
    return fault;
}

enum ak_fault ak_state(struct ak_slice s, struct ak_cell out[2]) {
    size_t n = 0;
    int64_t uid;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    while (n < s.n && (letter(s.s[n]) || s.s[n] == '_'))
        n++;
    if (n == 0)
        return AK_MALFORMED;
    if (n < s.n) {
        struct ak_slice rest = {s.s + n, s.n - n};
        if (!AK_STARTS(rest, " by "))
            return AK_MALFORMED;
        enum ak_fault fault = ak_count((struct ak_slice){rest.s + 4, rest.n - 4}, &uid);
        if (fault && fault != AK_UNKNOWN)
            return fault;
        if (!fault)
            ak_set_int(&out[1], uid);
    }
    ak_set_text(&out[0], s.s, n);
    return AK_FINE;
}

enum ak_fault ak_exit(struct ak_slice s, struct ak_cell out[2]) {
    if (s.n == 3 && ak_digit(s.s[0]) && s.s[1] == ':' && ak_digit(s.s[2])) { /* most are 0:0 */
        ak_set_int(&out[0], s.s[0] - '0');
        ak_set_int(&out[1], s.s[2] - '0');
        return AK_FINE;
    }
    const char *colon = s.n ? memchr(s.s, ':', s.n) : NULL;
    size_t head = colon ? (size_t)(colon - s.s) : s.n;
    int64_t code, signal;
    enum ak_fault fault = ak_count((struct ak_slice){s.s, head}, &code);
    if (fault)
        return fault == AK_MALFORMED && ak_unknown(s) ? AK_UNKNOWN : fault;
    if (colon) {
        fault = ak_count((struct ak_slice){colon + 1, s.n - head - 1}, &signal);
        if (fault)
            return fault;
        ak_set_int(&out[1], signal);
    }
    ak_set_int(&out[0], code);
    return AK_FINE;
}
