/* Any runs, put in, changed and taken away, through rolled() and the sums: what is stored is what ak_image()
, ak_hours() and ak_waits() say of those that are left, and of none nothing is. */
#include "any_run.h"
#include "hours.h"
#include "rollup.h"
#include "waits.h"

#include <stdio.h>

#define RUN (AK_RUN_TEXTS + AK_RUN_NUMBERS)
#define MOST_RUNS 64
#define GIVEN 9 /* statements, before those of months */
#define SUMS "a, b, c, d, e, f, g, h, i, j, k, l, m"
#define PLACES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9"
#define PARTS(user, account) "?1, ?2, " user ", " account ", ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14"
#define SAME(user, account) "(a, b, c, d, e, f, g, h, i, j, k, l, m, n) IS (" PARTS(user, account) ")"
#define EVERYBODY "SELECT id FROM key WHERE " SAME("NULL", "NULL")

static const char *const tables =
    "CREATE TABLE key (id INTEGER PRIMARY KEY, " SUMS ", n, everybody);"
    "CREATE TABLE month (month, key, " SUMS ", counts, PRIMARY KEY (month, key));"
    "CREATE TABLE user (month, key, " SUMS ", counts, PRIMARY KEY (month, key));"
    "CREATE TABLE place (id INTEGER PRIMARY KEY, a, b, c);"
    "CREATE TABLE hour (hour, key, " SUMS ", n, PRIMARY KEY (hour, key));"
    "CREATE TABLE wait_key (id INTEGER PRIMARY KEY, a, b, c, d, e, f, g, h, i, j);"
    "CREATE TABLE wait (month, key, a, b, c, counts, PRIMARY KEY (month, key));";

static struct ak_store_options options = {
    .rollup = {
        .n = GIVEN,
        .word = {
            "find=SELECT id FROM key WHERE " SAME("?3", "?4"),
            "make-everybody=INSERT INTO key SELECT NULL, " PARTS(
                "NULL", "NULL") ", NULL WHERE NOT EXISTS (" EVERYBODY ")",
            "make=INSERT INTO key SELECT NULL, " PARTS("?3", "?4") ", (" EVERYBODY
                                                                   ") WHERE coalesce(?3, ?4) IS NOT NULL",
            "everybody=SELECT coalesce(everybody, id) FROM key WHERE id = ?1",
            "find-of-hours=SELECT id FROM place WHERE (a, b, c) IS (?1, ?2, ?3)",
            "make-of-hours=INSERT INTO place VALUES (NULL, ?1, ?2, ?3)",
            "hours=INSERT INTO hour VALUES (" PLACES ", ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            "find-of-waits=SELECT id FROM wait_key WHERE (a, b, c, d, e, f, g, h, i, j) IS (" PLACES ", ?10)",
            "make-of-waits=INSERT INTO wait_key VALUES (NULL, " PLACES ", ?10)"}}};

/* What puts a row into `table`: its sums, and the sum of its counts. */
static const char *into(const char *name, const char *table, int sums, int counts, char *sql, size_t size) {
    int n = snprintf(sql, size, "%s=INSERT INTO %s VALUES (?1, ?2", name, table);
    for (int i = 0; i < sums; i++)
        n += snprintf(sql + n, size - (size_t)n, ", ?%d", 3 + i);
    n += snprintf(sql + n, size - (size_t)n, ", 0");
    for (int i = 0; i < counts; i++)
        n += snprintf(sql + n, size - (size_t)n, " + ?%d", 3 + sums + i);
    strcat(sql, ")");
    return sql;
}

static void complete_options(void) {
    static char sql[3][1024];
    const struct {
        const char *name, *table;
        int sums, counts;
    } made[] = {{"month", "month", AK_SUMS, AK_EVERYBODYS},
                {"user", "user", AK_SUMS, AK_RUN_COUNTS},
                {"waits", "wait", AK_WAITS_SUMS, AK_ELAPSED_BINS}};
    for (size_t i = 0; i < COUNT(made) && options.rollup.n < GIVEN + (int)COUNT(made); i++)
        options.rollup.word[options.rollup.n++] =
            into(made[i].name, made[i].table, made[i].sums, made[i].counts, sql[i], sizeof sql[i]);
}

