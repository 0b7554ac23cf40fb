/* Says of each text on stdin, which a NUL ends, whether as a value of ADMINKIT_CKPT it asks for checkpoints:
 * yes or no. For test_grammar.py, which asks the Lua of job_submit the same. */
#include <stdio.h>

#include "ckpt/options.h"

int main(void) {
    static char text[65536];
    size_t used = 0;
    struct ck_site site;
    char why[256];
    ck_site_read(&site, 0, NULL, why, sizeof why);
    for (int c; (c = getchar()) != EOF && used < sizeof text;) {
        text[used++] = (char)c;
        if (c != '\0')
            continue;
        struct ck_request request;
        ck_request_read(&request, &(struct ck_job_options){.variable = text}, &site, why, sizeof why);
        puts(request.on ? "yes" : "no");
        used = 0;
    }
    return 0;
}
