/* fuzz_io_texts.c - libFuzzer for io/proc_texts.h: nothing is read outside of the text, and a name of a file
 * system has only the bytes that a word may have. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "io/proc_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct io_thread thread;
    char name[IO_NAME];
    uint32_t count;
    uint64_t which;
    /* On the heap at its exact size, so that the sanitizer sees a byte too many. */
    char *text = malloc(size ? size : 1);

    memcpy(text, data, size);
    io_parse_syscall(text, size, &thread);
    if (thread.state == IO_CALLS)
        assert(thread.call >= 0 && io_wait_of(thread.call, thread.argument).file >= -1);
    io_is_pipe(text, size);
    assert(io_parse_mount_id(text, size) >= -1);
    for (int64_t id = 0; id < 4; id++)
        if (io_find_mount(text, size, id, name))
            assert(*name && strlen(name) < IO_NAME &&
                   strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(name));
    if (io_parse_cpus(text, size, &count, &which))
        assert(count > 0 && count <= 4 * size);
    free(text);
    return 0;
}
