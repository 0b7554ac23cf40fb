/* gpu_words.c - GPUs by type, slices of MIG, shards and MPS, and the texts they become. */
#include "gpu_words.h"

#include <stdio.h>
#include <string.h>

static const char units[] = "KMGTP";

bool ak_gpu_count(struct ak_gpu_words *words, struct ak_slice s, int64_t *count) {
    uint64_t number = 0;
    const char *p = s.s, *end = s.s + s.n;
    enum ak_fault fault = s.n ? ak_digits(&p, end, &number) : AK_MALFORMED;
    unsigned shift = 0;
    if (!fault && end - p == 1) {
        const char *unit = strchr(units, *p & ~0x20);
        if (unit && *unit)
            shift = 10 * (unsigned)(unit - units + 1), p++;
    }
    if (!fault && (p != end || number > (uint64_t)INT64_MAX >> shift))
        fault = AK_MALFORMED;
    if (!fault)
        fault = ak_as_count(number << shift, count);
    words->unreadable |= fault != AK_FINE;
    return fault == AK_FINE;
}

static int compare(struct ak_slice a, struct ak_slice b) {
    int order = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

enum ak_fault ak_gpu_add(struct ak_gpu_words *words, enum ak_gpu_sort sort, struct ak_slice name,
                         int64_t count) {
    if (__builtin_add_overflow(words->typed[sort], count, &words->typed[sort]))
        return AK_TOO_LARGE;
    if (count == 0)
        return AK_FINE;
    int place = 0, order = 1;
    for (; place < words->types; place++) {
        const struct ak_gpu_type *one = &words->type[place];
        order = sort != one->sort ? (int)sort - (int)one->sort : compare(name, one->name);
        if (order <= 0)
            break;
    }
    if (place < words->types && order == 0) {
        words->type[place].count += count; /* within the sum */
        return AK_FINE;
    }
    if (words->types == AK_MAX_TYPES)
        return AK_TOO_LARGE;
    memmove(&words->type[place + 1], &words->type[place],
            sizeof words->type[0] * (size_t)(words->types - place));
    words->type[place] = (struct ak_gpu_type){sort, name, count};
    words->types++;
    return AK_FINE;
}

void ak_gpu_totals(struct ak_gpu_words *words) {
    for (int sort = 0; sort < AK_GPU_SORTS; sort++) {
        if (words->has_bare[sort])
            words->bare[sort] -= words->typed[sort];
        words->unreadable |= words->bare[sort] < 0;
    }
}

/* ---- a profile of MIG at the end of a type: a100_3g.20gb, 1c.3g.20gb, 1g.10gb+me ---- */

static bool separates(char c) {
    return c == '.' || c == '_' || c == '-';
}

/* Whether s[..n) ends with `word`, in lower case here, in any there. */
static bool ends(struct ak_slice s, size_t n, const char *word) {
    size_t length = strlen(word);
    if (n < length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = s.s[n - length + i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != word[i])
            return false;
    }
    return true;
}

/* Where the digit 1 to 9 before s[..n), which ends with `unit`, stands; 0 where it does not. */
static size_t digit_before(struct ak_slice s, size_t n, const char *unit) {
    if (n > 0 && separates(s.s[n - 1]) && n > 1)
        n--;
    return n >= 2 && ends(s, n, unit) && s.s[n - 2] >= '1' && s.s[n - 2] <= '9' ? n - 1 : 0;
}

/* Whether a profile may begin at s[n]. */
static bool begins(struct ak_slice s, size_t n) {
    if (n == 0 || separates(s.s[n - 1]))
        return true;
    return ends(s, n, "mig") && (n == 3 || separates(s.s[n - 4]));
}

/* Whether s[..n) ends with a profile. */
static bool ends_with_profile(struct ak_slice s, size_t n) {
    if (!ends(s, n, "gb"))
        return false;
    size_t digits = n -= 2;
    while (digits > 0 && ak_digit(s.s[digits - 1]))
        digits--;
    size_t slices = digits < n ? digit_before(s, digits, "g") : 0;
    if (slices == 0)
        return false;
    size_t computing = digit_before(s, slices - 1, "c");
    return begins(s, slices - 1) || (computing && begins(s, computing - 1));
}

bool ak_is_mig(struct ak_slice type) {
    for (size_t n = 1; n <= type.n; n++)
        if ((n == type.n || separates(type.s[n]) || type.s[n] == '+') && ends_with_profile(type, n))
            return true;
    return false;
}

/* ---- the texts ---- */

static void set_types(const struct ak_gpu_words *words, struct ak_cell *out, char *scratch, size_t *used) {
    const struct ak_slice *one = NULL;
    char *start = scratch + *used, *p = start;
    int many = 0;
    for (int i = 0; i < words->types; i++)
        if (words->type[i].sort == AK_GPU)
            many++, one = &words->type[i].name;
    if (many == 1)
        ak_set_text(out, one->s, one->n);
    if (many < 2)
        return;
    for (int i = 0; i < words->types; i++) {
        if (words->type[i].sort != AK_GPU)
            continue;
        if (p != start)
            *p++ = '+';
        memcpy(p, words->type[i].name.s, words->type[i].name.n);
        p += words->type[i].name.n;
    }
    ak_set_text(out, start, (size_t)(p - start));
    *used += (size_t)(p - start);
}

static char *put_word(char *p, bool first, const char *word, struct ak_slice name, int64_t count) {
    if (!first)
        *p++ = ',';
    p += sprintf(p, "%s", word);
    if (name.n) {
        *p++ = ':';
        memcpy(p, name.s, name.n);
        p += name.n;
    }
    return p + sprintf(p, "=%lld", (long long)count);
}

static void set_parts(const struct ak_gpu_words *words, struct ak_cell *out, char *scratch, size_t *used) {
    static const char *const names[AK_GPU_SORTS] = {"mps", "shard", "slice"};
    bool own = words->typed[AK_GPU] || words->bare[AK_GPU];
    char *start = scratch + *used, *p = start;
    for (int sort = own ? AK_GPU : 0; sort < AK_GPU_SORTS; sort++) {
        if (sort != AK_GPU && words->bare[sort])
            p = put_word(p, p == start, names[sort], (struct ak_slice){"", 0}, words->bare[sort]);
        for (int i = 0; i < words->types; i++) {
            const struct ak_gpu_type *one = &words->type[i];
            if ((int)one->sort == sort && (sort != AK_GPU || ak_is_mig(one->name)))
                p = put_word(p, p == start, names[sort], one->name, one->count);
        }
    }
    if (p == start)
        return;
    ak_set_text(out, start, (size_t)(p - start));
    *used += (size_t)(p - start);
}

enum ak_fault ak_gpu_cells(const struct ak_gpu_words *words, struct ak_cell *gpus, struct ak_cell *types,
                           struct ak_cell *parts, char *scratch, size_t *used) {
    int64_t whole = words->bare[AK_GPU];
    if (words->unreadable) {
        ak_set_text(parts, "?", 1);
        return AK_FINE;
    }
    bool cut = words->typed[AK_SHARD] || words->bare[AK_SHARD] || words->typed[AK_MPS] || words->bare[AK_MPS];
    for (int i = 0; i < words->types; i++) {
        const struct ak_gpu_type *one = &words->type[i];
        if (one->sort != AK_GPU)
            continue;
        if (ak_is_mig(one->name))
            cut = true;
        else if (__builtin_add_overflow(whole, one->count, &whole))
            return AK_TOO_LARGE;
    }
    ak_set_int(gpus, whole);
    set_types(words, types, scratch, used);
    if (cut)
        set_parts(words, parts, scratch, used);
    return AK_FINE;
}

size_t ak_gpu_name(struct ak_slice left, enum ak_gpu_sort *sort) {
    static const struct {
        const char *name;
        size_t n;
        enum ak_gpu_sort sort;
    } names[] = {{"gres/gpu", 8, AK_GPU}, {"gres/shard", 10, AK_SHARD}, {"gres/mps", 8, AK_MPS}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (left.n > names[i].n && memcmp(left.s, names[i].name, names[i].n) == 0 &&
            (left.s[names[i].n] == '=' || left.s[names[i].n] == ':')) {
            *sort = names[i].sort;
            return names[i].n;
        }
    return 0;
}

enum ak_fault ak_gpu_number(struct ak_slice name, struct ak_slice value, struct ak_gpu_words *words) {
    enum ak_gpu_sort sort;
    int64_t count;
    size_t n = ak_gpu_name(name, &sort);
    if (n == 0 || !ak_gpu_count(words, value, &count))
        return AK_FINE;
    words->unreadable |= name.n == n + 2; /* gres/gpu:= */
    if (name.n == n + 2)
        return AK_FINE;
    if (name.s[n] == ':')
        return ak_gpu_add(words, sort, (struct ak_slice){name.s + n + 1, name.n - n - 2}, count);
    words->has_bare[sort] = true, words->bare[sort] = count;
    return AK_FINE;
}
