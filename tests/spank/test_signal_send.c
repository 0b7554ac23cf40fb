/* test_signal_send.c - what happens between the snapshot and the signal: a pid used again, an exec, a fork,
 * an end; and a kernel without pidfd. Real processes; each counts in shared memory what it heard. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ckpt/signal_send.h"

static struct shared { atomic_int heard, ready, go; } * shared;

static void handler(int signal) {
    (void)signal;
    shared->heard++;
}

static void wait_until(atomic_int *flag, int value) {
    for (int i = 0; *flag < value && i < 5000; i++)
        usleep(1000);
    CASE(*flag >= value, "waited in vain");
}

/* Until the process has become this program. */
static void wait_for_name(pid_t pid, const char *name) {
    char path[32], line[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    for (int i = 0; strcmp(line, name) != 0 && i < 5000; i++) {
        FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file))
            line[0] = 0;
        if (file)
            fclose(file);
        usleep(1000);
    }
    CASE(strcmp(line, name) == 0, "it is %s", line);
}

static void listen_for_ever(void) {
    signal(SIGTERM, handler);
    shared->ready++;
    for (;;)
        pause();
}

/* A child that catches SIGTERM; with `next` it becomes that program, or forks, once `go` is set. */
static pid_t start(const char *next) {
    *shared = (struct shared){0};
    pid_t pid = fork();
    if (pid != 0) {
        wait_until(&shared->ready, 1);
        return pid;
    }
    if (!next)
        listen_for_ever();
    signal(SIGTERM, handler);
    shared->ready++;
    while (!shared->go)
        usleep(1000);
    if (strcmp(next, "fork") != 0)
        execlp(next, next, "60", (char *)NULL);
    if (fork() == 0)
        listen_for_ever();
    for (;;)
        pause();
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A snapshot of one process, and a scope for it. */
static struct ck_snapshot take(pid_t *pid, struct ck_scope *scope) {
    struct ck_snapshot snapshot;

    *scope = (struct ck_scope){.uid = getuid(), .signal = SIGTERM, .roots = pid, .root_count = 1};
    CASE(ck_snapshot_take(&snapshot, NULL, pid, 1, SIGTERM) == 0, "no snapshot");
    CASE(snapshot.count == 1 && snapshot.process[0].pid == *pid, "%zu processes", snapshot.count);
    CASE(snapshot.process[0].disposition == CK_SIG_CAUGHT, "it does not catch yet");
    return snapshot;
}

static struct ck_recipient send_one(struct ck_snapshot *snapshot, const struct ck_scope *scope) {
    struct ck_recipient recipient = {0};

    ck_signal_one(snapshot, &snapshot->process[0], scope, &recipient);
    ck_snapshot_free(snapshot);
    usleep(50000);
    return recipient;
}

static void check_sent(void) {
    struct ck_scope scope;
    pid_t pid = start(NULL);
    struct ck_snapshot snapshot = take(&pid, &scope);

    CASE(send_one(&snapshot, &scope).outcome == CK_SENT, "the one that was looked at");
    wait_until(&shared->heard, 1);
    CASE(shared->heard == 1, "heard %d times", shared->heard);
    stop(pid);
}

static void check_ended(void) {
    struct ck_scope scope;
    pid_t pid = start(NULL);
    struct ck_snapshot snapshot = take(&pid, &scope), again = take(&pid, &scope);

    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
    CASE(send_one(&again, &scope).outcome == CK_GONE, "a zombie hears nothing");
    waitpid(pid, NULL, 0);
    CASE(send_one(&snapshot, &scope).outcome == CK_GONE, "it has ended");
}

/* clone3 gives a child the very pid of the one before; that needs root. */
static void check_reused(void) {
    struct ck_scope scope;
    pid_t pid = start(NULL), wanted = pid;
    struct ck_snapshot snapshot = take(&pid, &scope);

    stop(pid);
    usleep(30000); /* starts are told apart by 10 ms */
    *shared = (struct shared){0};
    struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1};
    long other = syscall(SYS_clone3, &args, sizeof args);
    if (other == 0)
        listen_for_ever();
    if (other < 0) {
        printf("not run: a pid used again: clone3: %s\n", strerror(errno));
        ck_snapshot_free(&snapshot);
        return;
    }
    wait_until(&shared->ready, 1);
    CASE(other == pid, "%ld and not %d", other, pid);
    CASE(send_one(&snapshot, &scope).outcome == CK_GONE, "the pid is another's");
    CASE(shared->heard == 0, "the other heard");
    stop(pid);
}

