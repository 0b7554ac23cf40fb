/* options.h - the settings of plugstack.conf and the options of a job. Pure: text in, values out.
 *
 * tests/data/ckpt_options.tsv has the grammar of a job's options, with cases. The settings, each NAME=VALUE,
 * in any order, each once (etc/plugstack.conf.d/adminkit.conf explains them), and their defaults:
 *
 *   default=on|off        off           whether a job without options gets a signal
 *   signal=SIG[@SECONDS]  TERM@300      of a job that names none
 *   min_lead= max_lead=   1, 86400      bounds for SECONDS; beyond one a job gets the bound
 *   requeue=MAX|no        no            of a job without the option
 *   max_requeue=MAX       100           of a job that names no MAX, and the highest one
 *   code=CODE             85            the exit code for "there is more to do"
 *   poll=SECONDS          300           how often to ask for the job's end; 5 to 300
 *   quiet=SECONDS         60            a step younger than this does not ask; 0 to 3600
 *   progress=on|off       on            name a file in which a batch job may say how far it came
 *   state=FOLDER          /run/adminkit/ckpt   root's, for step_records.h */
#ifndef ADMINKIT_CKPT_OPTIONS_H
#define ADMINKIT_CKPT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define CK_MAX_LEAD 86400 /* seconds */
#define CK_MAX_REQUEUES 1000
#define CK_WORD_SIZE 256 /* of a setting or an option; a longer one is not understood */

/* The settings. */
struct ck_site {
    bool on;
    int signal;
    long lead, min_lead, max_lead; /* seconds */
    bool requeue;
    long requeues, max_requeues;
    int code;
    long poll, quiet; /* seconds; poll 0: not set */
    bool progress;
    char state[CK_WORD_SIZE];
};

/* The options of a job; NULL: not given. `variable` is ADMINKIT_CKPT, which counts only where neither signal
 * nor requeue is given. */
struct ck_job_options {
    bool off;
    const char *signal, *requeue, *target, *variable;
};

/* What the plugin does for a job. */
struct ck_request {
    bool on;
    int signal;
    long lead; /* seconds */
    bool requeue;
    long requeues;
    bool shells, jvms;
};

/* Reads the settings over their defaults. False: one is wrong, why[size] says which, and the plugin must do
 * nothing. */
bool ck_site_read(struct ck_site *site, int argc, char **argv, char *why, size_t size);

/* The request that the options make, within the site's bounds. why[size] is "", or says which option is wrong
 * (then the request is off, unless it is --ckpt-target) or which value was moved to a bound. */
void ck_request_read(struct ck_request *request, const struct ck_job_options *options,
                     const struct ck_site *site, char *why, size_t size);

#endif
