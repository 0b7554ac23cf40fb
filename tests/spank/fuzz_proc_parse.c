/* fuzz_proc_parse.c - libFuzzer for proc_parse.h: nothing is read outside of the text, and a comm that a
 * program has chosen never moves the fields behind it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/proc_parse.h"

static void with_comm(const uint8_t *data, size_t size) {
    static const char rest[] =
        ") S 7 7 7 0 7 0 90 0 0 0 1 2 0 0 20 0 1 0 987654 1 2 3 1 1 0 0 0 0 4 4096 16386 0 0 0 17\n";
    char text[1024];
    size_t comm = size < 64 ? size : 64;
    struct ak_proc_stat stat;

    int head = snprintf(text, sizeof text, "42 (");
    memcpy(text + head, data, comm);
    memcpy(text + head + comm, rest, sizeof rest - 1);
    assert(ak_parse_stat(text, (size_t)head + comm + sizeof rest - 1, &stat));
    assert(stat.pid == 42 && stat.ppid == 7 && stat.state == 'S' && stat.start == 987654 && !stat.terminal);
    assert(stat.blocked == 4 && stat.ignored == 4096 && stat.caught == 16386);
    assert(strlen(stat.comm) == (comm < AK_COMM_SIZE ? comm : AK_COMM_SIZE - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ak_proc_stat stat;
    struct ak_proc_status status;
    char kind[16], path[128], folder[128];
    uint64_t value;
    /* On the heap at its exact size, so that the sanitizer sees a byte too many. */
    char *text = malloc(size ? size : 1);

    memcpy(text, data, size);
    if (ak_parse_stat(text, size, &stat))
        assert(stat.pid > 0 && stat.ppid >= 0);
    ak_parse_status(text, size, &status);
    ak_parse_hex(text, size, "sigmask", &value);
    ak_parse_variable(text, size, "A", &value);
    if (ak_parse_cgroup(text, size, kind, sizeof kind, path, sizeof path))
        assert(path[0] == '/' && strlen(path) > strlen("/job_1/step_") && strstr(path, "/step_"));
    if (ak_parse_apart(text, size, text, size / 2, path, sizeof path))
        assert(strlen(path) < size);
    if (ak_parse_mount(text, size, "", "/job_1/step_0", folder, sizeof folder))
        assert(strstr(folder, "/step_0")); /* a mount of /job_1 alone shows no more of it */
    free(text);
    with_comm(data, size);
    return 0;
}