static void check_exec(void) {
    struct ck_scope scope;
    pid_t pid = start("sleep");
    struct ck_snapshot snapshot = take(&pid, &scope);

    shared->go = 1;
    wait_for_name(pid, "sleep\n");
    CASE(send_one(&snapshot, &scope).outcome == CK_CHANGED, "sleep has no handler");
    CASE(kill(pid, 0) == 0 && waitpid(pid, NULL, WNOHANG) == 0, "it is dead");
    stop(pid);
}

static void check_fork(void) {
    struct ck_scope scope;
    pid_t pid = start("fork");
    struct ck_snapshot snapshot = take(&pid, &scope);

    setpgid(pid, pid);
    shared->go = 1;
    wait_until(&shared->ready, 2);
    CASE(send_one(&snapshot, &scope).outcome == CK_SENT, "it is the same process");
    wait_until(&shared->heard, 1);
    CASE(shared->heard == 1, "heard %d times: the child too", shared->heard);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The same where the kernel says it knows no pidfd_open. In a process of its own: a filter stays. */
static void check_without_pidfd(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 434, 0, 1), /* pidfd_open */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    int status;

    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            _exit(77);
        check_sent();
        check_ended();
        check_exec();
        exit(DONE());
    }
    CASE(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "no answer");
    if (WEXITSTATUS(status) == 77)
        puts("not run: without pidfd: no seccomp");
    else
        CASE(WEXITSTATUS(status) == 0, "without pidfd");
}

static void check_lines(void) {
    struct ck_recipient recipient[12];
    char line[400], small[12];
    struct ck_delivery delivery = {.signal = SIGTERM, .recipient = recipient};

    for (int i = 0; i < 12; i++)
        recipient[i] = (struct ck_recipient){
            .pid = 10 + i, .comm = "python3", .role = CK_ROLE_CATCHES, .outcome = CK_SENT};
    delivery.recipient_count = delivery.targets = delivery.sent = 1;
    CASE(strcmp(ck_delivery_line(&delivery, line, sizeof line),
                "SIGTERM to python3 (10), which has a handler for it") == 0,
         "%s", line);
    delivery.recipient_count = delivery.targets = delivery.sent = 12;
    ck_delivery_line(&delivery, line, sizeof line);
    CASE(strstr(line, "python3 (17)") && !strstr(line, "python3 (18)") && strstr(line, "; and 4 more"), "%s",
         line);
    CASE(strcmp(ck_delivery_line(&delivery, small, sizeof small), "SIGTERM to ") == 0, "cut to fit: %s",
         small);
    delivery.recipient_count = delivery.targets = 2;
    delivery.sent = 1;
    recipient[1].outcome = CK_REFUSED;
    recipient[1].error = EPERM;
    ck_delivery_line(&delivery, line, sizeof line);
    CASE(
        strcmp(line,
               "SIGTERM to python3 (10), which has a handler for it; not to python3 (11), which could not be "
               "signalled: Operation not permitted") == 0,
        "%s", line);
    delivery = (struct ck_delivery){.signal = SIGUSR1};
    CASE(strcmp(ck_delivery_line(&delivery, line, sizeof line), "no process here catches SIGUSR1") == 0, "%s",
         line);
    delivery = (struct ck_delivery){.signal = 40, .error = EACCES};
    ck_delivery_line(&delivery, line, sizeof line);
    CASE(strcmp(line, "signal 40 not sent: couldn't read the processes of this step: Permission denied") == 0,
         "%s", line);
}

static void check_nothing(void) {
    struct ck_scope scope = {.uid = getuid(), .signal = SIGTERM};
    struct ck_delivery delivery;

    CASE(ck_signal_send(&scope, &delivery) == 0 && delivery.seen == 0 && delivery.targets == 0,
         "no roots, no processes");
    ck_delivery_free(&delivery);
    scope.signal = 0;
    CASE(ck_signal_send(&scope, &delivery) == EINVAL, "no signal");
    ck_delivery_free(&delivery);
    scope.signal = 65;
    CASE(ck_signal_send(&scope, &delivery) == EINVAL, "no such signal");
    ck_delivery_free(&delivery);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check_sent();
    check_ended();
    check_reused();
    check_exec();
    check_fork();
    check_without_pidfd();
    check_lines();
    check_nothing();
    return DONE();
}
