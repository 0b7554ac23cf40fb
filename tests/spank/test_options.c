/* The options of a job: the cases of tests/data/ckpt_options.tsv and their values; the settings of
 * plugstack.conf. */
#include "ckpt/options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#ifndef TABLE
#define TABLE "../data/ckpt_options.tsv"
#endif

#ifndef EXAMPLE
#define EXAMPLE "../../etc/plugstack.conf.d/adminkit.conf"
#endif

static struct ck_site site(void) {
    struct ck_site site;
    char why[128];
    ck_site_read(&site, 0, NULL, why, sizeof why);
    return site;
}

/* "ckpt_signal=TERM@300;ckpt_off=" into `options`. Cuts `text`. */
static void read_options(struct ck_job_options *options, char *text) {
    for (char *next = text; next && strcmp(text, "-") != 0;) {
        char *value = strsep(&next, ";");
        char *name = strsep(&value, "=");
        if (strcmp(name, "ckpt_signal") == 0)
            options->signal = value;
        else if (strcmp(name, "ckpt_requeue") == 0)
            options->requeue = value;
        else if (strcmp(name, "ckpt_target") == 0)
            options->target = value;
        else
            options->off = true;
    }
}

static void the_table(void) {
    struct ck_site ours = site();
    char line[512], why[256];
    int cases = 0;
    FILE *table = fopen(TABLE, "r");
    if (!table) {
        CASE(table, "no " TABLE);
        return;
    }
    while (fgets(line, sizeof line, table)) {
        char *next = line;
        if (*line == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        char *value = strsep(&next, "\t"), *given = strsep(&next, "\t");
        char *expected = strsep(&next, "\t");
        struct ck_job_options options = {.variable = strcmp(value, "-") == 0 ? NULL : value};
        struct ck_request request;
        read_options(&options, given);
        ck_request_read(&request, &options, &ours, why, sizeof why);
        CASE(request.on == (strcmp(expected, "yes") == 0), "%s (%s)", next, why);
        cases++;
    }
    fclose(table);
    CASE(cases > 60, "only %d cases", cases);
}

static const struct {
    const char *why, *variable, *signal, *requeue, *target;
    bool on;
    int number;
    long lead;
    bool again;
    long most;
    bool shells, jvms;
} REQUESTS[] = {
    {"nothing said", NULL, NULL, NULL, NULL, false, SIGTERM, 300, false, 100, false, false},
    {"the site's signal", "on", NULL, NULL, NULL, true, SIGTERM, 300, false, 100, false, false},
    {"all parts", "usr1@60,requeue=5,target=jvm", NULL, NULL, NULL, true, SIGUSR1, 60, true, 5, false, true},
    {"a requeue without a bound", "requeue", NULL, NULL, NULL, true, SIGTERM, 300, true, 100, false, false},
    {"by options", NULL, "SIGUSR2@90", "7", "shell", true, SIGUSR2, 90, true, 7, true, false},
    {"an empty option", NULL, NULL, "", NULL, true, SIGTERM, 300, true, 100, false, false},
    {"options come first", "USR1@60,requeue", "TERM@90", NULL, NULL, true, SIGTERM, 90, false, 100, false,
     false},
    {"the option aims too", "USR1@60", NULL, NULL, "jvm", true, SIGUSR1, 60, false, 100, false, true},
};

static void requests(void) {
    struct ck_site ours = site();
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        struct ck_job_options options = {false, REQUESTS[i].signal, REQUESTS[i].requeue, REQUESTS[i].target,
                                         REQUESTS[i].variable};
        struct ck_request request;
        char why[256];
        ck_request_read(&request, &options, &ours, why, sizeof why);
        CASE(*why == '\0', "%s: %s", REQUESTS[i].why, why);
        CASE(request.on == REQUESTS[i].on && request.signal == REQUESTS[i].number &&
                 request.lead == REQUESTS[i].lead,
             "%s", REQUESTS[i].why);
        CASE(request.requeue == REQUESTS[i].again && request.requeues == REQUESTS[i].most, "%s",
             REQUESTS[i].why);
        CASE(request.shells == REQUESTS[i].shells && request.jvms == REQUESTS[i].jvms, "%s", REQUESTS[i].why);
    }
}

