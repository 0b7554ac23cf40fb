/* test_columns.c - the SQL functions adminkit_columns and adminkit_column: what they answer, value by value.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int adminkit_columns_init(sqlite3 *db, char **error, const void *api);

static int failures;

static void expect(bool holds, const char *sql, const char *why) {
    if (!holds) {
        fprintf(stderr, "FAIL %s: %s\n", why, sql);
        failures++;
    }
}

struct answer {
    const char *sql, *words, *why; /* the number of rows and the 8-byte words of each column, or the error */
};

static const struct answer answers[] = {
    {"SELECT adminkit_columns('n', x) FROM (SELECT 1 AS x WHERE 0)", "0", "no row"},
    {"SELECT adminkit_columns('n', 7)", "1 1 0 0 0 0 0 7", "a byte is enough"},
    {"SELECT adminkit_columns('n', 127)", "1 1 0 0 0 0 0 127", "the most of a byte"},
    {"SELECT adminkit_columns('n', -127)", "1 1 0 0 0 0 0 129", "the least of a byte but one"},
    {"SELECT adminkit_columns('n', -128)", "1 2 0 0 0 0 0 65408", "the least stands for unknown"},
    {"SELECT adminkit_columns('n', 32768)", "1 4 0 0 0 0 0 32768", "too much for two bytes"},
    {"SELECT adminkit_columns('n', 2147483648)", "1 8 0 0 0 0 0 2147483648", "too much for four"},
    {"SELECT adminkit_columns('n', column1) FROM (VALUES (1), (NULL), (300))", "3 2 0 1 0 0 0 1290637672449",
     "what was there, and what was not, gets as wide: 1, -32768, 300"},
    {"SELECT adminkit_columns('n', column1) FROM (VALUES (1), (NULL), (0.5))",
     "3 8 1 1 0 0 0 4607182418800017408 9221120237041090560 4602678819172646912", "doubles: 1, NaN, a half"},
    {"SELECT adminkit_columns('n', column1) FROM (VALUES (0.5), (2))",
     "2 8 1 0 0 0 0 4602678819172646912 4611686018427387904", "whole numbers among doubles"},
    {"SELECT adminkit_columns('n', NULL)", "1 1 0 1 0 0 0 128", "nothing but unknown"},
    {"SELECT adminkit_columns('t', column1) FROM (VALUES ('b'), ('a'), ('b'))", "3 1 0 0 2 2 0 256 1 2 24930",
     "places in the order in which they come"},
    {"SELECT adminkit_columns('t', column1) FROM (VALUES (''), (NULL), ('a'))",
     "3 1 0 0 3 1 2 131328 0 0 1 97", "an empty text is a text, NULL is none"},
    {"SELECT adminkit_columns('t', column1) FROM (VALUES ('ax2345678'), ('bx2345678'), ('ax2345678'))",
     "3 1 0 0 2 18 0 256 9 18 3978425819141929057 3906085646308500024 14391", "the same length and end"},
    {"SELECT adminkit_columns('t', column1) FROM (VALUES ('abc'), ('a' || char(98)), ('abc'), (''), (''))",
     "5 1 0 0 3 5 0 8623489280 3 5 5 422540698209", "short ones, and none"},
    {"SELECT adminkit_columns('nt', 1, 'a')", "1 1 0 0 0 0 0 1 1 0 0 1 1 0 0 1 97", "two columns"},
    {"SELECT adminkit_columns('n', 'a')", "adminkit_columns: a text in a column of numbers", "refused"},
    {"SELECT adminkit_columns('t', 1)", "adminkit_columns: a number in a column of texts", "refused"},
    {"SELECT adminkit_columns('t', 1.5)", "adminkit_columns: a number in a column of texts", "refused"},
    {"SELECT adminkit_columns('t', x'00')", "adminkit_columns: a blob", "refused"},
    {"SELECT adminkit_columns('nn', 1)",
     "adminkit_columns: the first argument must have a letter for each value", "refused"},
    {"SELECT adminkit_columns(NULL, 1)",
     "adminkit_columns: the first argument must have a letter for each value", "refused"},
    {"SELECT adminkit_columns('n')", "adminkit_columns: no values", "refused"},
    {"SELECT adminkit_columns()", "adminkit_columns: no values", "refused"},
    {"SELECT adminkit_columns('n', abs(-9223372036854775808))", "integer overflow", "an error of another's"},
};

