/* A test is a table of cases; CASE counts a failure with its place and goes on, DONE() is what main returns.
 */
#ifndef CK_CASES_H
#define CK_CASES_H
#include <stdio.h>

static int ck_failed;

#define CASE(true_thing, ...)                                                                                \
    do {                                                                                                     \
        if (!(true_thing)) {                                                                                 \
            ck_failed++;                                                                                     \
            fprintf(stderr, "%s:%d: not %s: ", __FILE__, __LINE__, #true_thing);                             \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
        }                                                                                                    \
    } while (0)
#define DONE() (ck_failed ? 1 : 0)
#endif
