/* send.c - ck_signal_send() for the tests that run real processes.
 *
 *   send [--look] [--signal N] [--uid N] [--cgroup DIR] [--stepd PID] [--shells] [--jvms] ROOT…
 *
 * Prints the line for the job's stderr and then "PID OUTCOME REASON" for each that is named in it. With
 * --look nothing is signalled: "PID DISPOSITION REASON" of every process. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ckpt/signal_send.h"

static const char *const outcomes[] = {"not-target", "sent", "gone", "changed", "refused"};
static const char *const dispositions[] = {"dies",   "ignores", "catches", "waits",
                                           "blocks", "unread",  "sleeps"};

static int look(const struct ck_scope *scope) {
    struct ck_snapshot snapshot;
    int error = ck_snapshot_take(&snapshot, scope->cgroup, scope->roots, scope->root_count, scope->signal);
    enum ck_role *role = malloc((snapshot.count + 1) * sizeof *role);

    if (!error && ck_choose_targets(&snapshot, scope, role))
        for (size_t i = 0; i < snapshot.count; i++)
            printf("%d %s %s\n", (int)snapshot.process[i].pid, dispositions[snapshot.process[i].disposition],
                   ck_role_text[role[i]]);
    free(role);
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
    struct ck_delivery delivery;
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

    int error = ck_signal_send(&scope, &delivery);
    puts(ck_delivery_line(&delivery, line, sizeof line));
    for (size_t i = 0; i < delivery.recipient_count; i++)
        printf("%d %s %s\n", (int)delivery.recipient[i].pid, outcomes[delivery.recipient[i].outcome],
               ck_role_text[delivery.recipient[i].role]);
    ck_delivery_free(&delivery);
    return error != 0;
}