/* Adds the words of a blob to a text of words. */
static void add_words(const char *blob, int bytes, char *text, size_t size) {
    for (int at = 0; at < bytes; at += 8) {
        int64_t word;
        memcpy(&word, blob + at, 8);
        size_t used = strlen(text);
        snprintf(text + used, size - used, used ? " %lld" : "%lld", (long long)word);
    }
}

/* What a statement answers with: the words of a blob, of a number, or an error; whether it has a value. */
static bool ask(sqlite3 *db, const char *sql, char *text, size_t size) {
    sqlite3_stmt *statement = NULL;
    bool value = false;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        snprintf(text, size, "%s", sqlite3_errmsg(db));
    } else if (sqlite3_column_type(statement, 0) == SQLITE_INTEGER) {
        value = true;
        int64_t number = sqlite3_column_int64(statement, 0);
        add_words((const char *)&number, sizeof number, text, size);
    } else {
        value = sqlite3_column_type(statement, 0) != SQLITE_NULL;
        add_words(sqlite3_column_blob(statement, 0), sqlite3_column_bytes(statement, 0), text, size);
    }
    sqlite3_finalize(statement);
    return value;
}

/* What a statement answers with, and each of the columns that it read. */
static void ask_all(sqlite3 *db, const char *sql, char *text, size_t size) {
    char one[64];
    bool more = ask(db, sql, text, size);
    for (int k = 0; more; k++) {
        snprintf(one, sizeof one, "SELECT adminkit_column(%d)", k);
        more = ask(db, one, text, size);
    }
}

struct handing {
    const char *sql;
    bool value;
    const char *why;
};

static const struct handing handings[] = {
    {"SELECT adminkit_column(0)", false, "nothing was read"},
    {"SELECT adminkit_columns('nt', 1, 'a')", true, "two columns are read"},
    {"SELECT adminkit_column(-1)", false, "before the first"},
    {"SELECT adminkit_column(2)", false, "behind the last"},
    {"SELECT adminkit_column('x' || 9223372036854775807)", true, "what is no number is 0, as SQLite has it"},
    {"SELECT adminkit_column(0)", false, "each is handed over once"},
    {"SELECT adminkit_columns('n', 1)", true, "what was not handed over is dropped"},
    {"SELECT adminkit_column(1)", false, "it had one column"},
    {"SELECT adminkit_columns('n', 'a')", false, "an error"},
    {"SELECT adminkit_column(0)", false, "of what came before it nothing is left"},
    {"SELECT adminkit_columns('n', 1)", true, "left there when the connection is closed"},
};

static void handed_over_once(void) {
    sqlite3 *db = NULL;
    sqlite3_open(":memory:", &db);
    for (size_t k = 0; k < sizeof handings / sizeof *handings; k++) {
        char text[1024] = "";
        expect(ask(db, handings[k].sql, text, sizeof text) == handings[k].value, handings[k].sql,
               handings[k].why);
    }
    sqlite3_close(db);
}

/* Many rows and many texts: every table and column grows. */
static void many(sqlite3 *db) {
    static const char *sql =
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) SELECT adminkit_columns('tn', "
        "'job' || (i % 50000), i) FROM n";
    char text[64] = "";
    ask(db, sql, text, sizeof text);
    expect(strcmp(text, "100000") == 0, sql, "an answer");
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, "SELECT adminkit_column(0)", -1, &statement, NULL);
    expect(sqlite3_step(statement) == SQLITE_ROW, sql, "a column");
    const char *blob = sqlite3_column_blob(statement, 0);
    int64_t head[6];
    memcpy(head, blob, sizeof head);
    expect(head[0] == 4 && head[3] == 50000, sql, "every text once");
    const int32_t *codes = (const int32_t *)(blob + sizeof head);
    bool right = true;
    for (int i = 0; i < 100000; i++)
        right = right && codes[i] == i % 50000;
    expect(right, sql, "each row has the number of its text");
    sqlite3_finalize(statement);
}

int main(void) {
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))adminkit_columns_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        char text[1024] = "";
        ask_all(db, answers[k].sql, text, sizeof text);
        expect(strcmp(text, answers[k].words) == 0, answers[k].sql, answers[k].why);
        if (strcmp(text, answers[k].words) != 0)
            fprintf(stderr, "  is     %s\n  not    %s\n", text, answers[k].words);
    }
    many(db);
    sqlite3_close(db);
    handed_over_once();
    printf("%zu answers, %d wrong\n", sizeof answers / sizeof *answers, failures);
    return failures > 0;
}
