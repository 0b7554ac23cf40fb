/* child.c - what a step runs, for the tests of the watch and of the plugin: `child NUMBER CODE FD` leaves
 * with CODE at signal NUMBER; with CODE 0 it stays, below 0 it ignores the signal. FD gets a byte when that
 * is set. A program of its own, as what valgrind runs catches every signal. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int code;

static void on_signal(int number) {
    (void)number;
    if (code > 0)
        _exit(code);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    code = atoi(argv[2]);
    signal(atoi(argv[1]), code < 0 ? SIG_IGN : on_signal);
    if (write(atoi(argv[3]), "x", 1) != 1)
        return 2;
    for (;;)
        pause();
}
