/* options.c - the command line of adminkit-ingest. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sacct … | adminkit-ingest --db FILE --columns SPEC [--sql SQL] [--step-sql SQL] …\n"
    "\n"
    "Reads accounting text from standard input and binds its typed values to SQL statements, in one "
    "transaction.\n"
    "\n"
    "  --columns SPEC     one kind per column, separated by commas (--kinds lists them)\n"
    "  --sql SQL          run for every job's row; ?1 ?2 … are the columns' outputs, then the --bind "
    "values,\n"
    "                     then a fingerprint of the record's text (64 bits)\n"
    "  --step-sql SQL     run for every step's row\n"
    "  --same-sql SQL     a SELECT with the same parameters: a row means that the job is stored just so. "
    "Asked instead of\n"
    "                     --sql as long as it is right; --same-step-sql for steps\n"
    "  --insert-sql SQL   an INSERT with the same parameters that does nothing where the job is stored. "
    "Tried "
    "before --sql\n"
    "                     as long as it puts one in; --insert-step-sql for steps\n"
    "  --reject-sql SQL   run for each record that could not be read: ?1 line, ?2 reason, ?3 raw bytes, then "
    "the --bind "
    "values\n"
    "  --bind VALUE       one more parameter, as text\n"
    "  --before SQL       run first, within the transaction\n"
    "  --after SQL        run last, within the transaction; :rows :new :changed … :seconds are what was "
    "counted\n"
    "  --delimiter TEXT   separates columns, | by default; `space` is any run of blanks and tabs\n"
    "  --ends             there is a delimiter after the last column, too (sacct -p)\n"
    "  --packed N         the first N columns have the byte 0x1E between them instead; none of them is free\n"
    "  --comment TEXT     lines that begin with TEXT are skipped\n"
    "  --surplus ignore   columns beyond those of the spec are dropped\n"
    "  --sealed           the digits of every time are followed by the value of $" AK_SEAL
    " in the environment\n"
    "  --wants N=TEXT     column N of a job's row is TEXT, or the row is rejected\n"
    "  --within N=A..B    the time in column N of a job's row, where it is known, is in [A, B)\n"
    "  --no-steps         a step's row is rejected\n"
    "  --without N=WORD   a job's row with this state in column N is skipped\n"
    "  --without-sql SQL  run for each of these rows\n"
    "  --order A,B,C,D,E,F,G  the columns of submission, eligibility, start, end, run time, the same as a "
    "clock, suspension, "
    "0 for none:\n"
    "                     they decide which hour is meant by a local time that occurs twice\n"
    "  --known LIST       for submitted: WORD=f:NAME (frameworks) and WORD=c:NAME (containers), with commas "
    "between\n"
    "  --tres LIST        the names of a site's own TRES: ID:NAME=, ascending, with commas between; ID: for "
    "one "
    "that is not a GRES\n"
    "  --fields LIST      headers may stand between the records: NAME=N is the column N, from 0, of "
    "--columns, "
    "NAME=N:OTHER the same,\n"
    "                     which is OTHER's where a header lacks NAME; NAME=KIND is a word of no column\n"
    "  --timezone ZONE    the time zone of local times, YYYY-MM-DDTHH:MM:SS\n"
    "  --first-line N     the number of the first line, 1 by default\n"
    "  --fresh            the database is new, and nobody else uses it: no journal, one fsync at the end\n"
    "  --progress         write progress to standard error as JSON lines\n"
    "  --parse-only       no database: read and convert\n"
    "  --dump             no database: print every row as a JSON array\n"
    "  --gentle           give way to other programs\n"
    "  --parent PID       end at once, with nothing written, when the process PID is gone\n"
    "  --hold             keep the -wal and -shm files of --db in place until standard input ends\n"
    "  --kinds --version --help\n";

void ak_options_help(void) {
    fputs(help, stdout);
}

static bool copy_mark(char to[AK_MAX_DELIMITER + 1], const char *from) {
    size_t n = strlen(from);
    if (n > AK_MAX_DELIMITER)
        return false;
    memcpy(to, from, n + 1);
    return true;
}

static bool number(const char *text, uint64_t *value) {
    char *end;
    if (*text < '0' || *text > '9' || strlen(text) > 18)
        return false;
    *value = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool add_word(struct ak_words *words, const char *word) {
    if (words->n == AK_MAX_WORDS)
        return false;
    words->word[words->n++] = word;
    return true;
}

static bool set_delimiter(struct ak_format *format, const char *value) {
    format->space = strcmp(value, "space") == 0;
    return copy_mark(format->delimiter, format->space ? "" : value);
}

/* An option with a value. 0: no such option; 1: taken; -1: the value is invalid. */
static int with_value(struct ak_options *o, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        {"--db", &o->store.path},
        {"--columns", &o->columns},
        {"--sql", &o->store.job_sql},
        {"--step-sql", &o->store.step_sql},
        {"--same-sql", &o->store.same_sql},
        {"--same-step-sql", &o->store.same_step_sql},
        {"--timezone", &o->timezone},
        {"--known", &o->known},
        {"--tres", &o->tres},
        {"--fields", &o->fields},
        {"--order", &o->order},
        {"--reject-sql", &o->store.reject_sql},
        {"--insert-sql", &o->store.insert_sql},
        {"--insert-step-sql", &o->store.insert_step_sql},
        {"--without-sql", &o->store.without_sql},
    };
    const struct {
        const char *name;
        struct ak_words *to;
    } lists[] = {{"--bind", &o->store.bind}, {"--before", &o->store.before}, {"--after", &o->store.after},
                 {"--wants", &o->wants},     {"--within", &o->within},       {"--without", &o->without}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return 1;
        }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(name, lists[i].name) == 0)
            return add_word(lists[i].to, value) ? 1 : -1;
    uint64_t packed;
    if (strcmp(name, "--delimiter") == 0)
        return set_delimiter(&o->format, value) ? 1 : -1;
    if (strcmp(name, "--packed") == 0)
        return number(value, &packed) && packed <= AK_MAX_COLUMNS ? (o->format.packed = (int)packed, 1) : -1;
    if (strcmp(name, "--comment") == 0)
        return copy_mark(o->format.comment, value) ? 1 : -1;
    if (strcmp(name, "--first-line") == 0)
        return number(value, &o->first_line) ? 1 : -1;
    if (strcmp(name, "--parent") == 0)
        return number(value, &o->parent) ? 1 : -1;
    if (strcmp(name, "--surplus") == 0)
        return (o->format.surplus_ignore = strcmp(value, "ignore") == 0) ? 1 : -1;
    return 0;
}

