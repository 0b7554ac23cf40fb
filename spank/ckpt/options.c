/* options.c - see options.h. */
#include "options.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int number;
} SIGNALS[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
               {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"XCPU", SIGXCPU}};

/* Decimal digits, six at most, whose value is within the bounds. */
static bool read_number(const char *text, long min, long max, long *value) {
    long sum = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 6 || text[n] != '\0')
        return false;
    for (; *text; text++)
        sum = sum * 10 + (*text - '0');
    *value = sum;
    return sum >= min && sum <= max;
}

static int signal_number(const char *name, size_t n) {
    if (n > 3 && strncasecmp(name, "SIG", 3) == 0)
        name += 3, n -= 3;
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++)
        if (strlen(SIGNALS[i].name) == n && strncasecmp(SIGNALS[i].name, name, n) == 0)
            return SIGNALS[i].number;
    return 0;
}

/* SIG or SIG@SECONDS; without SECONDS *lead stays as it is. */
static bool read_signal(const char *word, int *signal, long *lead) {
    size_t n = strcspn(word, "@");
    int number = signal_number(word, n);
    if (number == 0 || (word[n] == '@' && !read_number(word + n + 1, 1, CK_MAX_LEAD, lead)))
        return false;
    *signal = number;
    return true;
}

static bool read_target(const char *word, struct ck_request *request) {
    bool shell = strcmp(word, "shell") == 0;
    if (!shell && strcmp(word, "jvm") != 0)
        return false;
    *(shell ? &request->shells : &request->jvms) = true;
    return true;
}

/* `text`: MAX of "requeue=MAX", or "" for "requeue". */
static bool read_requeue(const char *text, struct ck_request *request, const struct ck_site *site) {
    request->requeue = true;
    request->requeues = site->max_requeues;
    return *text == '\0' || read_number(text, 1, CK_MAX_REQUEUES, &request->requeues);
}

/* One item of the variable. *seen has a bit for each kind that came before: each may come once. */
static bool read_item(const char *item, struct ck_request *request, const struct ck_site *site,
                      unsigned *seen) {
    enum { SIGNAL = 1, REQUEUE = 2, TARGET = 4 };
    unsigned kind;
    bool good;
    if (strcmp(item, "requeue") == 0 || strncmp(item, "requeue=", 8) == 0) {
        kind = REQUEUE;
        good = item[7] == '\0' || (item[8] != '\0' && read_requeue(item + 8, request, site));
        good = good && (item[7] != '\0' || read_requeue("", request, site));
    } else if (strncmp(item, "target=", 7) == 0) {
        kind = TARGET;
        good = read_target(item + 7, request);
    } else {
        kind = SIGNAL;
        good = read_signal(item, &request->signal, &request->lead);
    }
    good = good && !(*seen & kind);
    *seen |= kind;
    return good;
}

static bool read_variable(const char *value, struct ck_request *request, const struct ck_site *site) {
    char text[CK_WORD_SIZE];
    unsigned seen = 0;
    if (strcmp(value, "on") == 0)
        return true;
    if (snprintf(text, sizeof text, "%s", value) >= (int)sizeof text)
        return false;
    char *next = text;
    while (next) { /* for a comma too many strsep() gives an empty item, which is wrong */
        char *item = strsep(&next, ",");
        if (!read_item(item, request, site, &seen))
            return false;
    }
    return true;
}

static void keep_in_bounds(struct ck_request *request, const struct ck_site *site, char *why, size_t size) {
    long lead = request->lead;
    if (lead < site->min_lead)
        lead = site->min_lead;
    if (lead > site->max_lead)
        lead = site->max_lead;
    if (lead != request->lead)
        snprintf(why, size, "%ld s before the end is outside this site's bounds, so it will be %ld s",
                 request->lead, lead);
    request->lead = lead;
    if (request->requeues > site->max_requeues) {
        size_t used = strlen(why);
        snprintf(why + used, size - used, "%sthis site allows at most %ld requeues", used ? "; " : "",
                 site->max_requeues);
        request->requeues = site->max_requeues;
    }
}