static const struct ak_run nothing = {0}; /* has not ended */

/* What is to be stored; `whole` while it fits into 64 bits. */
struct expected {
    int64_t sum[AK_SUMS], counts[2]; /* everybody's and users' */
    int64_t of_hours[AK_HOURS_SUMS];
    int64_t of_waits[AK_WAITS_SUMS + 1]; /* and the counts */
    bool whole;
};

static void expect(struct expected *expected, const struct ak_run *run, int sign) {
    struct ak_image image;
    if (!ak_image(run, &image))
        return;
    for (int i = 0; i < AK_SUMS; i++)
        expected->whole &= !__builtin_add_overflow(expected->sum[i], sign * image.sum[i], &expected->sum[i]);
    for (int i = 0; i < AK_BINS; i++)
        for (int table = i < 2 ? 0 : 1; table < 2; table++)
            expected->counts[table] += image.bin[i] >= 0 ? sign : 0;
    struct ak_hours hours;
    if (ak_hours(run, &hours))
        for (int i = 0; i < 2 * AK_HOURS_SUMS; i++)
            expected->of_hours[i % AK_HOURS_SUMS] +=
                sign * hours.sum[i / AK_HOURS_SUMS][i % AK_HOURS_SUMS]; /* less than 2^36 each */
    struct ak_waits waits;
    must(ak_waits(run, &waits));
    for (int i = 0; i < AK_WAITS_SUMS; i++)
        expected->of_waits[i] += sign * waits.sum[i];
    expected->of_waits[AK_WAITS_SUMS] += waits.bin >= 0 ? sign : 0;
}

static void bind(sqlite3_stmt *rolled, int place, const struct ak_run *run) {
    for (int i = 0; i < AK_RUN_TEXTS; i++)
        sqlite3_bind_text(rolled, place + i, run->text[i].s, (int)run->text[i].n, SQLITE_STATIC);
    for (int i = 0; i < AK_RUN_NUMBERS; i++)
        if (run->number[i].known)
            sqlite3_bind_int64(rolled, place + AK_RUN_TEXTS + i, run->number[i].i);
        else
            sqlite3_bind_null(rolled, place + AK_RUN_TEXTS + i);
}

/* One row of the trace changes from `old`, NULL for none, to `new`. `wrong` is a column that is a blob, or
 * -1. */
static bool change(struct ak_store *store, sqlite3_stmt *rolled, const struct ak_run *old,
                   const struct ak_run *new, int wrong) {
    ak_rollup_forget(store);
    if (old)
        bind(rolled, 1, old);
    bind(rolled, old ? 1 + RUN : 1, new);
    if (wrong >= 0)
        sqlite3_bind_blob(rolled, 1 + wrong, "x", 1, SQLITE_STATIC);
    must(sqlite3_step(rolled) == SQLITE_ROW && sqlite3_column_int(rolled, 0) == 7);
    bool taken = ak_rollup_take(store);
    sqlite3_reset(rolled);
    sqlite3_clear_bindings(rolled);
    return taken;
}

static int64_t ask(struct ak_store *store, const char *sql) {
    sqlite3_stmt *asked;
    must(sqlite3_prepare_v2(store->db, sql, -1, &asked, NULL) == SQLITE_OK &&
         sqlite3_step(asked) == SQLITE_ROW);
    int64_t found = sqlite3_column_int64(asked, 0);
    sqlite3_finalize(asked);
    return found;
}