static bool alone(struct ak_options *o, const char *name) {
    const struct {
        const char *name;
        bool *to;
    } flags[] = {
        {"--ends", &o->format.ends}, {"--fresh", &o->store.fresh}, {"--progress", &o->progress},
        {"--gentle", &o->gentle},    {"--dump", &o->dump},         {"--hold", &o->hold},
        {"--kinds", &o->kinds},      {"--version", &o->version},   {"--parse-only", &o->parse_only},
        {"--help", &o->help},        {"--sealed", &o->sealed},     {"--no-steps", &o->no_steps},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(name, flags[i].name) == 0)
            return *flags[i].to = true;
    return false;
}

bool ak_options_parse(struct ak_options *o, int argc, char **argv, char *error, size_t error_size) {
    *o = (struct ak_options){.first_line = 1, .format.delimiter = "|"};
    for (int i = 1; i < argc; i++) {
        if (alone(o, argv[i]))
            continue;
        int taken = with_value(o, argv[i], i + 1 < argc ? argv[i + 1] : "");
        if (taken == 0) {
            snprintf(error, error_size, "no such option: %s (--help lists them)", argv[i]);
            return false;
        }
        if (i + 1 == argc) {
            snprintf(error, error_size, "%s needs a value", argv[i]);
            return false;
        }
        if (taken < 0) {
            snprintf(error, error_size, "%s: invalid value: %s", argv[i], argv[i + 1]);
            return false;
        }
        i++;
    }
    bool reads = !o->hold && !o->kinds && !o->version && !o->help;
    const char *missing = reads && !o->columns                                                   ? "--columns"
                          : !o->store.path && (o->hold || (reads && !o->parse_only && !o->dump)) ? "--db"
                                                                                                 : NULL;
    if (missing)
        snprintf(error, error_size, "%s is missing (--help explains)", missing);
    return !missing;
}
