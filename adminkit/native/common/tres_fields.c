/* tres_fields.c - TRES and GRES lists, and what a step used of them. */
#include "gpu_words.h"

#include <string.h>

/* Splits off the part before `c`, or all of it. False where nothing is left. */
static bool next_part(struct ak_slice *rest, char c, struct ak_slice *part) {
    if (!rest->s)
        return false;
    const char *cut = rest->n ? memchr(rest->s, c, rest->n) : NULL;
    part->s = rest->s;
    part->n = cut ? (size_t)(cut - rest->s) : rest->n;
    rest->s = cut ? cut + 1 : NULL;
    rest->n = cut ? rest->n - part->n - 1 : 0;
    return true;
}

/* A count into `out`; unset ones, and those that are below 0 without their sign, leave it alone. */
static enum ak_fault set_count(struct ak_slice value, struct ak_cell *out) {
    int64_t count;
    enum ak_fault fault = ak_count(value, &count);
    if (!fault)
        ak_set_int(out, count);
    return fault == AK_UNKNOWN || fault == AK_TOO_LARGE ? AK_FINE : fault;
}

static enum ak_fault set_size(struct ak_slice value, int shift, int64_t most, struct ak_cell *out) {
    int64_t bytes;
    enum ak_fault fault = ak_size(value, shift, &bytes);
    if (!fault && bytes <= most)
        ak_set_int(out, bytes);
    return fault == AK_UNKNOWN ? AK_FINE : fault;
}

/* key=value into its halves. */
static bool halves(struct ak_slice item, struct ak_slice *key, struct ak_slice *value) {
    *value = item;
    return next_part(value, '=', key) && value->s && key->n;
}

/* A count at *p that ends with its item; *p moves behind it. AK_UNKNOWN: one of Slurm's numbers for "unset".
 */
static inline enum ak_fault item_count(const char **p, const char *end, int64_t *count) {
    uint64_t number;
    enum ak_fault fault = ak_digits(p, end, &number);
    if (fault == AK_MALFORMED || (*p < end && **p != ','))
        return AK_MALFORMED;
    return fault ? fault : ak_as_count(number, count);
}

/* A whole item into `item`; *p moves behind it. */
static void whole_item(const char **p, const char *end, struct ak_slice *item) {
    const char *start = *p;
    while (*p < end && **p != ',')
        ++*p;
    *item = (struct ak_slice){start, (size_t)(*p - start)};
}

/* The same of a size, whose groups of three digits have commas between: no name of an item begins with
 * three digits and a comma or a unit. */
static void size_item(const char **p, const char *end, struct ak_slice *item) {
    whole_item(p, end, item);
    while (end - *p > 3 && ak_digit((*p)[1]) && ak_digit((*p)[2]) && ak_digit((*p)[3]) &&
           (end - *p == 4 || memchr("KMGTPE?.,", (*p)[4], 9))) {
        struct ak_slice group;
        ++*p;
        whole_item(p, end, &group);
        item->n = (size_t)(*p - item->s);
    }
}

/* gres/NAME=COUNT or gres/NAME:TYPE=COUNT, parsed from the end of the name; *p moves behind the item. */
static enum ak_fault gpu_tres(const char **p, const char *end, enum ak_gpu_sort sort,
                              struct ak_gpu_words *words) {
    struct ak_slice item, type, value = {NULL, 0};
    int64_t count;
    bool typed = **p == ':';
    ++*p;
    whole_item(p, end, &item);
    if (typed) {
        value = item;
        next_part(&value, '=', &type);
        words->unreadable |= type.n == 0 || !value.s;
        if (type.n == 0 || !value.s || !ak_gpu_count(words, value, &count))
            return AK_FINE;
        return ak_gpu_add(words, sort, type, count);
    }
    if (ak_gpu_count(words, item, &count))
        words->has_bare[sort] = true, words->bare[sort] = count;
    return AK_FINE;
}

/* A number that stands for a TRES without a name: one of a site's own, which may be GPUs. */
static bool nameless(struct ak_slice key) {
    for (size_t i = 0; i < key.n; i++)
        if (!ak_digit(key.s[i]))
            return false;
    return key.n >= 4;
}

/* The length of `name` or of `id`, with its =, where `left` begins with one of them. slurmdbd's tables have
 * the ids, and slurmdb.h says which. */
static inline size_t named(struct ak_slice left, const char *name, size_t n, char id) {
    if (left.n >= n && memcmp(left.s, name, n) == 0)
        return n;
    return left.n >= 2 && left.s[0] == id && left.s[1] == '=' ? 2 : 0;
}
#define AK_NAMED(left, name, id) named(left, name "=", sizeof name, id)

