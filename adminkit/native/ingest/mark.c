/* mark.c - mark(kind, text): HMAC-SHA-256 of kind, NUL and text, as hexadecimal digits. NULL for NULL. */
#include "mark.h"
#include "sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 96 /* bytes of a text that is remembered: longer ones are computed each time */
#define PLACES 1024

/* What was asked before: a row names the same user in several columns, and the next row often does too. */
struct known {
    size_t n;
    char text[LONGEST];
    char mark[2 * AK_DIGEST];
};

struct marks {
    struct ak_hmac hmac;
    struct known known[PLACES];
};

static size_t place(const char *text, size_t n) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash % PLACES;
}

static void write_mark(const struct marks *marks, const char *text, size_t n, char to[2 * AK_DIGEST]) {
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[AK_DIGEST];
    ak_hmac_text(&marks->hmac, text, n, digest);
    for (int i = 0; i < AK_DIGEST; i++) {
        to[2 * i] = digits[digest[i] >> 4];
        to[2 * i + 1] = digits[digest[i] & 15];
    }
}

static void answer(struct marks *marks, sqlite3_context *context, const char *text, size_t n) {
    char mark[2 * AK_DIGEST];
    const char *said = mark;
    if (n <= LONGEST) {
        struct known *known = &marks->known[place(text, n)];
        if (known->n != n || memcmp(known->text, text, n) != 0) {
            known->n = n;
            memcpy(known->text, text, n);
            write_mark(marks, text, n, known->mark);
        }
        said = known->mark;
    } else {
        write_mark(marks, text, n, mark);
    }
    sqlite3_result_text(context, said, sizeof mark, SQLITE_TRANSIENT);
}

static void mark(sqlite3_context *context, int count, sqlite3_value **value) {
    (void)count;
    if (sqlite3_value_type(value[0]) == SQLITE_NULL || sqlite3_value_type(value[1]) == SQLITE_NULL)
        return;
    const char *kind = (const char *)sqlite3_value_text(value[0]);
    const char *text = (const char *)sqlite3_value_text(value[1]);
    if (!kind || !text)
        return sqlite3_result_error_nomem(context);
    size_t before = (size_t)sqlite3_value_bytes(value[0]) + 1, n = (size_t)sqlite3_value_bytes(value[1]);
    char shorter[LONGEST], *whole = before + n <= sizeof shorter ? shorter : malloc(before + n);
    if (!whole)
        return sqlite3_result_error_nomem(context);
    memcpy(whole, kind, before - 1);
    whole[before - 1] = '\0';
    memcpy(whole + before, text, n);
    answer(sqlite3_user_data(context), context, whole, before + n);
    if (whole != shorter)
        free(whole);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_key(const char *text, uint8_t key[AK_DIGEST]) {
    if (strlen(text) != 2 * AK_DIGEST)
        return false;
    for (int i = 0; i < AK_DIGEST; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool ak_mark_register(struct ak_store *store) {
    uint8_t key[AK_DIGEST];
    const char *text = getenv(AK_KEY);
    if (!text || !*text)
        return true;
    struct marks *marks = read_key(text, key) ? calloc(1, sizeof *marks) : NULL;
    if (!marks) {
        snprintf(store->error, sizeof store->error, "$" AK_KEY " is not a key");
        return false;
    }
    ak_hmac_key(&marks->hmac, key);
    if (sqlite3_create_function_v2(store->db, "mark", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, marks, mark,
                                   NULL, NULL, free) == SQLITE_OK)
        return true;
    snprintf(store->error, sizeof store->error, "mark(): %s", sqlite3_errmsg(store->db));
    return false;
}
