/* actor.c - a process that does one thing with a signal, for the tests that run real processes.
 *
 *   actor NAME MODE SIGNAL [COMMAND…]
 *
 * In the folder $STAGE it writes its pid to ready.NAME when all is set, and NAME to the file `heard` each
 * time it hears the signal. A COMMAND is started first, with the masks and handlers that actor was given. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int heard_file, number;
static const char *name;
static pid_t child;
static bool deadly;

static void say(void) {
    char line[64];
    size_t size = strlen(name);

    memcpy(line, name, size);
    line[size] = '\n';
    if (write(heard_file, line, size + 1) < 0)
        _exit(3);
}

static void handler(int signal) {
    (void)signal;
    say();
    if (deadly && child > 0)
        kill(child, SIGKILL);
}

static void *wait_for_it(void *set) {
    for (int got; sigwait(set, &got) == 0;)
        say();
    return NULL;
}

static void *unblock(void *set) {
    pthread_sigmask(SIG_UNBLOCK, set, NULL);
    for (;;)
        pause();
    return NULL;
}

static void ready(void) {
    char path[64];

    snprintf(path, sizeof path, "ready.%s.new", name);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%d", (int)getpid()) < 0 || fclose(file))
        exit(3);
    char final[64];
    snprintf(final, sizeof final, "ready.%s", name);
    if (rename(path, final))
        exit(3);
}

static void act(const char *mode) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct signalfd_siginfo info;
    static sigset_t set;
    pthread_t thread;
    int file = -1;
    bool is_wait = strcmp(mode, "sigwait") == 0, is_file = strcmp(mode, "signalfd") == 0;

    sigemptyset(&set);
    sigaddset(&set, number);
    if (strcmp(mode, "catch") == 0 || deadly)
        sigaction(number, &action, NULL);
    else if (strcmp(mode, "ignore") == 0)
        signal(number, SIG_IGN);
    else if (strcmp(mode, "default") != 0 && strcmp(mode, "reaper") != 0)
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (strcmp(mode, "sigwait-thread") == 0)
        pthread_create(&thread, NULL, wait_for_it, &set);
    if (strcmp(mode, "half-blocked") == 0)
        pthread_create(&thread, NULL, unblock, &set);
    if (is_file)
        file = signalfd(-1, &set, 0);
    usleep(20000);
    ready();
    while (is_wait)
        wait_for_it(&set);
    while (is_file && read(file, &info, sizeof info) == sizeof info)
        say();
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    if (argc < 4 || !getenv("STAGE") || chdir(getenv("STAGE")))
        return 2;
    name = argv[1];
    number = atoi(argv[3]);
    deadly = strcmp(argv[2], "deadly") == 0;
    heard_file = open("heard", O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (strcmp(argv[2], "reaper") == 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (argc > 4 && (child = fork()) == 0) {
        execvp(argv[4], argv + 4);
        _exit(127);
    }
    act(argv[2]);
}