enum ak_fault ak_tres(struct ak_slice s, const struct ak_tres_ids *ids, struct ak_cell out[8], char *scratch,
                      size_t *used) {
    struct ak_gpu_words words;
    const char *p = s.s, *end = s.s + s.n;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    ak_gpu_words_init(&words);
    for (;; p++) {
        struct ak_slice left = {p, (size_t)(end - p)}, item, key, value;
        enum ak_fault fault = AK_FINE;
        enum ak_gpu_sort sort;
        size_t name;
        int64_t count;
        int to = -1;
        if ((name = AK_NAMED(left, "cpu", '1'))) {
            to = 0, p += name;
        } else if ((name = AK_NAMED(left, "mem", '2'))) {
            p += name;
            size_item(&p, end, &item);
            fault = set_size(item, 20, AK_MAX_MEMORY - 1, &out[1]);
        } else if ((name = AK_NAMED(left, "node", '4'))) {
            to = 2, p += name;
        } else if ((name = AK_NAMED(left, "energy", '3'))) {
            to = 5, p += name;
        } else if ((name = AK_NAMED(left, "billing", '5'))) {
            to = 6, p += name;
        } else if (AK_STARTS(left, "gres/") && (name = ak_gpu_name(left, &sort))) {
            p += name;
            fault = gpu_tres(&p, end, sort, &words);
        } else {
            whole_item(&p, end, &item);
            if (!halves(item, &key, &value))
                return AK_MALFORMED;
            const struct ak_slice *its = nameless(key) ? ak_tres_name(ids, key) : NULL;
            words.unreadable |= nameless(key) && !its;
            if (its)
                fault = ak_gpu_number(*its, value, &words);
        }
        if (to >= 0) {
            fault = item_count(&p, end, &count);
            if (!fault)
                ak_set_int(&out[to], count);
            else if (to == 5 && fault == AK_TOO_LARGE) /* a counter that started again: below 0 */
                fault = AK_UNKNOWN;
        }
        if (fault && fault != AK_UNKNOWN)
            return fault;
        if (p == end)
            break;
    }
    ak_gpu_totals(&words);
    return ak_gpu_cells(&words, &out[3], &out[4], &out[7], scratch, used);
}

/* A list of GRES is of each node, or of what its words say. */
enum per { NODE, JOB, TASK, SOCKET, PERS, UNSAID = PERS };
static const char *const per_words[PERS] = {"PER_NODE:", "PER_JOB:", "PER_TASK:", "PER_SOCKET:"};
static const char *const per_names[PERS] = {"node", "job", "task", "socket"};

static struct ak_slice without(struct ak_slice item, size_t n) {
    return (struct ak_slice){item.s + n, item.n - n};
}

/* What `item` is of; moves it behind the words for it and behind gres: or gres/. */
static enum per unit_of(struct ak_slice *item) {
    enum per found = UNSAID;
    for (int i = 0; i < PERS && found == UNSAID; i++)
        if (item->n >= strlen(per_words[i]) && memcmp(item->s, per_words[i], strlen(per_words[i])) == 0)
            found = (enum per)i, *item = without(*item, strlen(per_words[i]));
    if (AK_STARTS(*item, "gres:") || AK_STARTS(*item, "gres/"))
        *item = without(*item, 5);
    return found;
}

/* Splits off the part before : or =. */
static bool next_word(struct ak_slice *rest, struct ak_slice *word) {
    if (!rest->s)
        return false;
    size_t n = 0;
    while (n < rest->n && rest->s[n] != ':' && rest->s[n] != '=')
        n++;
    *word = (struct ak_slice){rest->s, n};
    *rest = n < rest->n ? without(*rest, n + 1) : (struct ak_slice){NULL, 0};
    return true;
}

/* Whether a GRES of this name, or with this number of gres_build_id(), is GPUs. */
static bool gpu_gres(struct ak_slice name, enum ak_gpu_sort *sort) {
    if (AK_IS(name, "gpu") || AK_IS(name, "7696487"))
        *sort = AK_GPU;
    else if (AK_IS(name, "shard") || AK_IS(name, "1918986455"))
        *sort = AK_SHARD;
    else if (AK_IS(name, "mps") || AK_IS(name, "7565421"))
        *sort = AK_MPS;
    else
        return false;
    return true;
}

static enum ak_fault add_bare(struct ak_gpu_words *words, enum ak_gpu_sort sort, int64_t count) {
    return __builtin_add_overflow(words->bare[sort], count, &words->bare[sort]) ? AK_TOO_LARGE : AK_FINE;
}

