/* submitted.c - a command line of sbatch, srun or salloc, and the few values that are kept of it.
 *
 * slurmdbd keeps the words with a blank between and without quotes, so a word that had a blank is two here,
 * and the program is a guess. What is not certain is unknown. No points depend on any of it.
 */
#include "fields.h"

#include <string.h>

#define MAX_WORDS 256  /* that are looked at */
#define MAX_PROGRAM 64 /* bytes */

static const struct tool {
    const char *name, *alone,
        *maybe; /* short options without a value, and with one only if it stands right behind */
    bool waits; /* --wait has no value */
} tools[] = {
    {"sbatch", "hHOQvVW", "kIs", true},
    {"srun", "EhHjlOQuvVXZ", "IKks", false},
    {"salloc", "hHOQvV", "IKks", false},
    {"scrontab", "elrv", "", false},
};

/* clang-format off */
/* Long options without a value, or with one behind a = only. */
static const char *const flags[] = {
    "async", "bcast", "bell", "ckpt-off", "ckpt-requeue", "compress", "container-entrypoint",
    "container-mount-home", "container-readonly", "container-remap-root", "container-writable", "contiguous",
    "disable-status", "exact", "exclusive", "external", "get-user-env", "help", "hold", "ignore-pbs",
    "immediate", "interactive", "kill-on-bad-exit", "label", "multi-prog", "nice", "no-allocate", "no-bell",
    "no-container-entrypoint", "no-container-mount-home", "no-container-remap-root", "no-kill", "no-requeue",
    "no-shell", "overcommit", "overlap", "oversubscribe", "parsable", "preserve-env", "propagate", "pty",
    "quiet", "quit-on-interrupt", "reboot", "requeue", "resv-ports", "send-libs", "spread-job", "stepmgr",
    "test-only", "unbuffered", "usage", "use-min-nodes", "verbose", "version", "x11",
};

/* Long options with a value. One that is in neither list may be a plugin's: what follows it is not known. */
static const char *const values[] = {
    "account", "acctg-freq", "array", "batch", "bb", "bbf", "bcast-exclude", "begin", "chdir", "ckpt-signal",
    "ckpt-target", "cluster-constraint", "clusters", "comment", "constraint", "container", "container-env",
    "container-id", "container-image", "container-mounts", "container-name", "container-save",
    "container-workdir", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq", "cpus-per-gpu",
    "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "epilog", "error", "exclude",
    "export", "export-file", "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus",
    "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "het-group", "hint", "image",
    "input", "job-name", "jobid", "kill-command", "kill-on-invalid-dep", "licenses", "mail-type", "mail-user",
    "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "module", "mpi", "network",
    "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node",
    "ntasks-per-socket", "ntasks-per-tres", "oom-kill-step", "open-mode", "output", "partition", "power",
    "prefer", "priority", "profile", "prolog", "qos", "relative", "reservation", "resources", "segment",
    "signal", "slurmd-debug", "sockets-per-node", "switches", "task-epilog", "task-prolog", "thread-spec",
    "threads", "threads-per-core", "time", "time-min", "tmp", "tree-width", "tres-bind", "tres-per-task",
    "uid", "volume", "wckey", "workdir",
};
/* clang-format on */

static bool blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes a word off the front of `s`. False: no word is left. */
static bool take_word(struct ak_slice *s, struct ak_slice *word) {
    while (s->n && blank(*s->s))
        s->s++, s->n--;
    word->s = s->s;
    for (word->n = 0; word->n < s->n && !blank(s->s[word->n]);)
        word->n++;
    s->s += word->n;
    s->n -= word->n;
    return word->n > 0;
}

static struct ak_slice basename_of(struct ak_slice s) {
    for (size_t i = s.n; i > 0; i--)
        if (s.s[i - 1] == '/')
            return (struct ak_slice){s.s + i, s.n - i};
    return s;
}

static bool begins(struct ak_slice s, const char *word) {
    size_t n = strlen(word);
    return s.n >= n && memcmp(s.s, word, n) == 0;
}

static bool among(struct ak_slice s, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s.n && *s.s == *list[i] && ak_is(s, list[i], strlen(list[i])))
            return true;
    return false;
}
#define AMONG(s, list) among((s), (list), sizeof(list) / sizeof *(list))

static bool holds(struct ak_slice s, const char *word) {
    for (; s.n; s.s++, s.n--)
        if (begins(s, word))
            return true;
    return false;
}

/* Sets framework or container where the word is a known program or a container plugin's option. */
static void look_up(struct ak_slice word, const struct ak_known *known, struct ak_cell out[5]) {
    if (!known || !known->n || !word.n)
        return;
    bool option = *word.s == '-';
    const char *equals = option ? memchr(word.s, '=', word.n) : NULL;
    struct ak_slice name = option ? word : basename_of(word);
    if (equals)
        name.n = (size_t)(equals - word.s);
    if (name.n == 0 || name.n > AK_LONGEST ||
        !(known->last[name.n] >> ((unsigned char)name.s[name.n - 1] & 63) & 1))
        return;
    for (int i = 0; i < known->n; i++) {
        struct ak_cell *cell = &out[known->one[i].container ? 4 : 3];
        if (cell->type == AK_NULL && ak_is(name, known->one[i].word.s, known->one[i].word.n))
            ak_set_text(cell, known->one[i].name.s, known->one[i].name.n);
    }
}

