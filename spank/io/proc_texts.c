/* proc_texts.c - see proc_texts.h. */
#include "proc_texts.h"

#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit; -1: it is not one. */
static int hex(char c) {
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads "123" or "-1" at *at, and moves *at past it. */
static bool take_decimal(const char **at, const char *end, int64_t *value) {
    const char *c = *at;
    bool negative = c < end && *c == '-';
    int64_t n = 0;
    c += negative;
    const char *first = c;
    for (; c < end && is_digit(*c); c++) {
        if (n > (INT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (*c - '0');
    }
    *value = negative ? -n : n;
    *at = c;
    return c > first;
}

/* Reads " 0x1f" at *at, and moves *at past it. */
static bool take_argument(const char **at, const char *end, uint64_t *value) {
    const char *c = *at;
    uint64_t n = 0;
    if (end - c < 4 || c[0] != ' ' || c[1] != '0' || c[2] != 'x')
        return false;
    c += 3;
    const char *first = c;
    for (; c < end && hex(*c) >= 0; c++) {
        if (n >> 60)
            return false;
        n = n << 4 | (uint64_t)hex(*c);
    }
    *value = n;
    *at = c;
    return c > first;
}

void io_parse_syscall(const char *text, size_t size, struct io_thread *thread) {
    static const char running[] = "running";
    const char *at = text, *end = text + size;
    int64_t call;
    *thread = (struct io_thread){.state = IO_UNKNOWN, .call = -1};
    if (size >= sizeof running - 1 && memcmp(text, running, sizeof running - 1) == 0) {
        thread->state = IO_RUNS;
        return;
    }
    if (!take_decimal(&at, end, &call) || at == end)
        return;
    if (call < 0) {
        thread->state = IO_OUTSIDE;
        return;
    }
    for (int i = 0; i < 6; i++)
        if (!take_argument(&at, end, &thread->argument[i]))
            return;
    thread->call = (long)call;
    thread->state = IO_CALLS;
}

bool io_is_pipe(const char *text, size_t size) {
    static const char *const FUNCTIONS[] = {"pipe_read", "pipe_wait", "fifo_open", "wait_for_partner"};
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (memmem(text, size, FUNCTIONS[i], strlen(FUNCTIONS[i])))
            return true;
    return false;
}

/* The text after `name` at the start of a line; NULL: no line starts so. *end is the end of that line. */
static const char *line_of(const char *text, size_t size, const char *name, const char **end) {
    size_t length = strlen(name);
    for (const char *line = text, *stop = text + size; line < stop; line = *end + 1) {
        *end = memchr(line, '\n', (size_t)(stop - line));
        if (!*end)
            *end = stop;
        if ((size_t)(*end - line) >= length && memcmp(line, name, length) == 0)
            return line + length;
        if (*end == stop)
            break;
    }
    return NULL;
}

int64_t io_parse_mount_id(const char *text, size_t size) {
    const char *end, *at = line_of(text, size, "mnt_id:", &end);
    int64_t id;
    while (at && at < end && (*at == '\t' || *at == ' '))
        at++;
    return at && take_decimal(&at, end, &id) && at == end && id >= 0 ? id : -1;
}

/* The next word of the line at *at, which a blank or the line's end ends; its length. */
static size_t take_word(const char **at, const char *end, const char **word) {
    *word = *at;
    while (*at < end && **at != ' ')
        (*at)++;
    size_t length = (size_t)(*at - *word);
    *at += *at < end;
    return length;
}

/* Types that are in memory, or are the kernel's own: what reads them waits for a person or another program,
 * if it waits. */
static bool is_far_from_files(const char *type, size_t size) {
    static const char *const TYPES[] = {
        "tmpfs",      "ramfs",    "devtmpfs", "devpts",   "proc",       "sysfs",     "cgroup",
        "cgroup2",    "mqueue",   "debugfs",  "tracefs",  "securityfs", "bpf",       "hugetlbfs",
        "nsfs",       "configfs", "fusectl",  "efivarfs", "pstore",     "selinuxfs", "autofs",
        "rpc_pipefs", "pipefs",   "sockfs",   "binder",   "resctrl",    "cpuset",    "binfmt_misc"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strlen(TYPES[i]) == size && memcmp(type, TYPES[i], size) == 0)
            return true;
    return false;
}

static size_t add_plain(char *name, size_t n, const char *text, size_t size) {
    for (size_t i = 0; i < size && n < IO_NAME - 1; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        name[n++] = is_digit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ? c : '-';
    }
    name[n] = '\0';
    return n;
}

/* "31 24 0:28 /root /mnt/point rw,relatime shared:8 master:2 - nfs4 server:/home rw", where the words between
 * the sixth and the dash vary. */
static bool read_mount(const char *at, const char *end, char name[IO_NAME]) {
    const char *word, *point = NULL, *type;
    size_t length = 0, point_length = 0;
    for (int i = 0; i < 5; i++) {
        length = take_word(&at, end, &word);
        if (i == 3) {
            point = word;
            point_length = length;
        }
    }
    do
        length = take_word(&at, end, &word);
    while (at < end && !(length == 1 && *word == '-'));
    size_t type_length = take_word(&at, end, &type);
    if (at >= end || type_length == 0 || point_length == 0 || *point != '/' ||
        is_far_from_files(type, type_length))
        return false;
    size_t n = add_plain(name, 0, type, type_length);
    if (point_length > 1)
        add_plain(name, n, point, point_length);
    return true;
}

bool io_find_mount(const char *text, size_t size, int64_t id, char name[IO_NAME]) {
    const char *end;
    for (const char *line = text, *stop = text + size; line < stop; line = end + 1) {
        const char *at = line;
        int64_t its;
        end = memchr(line, '\n', (size_t)(stop - line));
        if (!end)
            return false; /* it may be cut */
        if (take_decimal(&at, end, &its) && its == id && at < end && *at == ' ')
            return read_mount(at + 1, end, name);
    }
    return false;
}

/* "Cpus_allowed:	ffffffff,00000003" */
bool io_parse_cpus(const char *text, size_t size, uint32_t *count, uint64_t *which) {
    const char *end, *at = line_of(text, size, "Cpus_allowed:", &end);
    *count = 0;
    *which = UINT64_C(14695981039346656037); /* FNV-1a */
    if (!at || end == text + size)
        return false; /* it may be cut */
    for (; at < end; at++) {
        int digit = hex(*at);
        if (digit < 0 && *at != ',' && *at != '\t' && *at != ' ')
            return false;
        if (digit < 0)
            continue;
        *count += (uint32_t)__builtin_popcount((unsigned)digit);
        *which = (*which ^ (uint64_t)digit) * UINT64_C(1099511628211);
    }
    return *count > 0;
}