/* Trap: SQL's sum() fails where a sum on the way is too large, though the last is not. */
static void compare(struct ak_store *store, const struct expected *expected) {
    for (int i = 0; i < AK_SUMS * 2; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "SELECT total(%c) FROM %s", 'a' + i % AK_SUMS,
                 i < AK_SUMS ? "month" : "user");
        int64_t found = ask(store, sql), due = expected->sum[i % AK_SUMS];
        must(due > (INT64_C(1) << 52) || due < -(INT64_C(1) << 52) || found == due);
    }
    for (int i = 0; i < AK_HOURS_SUMS; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "SELECT total(%c) FROM hour", 'a' + i);
        must(ask(store, sql) == expected->of_hours[i]);
    }
    const char *const of_waits[] = {"a", "b", "c", "counts"};
    for (size_t i = 0; i < COUNT(of_waits); i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "SELECT total(%s) FROM wait", of_waits[i]);
        must(ask(store, sql) == expected->of_waits[i]);
    }
    must(ask(store, "SELECT total(counts) FROM month") == expected->counts[0]);
    must(ask(store, "SELECT total(counts) FROM user") == expected->counts[1]);
    must(ask(store, "SELECT count(*) FROM (SELECT 1 FROM key GROUP BY " SUMS ", n HAVING count(*) > 1)") ==
         0);
}

static sqlite3_stmt *prepared(sqlite3 *db, int runs) {
    char sql[32 + 2 * 2 * RUN] = "SELECT rolled(7";
    sqlite3_stmt *found = NULL;
    for (int i = 0; i < runs * RUN; i++)
        strcat(sql, ",?");
    strcat(sql, ")");
    must(sqlite3_prepare_v2(db, sql, -1, &found, NULL) == SQLITE_OK);
    return found;
}

/* The runs, put in; every third one is changed into the one before it, and where the first byte says so all
 * are taken away again. False: a sum became too large. */
static bool put(struct ak_store *store, const struct ak_run *run, size_t n, bool none,
                struct expected *expected) {
    sqlite3_stmt *one = prepared(store->db, 1), *two = prepared(store->db, 2);
    bool whole = true;
    for (size_t i = 0; i < n && whole; i++) {
        whole = change(store, one, NULL, &run[i], -1);
        expect(expected, &run[i], 1);
        const struct ak_run *now = i % 3 == 2 ? &run[i - 1] : &run[i];
        if (whole && now != &run[i]) {
            whole = change(store, two, &run[i], now, -1);
            expect(expected, &run[i], -1);
            expect(expected, now, 1);
        }
        if (whole && none) {
            whole = change(store, two, now, &nothing, -1);
            expect(expected, now, -1);
        }
        must(!change(store, one, NULL, &run[i], (int)(i % RUN)));
        must(strstr(store->error, "has another type") != NULL);
    }
    sqlite3_finalize(one);
    sqlite3_finalize(two);
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct ak_run run[MOST_RUNS];
    struct ak_store store = {.options = &options};
    struct expected expected = {.whole = true};
    size_t n = 0, at = 1;
    memset(run, 0, sizeof run);
    complete_options();
    while (at < size && n < MOST_RUNS)
        at += read_run(data + at, size - at, &run[n++]);
    must(sqlite3_open(":memory:", &store.db) == SQLITE_OK);
    must(sqlite3_exec(store.db, tables, NULL, NULL, NULL) == SQLITE_OK && ak_rollup_open(&store));
    bool none = size && data[0] & 1, whole = put(&store, run, n, none, &expected);
    must(whole || strstr(store.error, "64 bits") != NULL);
    whole = whole && ak_rollup_finish(&store);
    if (whole && expected.whole)
        compare(&store, &expected);
    if (whole && none)
        must(ask(&store, "SELECT (SELECT count(*) FROM month) + (SELECT count(*) FROM user)"
                         " + (SELECT count(*) FROM hour) + (SELECT count(*) FROM wait)") == 0);
    ak_rollup_close(&store);
    sqlite3_close(store.db);
    return 0;
}
