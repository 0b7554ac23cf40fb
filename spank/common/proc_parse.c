/* proc_parse.c - see proc_parse.h. */
#include "proc_parse.h"

#include <stdio.h>
#include <string.h>

#define SLUID_SIZE 14

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads the decimal number at *at, and moves *at past it and the blank that follows. */
static bool take_number(const char **at, const char *end, uint64_t *value) {
    const char *c = *at;
    bool negative = c < end && *c == '-';
    uint64_t n = 0;

    c += negative;
    const char *first = c;
    for (; c < end && is_digit(*c); c++) {
        unsigned digit = (unsigned)(*c - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (c == first || (c < end && *c != ' ' && *c != '\t' && *c != '\n'))
        return false;
    *value = negative ? (uint64_t)0 - n : n;
    *at = c < end ? c + 1 : c;
    return true;
}

static void copy_printable(char *to, size_t room, const char *from, size_t size) {
    size_t n = size < room - 1 ? size : room - 1;

    for (size_t i = 0; i < n; i++)
        to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    to[n] = '\0';
}

static const char *find_last(const char *text, size_t size, char c) {
    for (size_t i = size; i > 0; i--)
        if (text[i - 1] == c)
            return text + i - 1;
    return NULL;
}

/* "4711 (comm) S 1 …". Trap: the program chooses comm, which may have parentheses, blanks and newlines; it
 * ends at the last ')' of the text. Field 3 is the state, field 4 the first number after it, as proc(5)
 * counts. */
bool ak_parse_stat(const char *text, size_t size, struct ak_proc_stat *stat) {
    enum { FIRST = 4, PPID = 4, TTY = 7, START = 22, BLOCKED = 32, IGNORED, CAUGHT };
    const char *end = text + size, *open = memchr(text, '(', size), *close = find_last(text, size, ')'),
               *at = text;
    uint64_t field[CAUGHT + 1] = {0}, pid;

    if (!open || !close || close < open || end - close < 4 || close[1] != ' ' || close[3] != ' ')
        return false;
    if (!take_number(&at, open, &pid) || at != open || pid == 0 || pid > INT32_MAX)
        return false;
    at = close + 4;
    for (int i = FIRST; i <= CAUGHT; i++)
        if (!take_number(&at, end, &field[i]))
            return false;
    if (field[PPID] > INT32_MAX)
        return false;
    stat->pid = (pid_t)pid;
    stat->ppid = (pid_t)field[PPID];
    stat->state = close[2];
    stat->terminal = field[TTY] != 0;
    stat->start = field[START];
    stat->blocked = field[BLOCKED];
    stat->ignored = field[IGNORED];
    stat->caught = field[CAUGHT];
    copy_printable(stat->comm, sizeof stat->comm, open + 1, (size_t)(close - open - 1));
    return true;
}

/* The text after "name:" and blanks at the start of a line; *end is the end of the line. The Name in
 * /proc/PID/status cannot start a line of its own: the kernel escapes its newlines. */
static const char *find_line(const char *text, size_t size, const char *name, const char **end) {
    size_t length = strlen(name);

    for (const char *line = text, *stop = text + size; line < stop; line = *end + 1) {
        *end = memchr(line, '\n', (size_t)(stop - line));
        if (!*end)
            return NULL;
        if ((size_t)(*end - line) <= length || memcmp(line, name, length) != 0 || line[length] != ':')
            continue;
        line += length + 1;
        while (line < *end && (*line == ' ' || *line == '\t'))
            line++;
        return line;
    }
    return NULL;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The hexadecimal number of that name; *rest is the text after its line. */
static bool take_hex(const char *text, size_t size, const char *name, uint64_t *value, const char **rest) {
    const char *end, *c = find_line(text, size, name, &end);

    if (!c || c == end || end - c > 16)
        return false;
    *value = 0;
    for (; c < end; c++) {
        int digit = hex_digit(*c);
        if (digit < 0)
            return false;
        *value = *value << 4 | (unsigned)digit;
    }
    *rest = end + 1;
    return true;
}

bool ak_parse_hex(const char *text, size_t size, const char *name, uint64_t *value) {
    const char *rest;
    return take_hex(text, size, name, value, &rest);
}

/* Linux has written the lines in this order since 2.6. */
bool ak_parse_status(const char *text, size_t size, struct ak_proc_status *status) {
    const char *stop = text + size, *end, *at = find_line(text, size, "Uid", &end);
    uint64_t uid[3];

    if (!at)
        return false;
    for (int i = 0; i < 3; i++)
        if (!take_number(&at, end, &uid[i]) || uid[i] > UINT32_MAX)
            return false;
    status->uid = uid[0] == uid[1] && uid[1] == uid[2] ? (uid_t)uid[0] : (uid_t)-1;
    return take_hex(end, (size_t)(stop - end), "SigBlk", &status->blocked, &at) &&
           take_hex(at, (size_t)(stop - at), "SigIgn", &status->ignored, &at) &&
           take_hex(at, (size_t)(stop - at), "SigCgt", &status->caught, &at);
}

bool ak_parse_variable(const char *text, size_t size, const char *name, uint64_t *value) {
    size_t length = strlen(name);

    for (const char *entry = text, *end = text + size, *stop; entry < end; entry = stop + 1) {
        stop = memchr(entry, '\0', (size_t)(end - entry));
        if (!stop)
            return false;
        if ((size_t)(stop - entry) < length + 2 || memcmp(entry, name, length) != 0 || entry[length] != '=')
            continue;
        const char *at = entry + length + 1;
        return is_digit(*at) && is_digit(stop[-1]) && take_number(&at, stop, value);
    }
    return false;
}

/* The length of the folder of a job at the beginning of text[0..size): job_N, or its SLUID, an s and 13
 * digits of base 32, which 26.05 writes (CgroupJobIdPaths of cgroup.conf); 0: there is none. */
static size_t job_length(const char *text, size_t size) {
    size_t n;

    if (size > 4 && memcmp(text, "job_", 4) == 0) {
        for (n = 4; n < size && is_digit(text[n]); n++)
            ;
        return n > 4 ? n : 0;
    }
    if (size == 0 || text[0] != 's')
        return 0;
    for (n = 1; n < size && (is_digit(text[n]) || (text[n] >= 'A' && text[n] <= 'Z')); n++)
        ;
    return n == SLUID_SIZE ? n : 0;
}

/* The length of the path up to the end of its last /JOB/step_X; 0: it has none. */
static size_t step_length(const char *path, size_t size) {
    size_t length = 0;

    if (size == 0 || path[0] != '/' || memchr(path, '\0', size))
        return 0;
    for (size_t i = 0; i < size; i++) {
        size_t n = path[i] == '/' ? job_length(path + i + 1, size - i - 1) : 0;
        n += i + 1;
        if (n == i + 1 || size - n <= 6 || memcmp(path + n, "/step_", 6) != 0 || path[n + 6] == '/')
            continue;
        for (n += 6; n < size && path[n] != '/'; n++)
            ;
        length = n;
    }
    return length;
}

bool ak_parse_cgroup(const char *text, size_t size, char *kind, size_t kind_size, char *path,
                     size_t path_size) {
    int best = 0;

    for (const char *line = text, *stop = text + size, *end; line < stop; line = end + 1) {
        end = memchr(line, '\n', (size_t)(stop - line));
        if (!end)
            break;
        const char *first = memchr(line, ':', (size_t)(end - line));
        const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
        if (!second)
            continue;
        size_t named = (size_t)(second - first - 1),
               length = step_length(second + 1, (size_t)(end - second - 1));
        int rank = named == 0 ? 2 : named == 7 && memcmp(first + 1, "freezer", 7) == 0 ? 3 : 1;
        if (length == 0 || rank <= best || named >= kind_size || length >= path_size)
            continue;
        best = rank;
        snprintf(kind, kind_size, "%.*s", (int)named, first + 1);
        snprintf(path, path_size, "%.*s", (int)length, second + 1);
    }
    return best > 0;
}

/* Whether the text has this line, which ends with its newline. */
static bool has_line(const char *text, size_t size, const char *line, size_t length) {
    for (const char *at = text, *stop = text + size, *end; at < stop; at = end + 1) {
        end = memchr(at, '\n', (size_t)(stop - at));
        if (!end)
            return false;
        if ((size_t)(end + 1 - at) == length && memcmp(at, line, length) == 0)
            return true;
    }
    return false;
}

bool ak_parse_apart(const char *text, size_t size, const char *other, size_t other_size, char *line,
                    size_t line_size) {
    for (const char *at = text, *stop = text + size, *end; at < stop; at = end + 1) {
        end = memchr(at, '\n', (size_t)(stop - at));
        if (!end)
            return false;
        if (!has_line(other, other_size, at, (size_t)(end + 1 - at))) {
            copy_printable(line, line_size, at, (size_t)(end - at));
            return true;
        }
    }
    return false;
}

/* The next word of a line, which a NUL ends from now on; the line is a copy. */
static char *next_word(char **at) {
    char *word = *at, *blank = strchr(word, ' ');

    if (blank)
        *blank = '\0';
    *at = blank ? blank + 1 : word + strlen(word);
    return word;
}

/* mountinfo writes blanks and backslashes as \040. */
static void unescape(char *word) {
    char *to = word;

    for (const char *c = word; *c; c++) {
        if (c[0] == '\\' && c[1] >= '0' && c[1] <= '3' && c[2] >= '0' && c[2] <= '7' && c[3] >= '0' &&
            c[3] <= '7') {
            *to++ = (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0'));
            c += 3;
        } else {
            *to++ = *c;
        }
    }
    *to = '\0';
}

static bool has_option(const char *options, const char *option) {
    size_t length = strlen(option);

    for (const char *c = options; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
        if (strncmp(c, option, length) == 0 && (c[length] == ',' || c[length] == '\0'))
            return true;
    return false;
}

/* "31 24 0:28 / /sys/fs/cgroup/freezer rw,relatime shared:8 - cgroup cgroup rw,freezer" */
bool ak_parse_mount(const char *line, size_t size, const char *kind, const char *path, char *folder,
                    size_t folder_size) {
    char copy[2048], *at = copy, *root, *point, *type, *dash;

    if (size >= sizeof copy || memchr(line, '\0', size))
        return false;
    memcpy(copy, line, size);
    copy[size] = '\0';
    for (int i = 0; i < 3; i++)
        next_word(&at);
    root = next_word(&at);
    point = next_word(&at);
    dash = strstr(at, "- ");
    if (!dash)
        return false;
    at = dash + 2;
    type = next_word(&at);
    next_word(&at);
    if (*kind ? strcmp(type, "cgroup") != 0 || !has_option(at, kind) : strcmp(type, "cgroup2") != 0)
        return false;
    unescape(root);
    unescape(point);
    size_t above = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, above) != 0 || path[above] != '/')
        return false;
    int length = snprintf(folder, folder_size, "%s%s", point, path + above);
    return length > 0 && (size_t)length < folder_size;
}
