/* What an AdminComment says of more time: whether a raise stands, and whether there may be one. */
#include "ckpt/extension.h"

#include <stddef.h>

#include "cases.h"

static const struct {
    const char *comment;
    bool stands, possible;
    const char *why;
} CASES[] = {
    {"xt1:asked=3600,lim=5400,n=2", true, false, "alone"},
    {"ak1:lim=60,src=e,ext=auto,rules=a ck1:at=9,heard=2,rq=1 xt1:asked=60,lim=120,n=1 mine", true, true,
     "among others"},
    {"ak1:lim=60,src=e,ext=auto", false, true, "it may be extended, and was not yet"},
    {"ak1:lim=60,src=e,ext=auto xt1:asked=60,lim=60,n=0", false, true, "all was taken back"},
    {"xt1:asked=60,lim=60,n=00", false, false, "no raise, whatever its digits"},
    {"xt1:asked=60,lim=60,n=010", true, false, "leading zeros"},
    {"xt1:asked=60,lim=60,n=0 xt1:asked=60,lim=120,n=1", false, false, "the first counts"},
    {"xt1:asked=x,lim=60,n=1 xt1:asked=60,lim=120,n=1", true, false, "the first that is whole"},
    {"xt1:asked=60,lim=120,n=1,more=1", false, false, "of another release"},
    {"xt1:asked=60,n=1,lim=120", false, false, "in another order"},
    {"xt1:asked=,lim=120,n=1", false, false, "a number without digits"},
    {"xt1:asked=60,lim=120,n=", false, false, "cut"},
    {"xt1:asked=60,lim=120,n=-1", false, false, "a sign"},
    {"xt1:asked=60", false, false, "cut earlier"},
    {"xxt1:asked=60,lim=120,n=1", false, false, "inside a word"},
    {"ak1:lim=60,src=e,ext=automatic", false, false, "another value"},
    {"ak1:lim=60,src=e ext=auto", false, false, "in a word of its own"},
    {"mine ak1:lim=60,src=e,ext=auto", false, false, "a record that is not the first word"},
    {"ak1:lim=60,src=e,next=auto", false, false, "the end of another key"},
    {"", false, false, "nothing"},
    {NULL, false, false, "no comment"},
};

int main(void) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        CASE(ck_extension_stands(CASES[i].comment) == CASES[i].stands, "%s", CASES[i].why);
        CASE(ck_extension_possible(CASES[i].comment) == CASES[i].possible, "%s", CASES[i].why);
    }
    return DONE();
}