/* Sets the program's name: 64 bytes at most, whole characters, no control characters. */
static void set_program(struct ak_slice word, struct ak_cell out[5]) {
    struct ak_slice name = basename_of(word);
    if (memchr(word.s, '=', word.n)) /* A=B in front of a command, or the end of a text with blanks */
        return;
    if (name.n > MAX_PROGRAM)
        for (name.n = MAX_PROGRAM; name.n && ((unsigned char)name.s[name.n] & 0xC0) == 0x80;)
            name.n--;
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.s[i] < 0x20 || name.s[i] == 0x7F)
            return;
    if (name.n)
        ak_set_text(&out[2], name.s, name.n);
}

/* Where the walk over a line stands. */
struct walk {
    const struct tool *tool;
    struct ak_slice rest;
    int words;
    bool lost;   /* what comes now may be an option's value */
    bool export; /* the word before was the value of --export, with an assignment */
};

static bool next_word(struct walk *walk, struct ak_slice *word) {
    return walk->words++ < MAX_WORDS && take_word(&walk->rest, word);
}

static void take_export(struct walk *walk, struct ak_slice value, struct ak_cell out[5]) {
    walk->export = memchr(value.s, '=', value.n) != NULL;
    if (holds(value, "ADMINKIT_CKPT="))
        ak_set_int(&out[1], 1);
}

/* An option with two dashes, and its value. */
static void take_long(struct walk *walk, struct ak_slice word, struct ak_cell out[5]) {
    const char *equals = memchr(word.s, '=', word.n);
    struct ak_slice name = {word.s + 2, (equals ? (size_t)(equals - word.s) : word.n) - 2}, value = {0};
    if (begins(name, "ckpt-") && !AK_IS(name, "ckpt-off"))
        ak_set_int(&out[1], 1);
    if (equals)
        value = (struct ak_slice){equals + 1, (size_t)(word.s + word.n - equals - 1)};
    else if (AK_IS(name, "wait") ? walk->tool->waits : AMONG(name, flags))
        return;
    else if (AK_IS(name, "wait") || AMONG(name, values))
        next_word(walk, &value);
    else
        walk->lost = true;
    if (AK_IS(name, "export") && value.n)
        take_export(walk, value, out);
}

/* Options with one dash: letters, until one has a value. */
static void take_short(struct walk *walk, struct ak_slice word) {
    for (size_t i = 1; i < word.n; i++) {
        if (strchr(walk->tool->alone, word.s[i]))
            continue;
        struct ak_slice value;
        if (i + 1 == word.n && !strchr(walk->tool->maybe, word.s[i]))
            next_word(walk, &value);
        return;
    }
}

/* Passes over the options. True: `word` is the program. */
static bool find_program(struct walk *walk, const struct ak_known *known, struct ak_slice *word,
                         struct ak_cell out[5]) {
    while (next_word(walk, word)) {
        bool after_export = walk->export;
        walk->export = false;
        if (walk->lost) {
            look_up(*word, known, out);
            if (begins(*word, "--ckpt-") && !AK_IS(*word, "--ckpt-off"))
                ak_set_int(&out[1], 1);
        } else if (AK_IS(*word, "--")) {
            return next_word(walk, word);
        } else if (AK_IS(*word, "--wrap")) {
            return next_word(walk, word);
        } else if (begins(*word, "--wrap=")) {
            word->s += 7;
            word->n -= 7;
            return word->n > 0;
        } else if (begins(*word, "--")) {
            look_up(*word, known, out);
            take_long(walk, *word, out);
        } else if (word->n > 1 && *word->s == '-') {
            take_short(walk, *word);
        } else if (after_export) { /* the rest of a value with a blank: no name for anything */
            walk->lost = true;
        } else if (!AK_IS(*word, ":")) { /* between the components of a het job */
            return true;
        }
    }
    return false;
}

void ak_submitted(struct ak_slice s, const struct ak_known *known, struct ak_cell out[5]) {
    struct walk walk = {.rest = s};
    struct ak_slice word, name;
    if (!next_word(&walk, &word))
        return;
    name = basename_of(word);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (ak_is(name, tools[i].name, strlen(tools[i].name)))
            walk.tool = &tools[i];
    if (!walk.tool)
        return;
    ak_set_text(&out[0], walk.tool->name, strlen(walk.tool->name));
    ak_set_int(&out[1], 0);
    if (!find_program(&walk, known, &word, out))
        return;
    set_program(word, out);
    do
        look_up(word, known, out);
    while (next_word(&walk, &word));
}

bool ak_known_parse(struct ak_known *known, const char *text) {
    *known = (struct ak_known){0};
    for (const char *p = text; *p;) {
        const char *equals = strchr(p, '='), *end = p + strcspn(p, ",");
        if (known->n == AK_MAX_KNOWN || !equals || equals > end || equals == p || end - equals < 4 ||
            (equals[1] != 'f' && equals[1] != 'c') || equals[2] != ':')
            return false;
        size_t n = (size_t)(equals - p);
        if (n > AK_LONGEST)
            return false;
        known->last[n] |= (uint64_t)1 << ((unsigned char)p[n - 1] & 63);
        known->one[known->n].word = (struct ak_slice){p, n};
        known->one[known->n].name = (struct ak_slice){equals + 3, (size_t)(end - equals - 3)};
        known->one[known->n++].container = equals[1] == 'c';
        p = *end ? end + 1 : end;
    }
    return true;
}
