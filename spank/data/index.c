/* index.c - see index.h. Pure. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "adminkit-data"
#define VERSION "1"
#define MOST_KEYS 16 /* lines between the version and the number of shards */
#define FIELDS 5
#define MOST_BYTES (UINT64_C(1) << 62)

struct field {
    const char *text;
    size_t size;
};

struct reader {
    const char *at, *end;
};

static bool is(struct field field, const char *text) {
    return field.size == strlen(text) && memcmp(field.text, text, field.size) == 0;
}

/* The fields of the next line; 0: there is no whole line, or it has more than FIELDS. */
static size_t next_line(struct reader *reader, struct field *fields) {
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    size_t count = 0;
    if (!end)
        return 0;
    for (const char *at = reader->at;; count++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (count == FIELDS)
            return 0;
        fields[count].text = at;
        fields[count].size = (size_t)((tab ? tab : end) - at);
        if (!tab)
            break;
        at = tab + 1;
    }
    reader->at = end + 1;
    return count + 1;
}

static bool read_number(struct field field, uint64_t *number) {
    *number = 0;
    if (field.size == 0 || field.size > 19 || (field.text[0] == '0' && field.size > 1))
        return false;
    for (size_t i = 0; i < field.size; i++) {
        if (field.text[i] < '0' || field.text[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(field.text[i] - '0');
    }
    return *number <= MOST_BYTES;
}

static bool read_name(struct field field, char *name) {
    size_t digits = field.size > 4 ? field.size - 4 : 0;
    if (digits < 6 || digits > 9 || memcmp(field.text + digits, ".tar", 4) != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        if (field.text[i] < '0' || field.text[i] > '9')
            return false;
    memcpy(name, field.text, field.size);
    name[field.size] = '\0';
    return true;
}

static bool read_sha(struct field field, char *sha) {
    if (field.size != DA_SHA_SIZE - 1)
        return false;
    for (size_t i = 0; i < field.size; i++)
        if (!((field.text[i] >= '0' && field.text[i] <= '9') ||
              (field.text[i] >= 'a' && field.text[i] <= 'f')))
            return false;
    memcpy(sha, field.text, field.size);
    sha[field.size] = '\0';
    return true;
}

static bool read_shard(struct reader *reader, struct da_shard *shard) {
    struct field fields[FIELDS];
    uint64_t files;
    return next_line(reader, fields) == 5 && is(fields[0], "shard") && read_name(fields[1], shard->name) &&
           read_number(fields[2], &shard->size) && shard->size > 0 && read_number(fields[3], &files) &&
           read_sha(fields[4], shard->sha);
}

/* The line that says how many shards follow. 0: `why`. */
static uint64_t read_count(struct reader *reader, const char **why) {
    struct field fields[FIELDS];
    uint64_t number;
    *why = "it is not an index of adminkit";
    if (next_line(reader, fields) != 2 || !is(fields[0], MAGIC) || !read_number(fields[1], &number))
        return 0;
    *why = "it was written by another release of adminkit";
    if (!is(fields[1], VERSION))
        return 0;
    for (int i = 0; i < MOST_KEYS; i++) {
        *why = "it is cut short, or not an index of adminkit";
        if (next_line(reader, fields) != 2)
            return 0;
        if (!is(fields[0], "shards"))
            continue;
        if (!read_number(fields[1], &number) || number == 0)
            return 0;
        *why = "it has more than 65536 shards";
        return number <= DA_SHARDS ? number : 0;
    }
    return 0;
}

struct da_shard *da_index_read(const char *text, size_t size, uint32_t *count, const char **why) {
    struct reader reader = {.at = text, .end = text + size};
    uint64_t number = read_count(&reader, why);
    if (number == 0)
        return NULL;
    struct da_shard *shards = calloc(number, sizeof *shards);
    *why = "there is no memory for it";
    for (uint64_t i = 0; shards && i < number; i++)
        if (!read_shard(&reader, &shards[i]) || (i > 0 && strcmp(shards[i].name, shards[i - 1].name) <= 0)) {
            *why = "a line of a shard is cut short, wrong or not in its place";
            free(shards);
            return NULL;
        }
    *count = shards ? (uint32_t)number : 0;
    return shards;
}