static void bounds(void) {
    static const struct {
        const char *variable;
        long lead, most;
        const char *message; /* a part of it; NULL: none */
    } BOUNDS[] = {
        {"TERM@60,requeue=3", 60, 3, NULL},
        {"TERM@5", 30, 4, "30 s"},
        {"TERM@900", 600, 4, "600 s"},
        {"TERM@60,requeue=5", 60, 4, "at most 4"},
        {"TERM@601,requeue=5", 600, 4, "; this site allows at most 4"},
    };
    char *words[] = {"min_lead=30", "max_lead=600", "max_requeue=4"};
    struct ck_site ours;
    char why[256];
    CASE(ck_site_read(&ours, 3, words, why, sizeof why), "%s", why);
    for (size_t i = 0; i < sizeof BOUNDS / sizeof *BOUNDS; i++) {
        struct ck_job_options options = {.variable = BOUNDS[i].variable};
        struct ck_request request;
        ck_request_read(&request, &options, &ours, why, sizeof why);
        CASE(request.on && request.lead == BOUNDS[i].lead && request.requeues == BOUNDS[i].most, "%s",
             BOUNDS[i].variable);
        CASE(BOUNDS[i].message ? strstr(why, BOUNDS[i].message) != NULL : *why == '\0', "%s: %s",
             BOUNDS[i].variable, why);
    }
}

static void plugstack(void) {
    static const struct {
        char *word;
        bool good;
    } WORDS[] = {
        {"default=on", true},    {"default=off", true},    {"default=yes", false},    {"progress=on", true},
        {"progress=off", true},  {"progress=1", false},    {"signal=USR1@120", true}, {"signal=USR1", true},
        {"signal=KILL", false},  {"min_lead=60", true},    {"min_lead=0", false},     {"min_lead=301", false},
        {"max_lead=299", false}, {"max_lead=900", true},   {"requeue=no", true},      {"requeue=5", true},
        {"requeue=yes", false},  {"max_requeue=0", false}, {"max_requeue=9", true},   {"code=99", true},
        {"code=0", false},       {"code=128", false},      {"poll=10", true},         {"poll=4", false},
        {"poll=1x", false},      {"quiet=0", true},        {"quiet=9999999", false},  {"state=/run/x", true},
        {"state=x", false},      {"colour=blue", false},   {"code", false},           {"", false},
        {"=85", false},          {"code=", false},         {"Code=85", false},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        struct ck_site ours;
        char why[128], *word = WORDS[i].word;
        CASE(ck_site_read(&ours, 1, &word, why, sizeof why) == WORDS[i].good, "%s: %s", word, why);
        CASE((*why == '\0') == WORDS[i].good, "%s: %s", word, why);
    }
    struct ck_site ours;
    char why[128], *words[] = {"default=on", "requeue=50", "max_requeue=9", "poll=10", "code=99"};
    CASE(ck_site_read(&ours, 5, words, why, sizeof why), "%s", why);
    CASE(ours.on && ours.requeue && ours.requeues == 9 && ours.poll == 10 && ours.code == 99, "all words");
    struct ck_request request;
    ck_request_read(&request, &(struct ck_job_options){.off = true}, &ours, why, sizeof why);
    CASE(!request.on, "--ckpt-off where the site's default is on");
    ck_request_read(&request, &(struct ck_job_options){.variable = "off"}, &ours, why, sizeof why);
    CASE(!request.on, "ADMINKIT_CKPT=off where the site's default is on");
    ck_request_read(&request, &(struct ck_job_options){0}, &ours, why, sizeof why);
    CASE(request.on && request.requeue && request.requeues == 9,
         "nothing said where the site's default is on");
}

/* The words that etc/plugstack.conf.d/adminkit.conf explains, with the values it gives, are what holds
 * without them. */
static void the_example(void) {
    char line[256], *words[16], why[128];
    int count = 0;
    FILE *example = fopen(EXAMPLE, "r");
    if (!example) {
        CASE(example, "no " EXAMPLE);
        return;
    }
    while (fgets(line, sizeof line, example))
        for (char *word = strtok(line, "# \n"); word && strchr(word, '='); word = strtok(NULL, " \n"))
            if (strcmp(word, "poll=N") != 0 && count < 16)
                words[count++] = strdup(word);
    fclose(example);
    struct ck_site ours, defaults = site();
    CASE(count == 10 && ck_site_read(&ours, count, words, why, sizeof why), "%d words, %s", count, why);
    CASE(ours.on == defaults.on && ours.signal == defaults.signal && ours.lead == defaults.lead, "signal");
    CASE(ours.min_lead == defaults.min_lead && ours.max_lead == defaults.max_lead, "bounds of the lead");
    CASE(ours.requeue == defaults.requeue && ours.max_requeues == defaults.max_requeues, "requeues");
    CASE(ours.code == defaults.code && ours.quiet == defaults.quiet, "code and quiet");
    CASE(ours.progress == defaults.progress, "progress");
    CASE(strcmp(ours.state, defaults.state) == 0, "%s", ours.state);
    while (count > 0)
        free(words[--count]);
}

int main(void) {
    the_table();
    requests();
    bounds();
    plugstack();
    the_example();
    return DONE();
}
