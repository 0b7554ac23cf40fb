/* send.c - ck_deliver() for the tests that run real processes.
 *
 *   send [--look] [--signal N] [--uid N] [--cgroup DIR] [--stepd PID] [--shells] [--jvms] ROOT…
 *
 * Prints the line for the job's stderr and then "PID FATE WHY" for each that is named in it. With --look
 * nothing is signalled: "PID EAR WHY" of every process. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ckpt/signal_send.h"

static const char *const fates[] = {"spared", "sent", "gone", "changed", "refused"};
static const char *const ears[] = {"dies", "ignores", "catches", "waits", "blocks", "unread", "sleeps"};

static int look(const struct ck_scope *scope) {
    struct ck_snapshot snapshot;
    int error = ck_snapshot_take(&snapshot, scope->cgroup, scope->roots, scope->root_count, scope->signal);
    enum ck_why *why = malloc((snapshot.count + 1) * sizeof *why);

    if (!error && ck_choose(&snapshot, scope, why))
        for (size_t i = 0; i < snapshot.count; i++)
            printf("%d %s %s\n", (int)snapshot.process[i].pid, ears[snapshot.process[i].ear],
                   ck_why_text[why[i]]);
    free(why);
    ck_snapshot_free(&snapshot);
    return error != 0;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"look", no_argument, NULL, 'l'},        {"signal", required_argument, NULL, 's'},
        {"uid", required_argument, NULL, 'u'},   {"cgroup", required_argument, NULL, 'c'},
        {"stepd", required_argument, NULL, 'd'}, {"shells", no_argument, NULL, 'S'},
        {"jvms", no_argument, NULL, 'J'},        {NULL, 0, NULL, 0},
    };
    struct ck_scope scope = {.signal = SIGTERM};
    struct ck_heard heard;
    pid_t roots[64];
    char line[1024];
    bool only_look = false;

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == '?')
            return 2;
        only_look |= option == 'l';
        scope.signal = option == 's' ? atoi(optarg) : scope.signal;
        scope.uid = option == 'u' ? (uid_t)atol(optarg) : scope.uid;
        scope.cgroup = option == 'c' ? optarg : scope.cgroup;
        scope.stepd = option == 'd' ? (pid_t)atoi(optarg) : scope.stepd;
        scope.shells |= option == 'S';
        scope.jvms |= option == 'J';
    }
    for (; optind < argc && scope.root_count < 64; optind++)
        roots[scope.root_count++] = (pid_t)atoi(argv[optind]);
    scope.roots = roots;
    if (only_look)
        return look(&scope);

    int error = ck_deliver(&scope, &heard);
    puts(ck_heard_line(&heard, line, sizeof line));
    for (size_t i = 0; i < heard.told_count; i++)
        printf("%d %s %s\n", (int)heard.told[i].pid, fates[heard.told[i].fate],
               ck_why_text[heard.told[i].why]);
    ck_heard_free(&heard);
    return error != 0;
}
