/* options.h - what the operator set in plugstack.conf and what the job asks for. Pure: text in, values out.
 *
 * The grammar of what a job says is in tests/data/ckpt_options.tsv, with its cases. Words of plugstack.conf,
 * each NAME=VALUE, in any order, each once (etc/plugstack.conf.d/adminkit.conf explains them):
 *
 *   default=on|off       whether a job that says nothing is watched    off
 *   signal=SIG[@SECONDS] what a job gets that does not name one        TERM@300
 *   min_lead= max_lead=  bounds for SECONDS; what lies beyond is moved to the bound   1, 86400
 *   requeue=MAX|no       of a job that does not say                    no
 *   max_requeue=MAX      for a job that names no MAX, and the highest  100
 *   code=CODE            the exit code for "there is more to do"       85
 *   poll=SECONDS         to ask for the end more often than every 300 s; 5 to 300
 *   quiet=SECONDS        a step younger than this asks nothing; 0 to 3600   60
 *   state=FOLDER         of root, for what steps leave to the batch step    /run/adminkit/ckpt */
#ifndef ADMINKIT_CK_OPTIONS_H
#define ADMINKIT_CK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define CK_MOST_LEAD 86400
#define CK_MOST_REQUEUES 1000
#define CK_WORD 256 /* longer ones are no words of ours */

struct ck_site {
    bool on;
    int signal;
    long lead, min_lead, max_lead; /* seconds */
    bool requeue;
    long requeues, max_requeues;
    int code;
    long poll, quiet; /* seconds; poll 0: not set */
    char state[CK_WORD];
};

/* What a job said; NULL: nothing. The variable is looked at where neither signal nor requeue is given. */
struct ck_said {
    bool off;
    const char *signal, *requeue, *target, *variable;
};

struct ck_wish {
    bool on;
    int signal;
    long lead; /* seconds */
    bool requeue;
    long requeues;
    bool shells, jvms;
};

/* The defaults, then the words. False, and in why[size] the word that is wrong: the plugin is to stay out of
 * the way. */
bool ck_site_read(struct ck_site *site, int words, char **word, char *why, size_t size);

/* What the job wishes, within the site's bounds. why[size] is "" or says which word was wrong (then the wish
 * is not on) or what was moved to a bound. */
void ck_wish_read(struct ck_wish *wish, const struct ck_said *said, const struct ck_site *site, char *why,
                  size_t size);

#endif