void ck_request_read(struct ck_request *request, const struct ck_job_options *options,
                     const struct ck_site *site, char *why, size_t size) {
    const char *bad = NULL, *name = "";
    bool by_option = options->signal || options->requeue;
    *why = '\0';
    *request = (struct ck_request){.on = site->on,
                                   .signal = site->signal,
                                   .lead = site->lead,
                                   .requeue = site->requeue,
                                   .requeues = site->requeues};
    if (options->off || (!by_option && options->variable && strcmp(options->variable, "off") == 0)) {
        request->on = false;
        return;
    }
    if (options->signal && !read_signal(options->signal, &request->signal, &request->lead))
        bad = options->signal, name = "--ckpt-signal";
    if (!bad && options->requeue && !read_requeue(options->requeue, request, site))
        bad = options->requeue, name = "--ckpt-requeue";
    if (!by_option && options->variable && !read_variable(options->variable, request, site))
        bad = options->variable, name = "ADMINKIT_CKPT";
    if (bad) {
        request->on = false;
        snprintf(why, size, "%s=%.60s is not understood, so no signal will be sent", name, bad);
        return;
    }
    if (by_option || options->variable)
        request->on = true;
    if (options->target && !read_target(options->target, request))
        snprintf(why, size, "--ckpt-target=%.60s is not understood: it must be shell or jvm",
                 options->target);
    keep_in_bounds(request, site, why, size);
}

static bool read_folder(const char *value, struct ck_site *site) {
    int n = snprintf(site->state, sizeof site->state, "%s", value);
    return *value == '/' && n < (int)sizeof site->state - 64;
}

static bool read_switch(const char *value, bool *on) {
    *on = strcmp(value, "on") == 0;
    return *on || strcmp(value, "off") == 0;
}

/* One setting. */
static bool read_setting(struct ck_site *site, const char *name, const char *value) {
    long code;
    if (strcmp(name, "default") == 0)
        return read_switch(value, &site->on);
    if (strcmp(name, "progress") == 0)
        return read_switch(value, &site->progress);
    if (strcmp(name, "signal") == 0)
        return read_signal(value, &site->signal, &site->lead);
    if (strcmp(name, "min_lead") == 0)
        return read_number(value, 1, CK_MAX_LEAD, &site->min_lead);
    if (strcmp(name, "max_lead") == 0)
        return read_number(value, 1, CK_MAX_LEAD, &site->max_lead);
    if (strcmp(name, "requeue") == 0) {
        site->requeue = strcmp(value, "no") != 0;
        return !site->requeue || read_number(value, 1, CK_MAX_REQUEUES, &site->requeues);
    }
    if (strcmp(name, "max_requeue") == 0)
        return read_number(value, 1, CK_MAX_REQUEUES, &site->max_requeues);
    if (strcmp(name, "poll") == 0)
        return read_number(value, 5, 300, &site->poll);
    if (strcmp(name, "quiet") == 0)
        return read_number(value, 0, 3600, &site->quiet);
    if (strcmp(name, "state") == 0)
        return read_folder(value, site);
    if (strcmp(name, "code") != 0 || !read_number(value, 1, 127, &code))
        return false;
    site->code = (int)code;
    return true;
}

bool ck_site_read(struct ck_site *site, int argc, char **argv, char *why, size_t size) {
    *why = '\0';
    *site = (struct ck_site){.signal = SIGTERM,
                             .lead = 300,
                             .min_lead = 1,
                             .max_lead = CK_MAX_LEAD,
                             .requeues = 100,
                             .max_requeues = 100,
                             .code = 85,
                             .quiet = 60,
                             .progress = true,
                             .state = "/run/adminkit/ckpt"};
    for (int i = 0; i < argc; i++) {
        char text[CK_WORD_SIZE];
        char *value = text;
        bool fits = snprintf(text, sizeof text, "%s", argv[i]) < (int)sizeof text;
        char *name = strsep(&value, "=");
        if (!fits || !value || !read_setting(site, name, value)) {
            snprintf(why, size, "%.60s is not understood", argv[i]);
            return false;
        }
    }
    if (site->min_lead > site->max_lead || site->lead < site->min_lead || site->lead > site->max_lead) {
        snprintf(why, size, "the signal's lead of %ld s is not between min_lead=%ld and max_lead=%ld",
                 site->lead, site->min_lead, site->max_lead);
        return false;
    }
    if (site->requeues > site->max_requeues)
        site->requeues = site->max_requeues;
    return true;
}