/* gpu, gpu:2, gpu:a100, gpu:a100:2; what is in brackets was cut out before. */
static enum ak_fault gpu_item(struct ak_slice item, struct ak_gpu_words *words, enum per *per) {
    struct ak_slice name = {0}, first = {0}, second = {0};
    enum per unit = unit_of(&item);
    enum ak_gpu_sort sort;
    int64_t count = 1;
    next_word(&item, &name);
    if (name.n == 0)
        return AK_MALFORMED;
    if (!gpu_gres(name, &sort))
        return AK_FINE;
    if (unit == UNSAID)
        unit = NODE;
    words->unreadable |= *per != UNSAID && *per != unit;
    *per = unit;
    if (!next_word(&item, &first))
        return add_bare(words, sort, 1);
    if (next_word(&item, &second)) {
        words->unreadable |= item.s != NULL;
        if (!ak_gpu_count(words, second, &count))
            return AK_FINE;
        return first.n ? ak_gpu_add(words, sort, first, count) : add_bare(words, sort, count);
    }
    struct ak_gpu_words probe = {.unreadable = false};
    if (ak_gpu_count(&probe, first, &count))
        return add_bare(words, sort, count);
    words->unreadable |= first.n == 0;
    return first.n ? ak_gpu_add(words, sort, first, 1) : AK_FINE;
}

/* The next item, without what is in brackets at its end; "(null)" stands for no type. *i moves behind it. */
static enum ak_fault next_gres(struct ak_slice s, size_t *i, char *bare, struct ak_slice *item) {
    size_t start = *i, n = 0;
    bool cut = false;
    while (*i < s.n && s.s[*i] != ',') {
        if (s.s[*i] != '(') {
            bare[n++] = s.s[(*i)++];
            continue;
        }
        const char *close = memchr(s.s + *i, ')', s.n - *i);
        if (!close)
            return AK_MALFORMED;
        *i = (size_t)(close - s.s) + 1;
        cut = true;
    }
    *item = cut ? (struct ak_slice){bare, n} : (struct ak_slice){s.s + start, *i - start};
    ++*i; /* the comma, or past the end */
    return AK_FINE;
}

enum ak_fault ak_gres(struct ak_slice s, struct ak_cell out[4], char *scratch, size_t *used) {
    struct ak_gpu_words words;
    enum per per = UNSAID;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    ak_gpu_words_init(&words);
    for (size_t i = 0; i <= s.n;) {
        struct ak_slice item;
        enum ak_fault fault = next_gres(s, &i, scratch + *used, &item);
        if (!fault && item.s == scratch + *used) {
            *used += item.n; /* its type stays there */
            memset(scratch + *used, 0, AK_PADDING);
        }
        if (!fault)
            fault = gpu_item(item, &words, &per);
        if (fault)
            return fault;
    }
    const char *unit = per_names[per == UNSAID ? NODE : per];
    ak_set_text(&out[3], unit, strlen(unit));
    return ak_gpu_cells(&words, &out[0], &out[1], &out[2], scratch, used);
}

enum ak_fault ak_usage(struct ak_slice s, const struct ak_tres_ids *ids, struct ak_cell out[6]) {
    struct ak_slice item, key, value;
    if (ak_unknown(s))
        return AK_UNKNOWN;
    while (next_part(&s, ',', &item)) {
        enum ak_fault fault = AK_FINE;
        if (!halves(item, &key, &value))
            return AK_MALFORMED;
        const struct ak_slice *its = nameless(key) ? ak_tres_name(ids, key) : NULL;
        if (its && its->n)
            key = (struct ak_slice){its->s, its->n - 1};
        if (AK_IS(key, "cpu")) {
            struct ak_clock clock;
            int64_t seconds;
            fault = ak_duration(value, &clock, &seconds);
            if (!fault)
                ak_set_real(&out[0], (double)seconds + (double)clock.fraction / clock.scale);
            else if (fault == AK_UNKNOWN)
                fault = AK_FINE;
        } else if (AK_IS(key, "1")) { /* in the tables, CPU time is in thousandths; sacct cuts them off */
            int64_t thousandths;
            fault = ak_count(value, &thousandths);
            if (!fault)
                ak_set_real(&out[0], (double)(thousandths / 1000));
            else if (fault == AK_UNKNOWN || fault == AK_TOO_LARGE)
                fault = AK_FINE;
        } else if (AK_IS(key, "mem") || AK_IS(key, "2")) {
            fault = set_size(value, 0, INT64_MAX, &out[1]);
        } else if (AK_IS(key, "fs/disk") || AK_IS(key, "6")) {
            fault = set_size(value, 0, INT64_MAX, &out[2]);
        } else if (AK_IS(key, "energy") || AK_IS(key, "3")) {
            fault = set_count(value, &out[3]);
        } else if (AK_IS(key, "gres/gpuutil")) {
            fault = set_count(value, &out[4]);
        } else if (AK_IS(key, "gres/gpumem")) {
            fault = set_size(value, 0, INT64_MAX, &out[5]);
        }
        if (fault)
            return fault;
    }
    return AK_FINE;
}
