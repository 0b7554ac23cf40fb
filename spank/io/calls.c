/* calls.c - which system calls wait for files: their numbers are the machine's. See proc_texts.h. */
#include <sys/syscall.h>

#include "proc_texts.h"

/* `file`: the argument that is the descriptor; NONE: the call has a path only. */
#define NONE (-1)

struct call {
    long number;
    enum io_waits what;
    int file;
};

static const struct call CALLS[] = {
    {SYS_read, IO_READ, 0},
    {SYS_pread64, IO_READ, 0},
    {SYS_readv, IO_READ, 0},
    {SYS_preadv, IO_READ, 0},
#ifdef SYS_preadv2
    {SYS_preadv2, IO_READ, 0},
#endif
    {SYS_sendfile, IO_READ, 1},
    {SYS_splice, IO_READ, 0},
#ifdef SYS_copy_file_range
    {SYS_copy_file_range, IO_READ, 0},
#endif
    {SYS_readahead, IO_READ, 0},
    {SYS_fadvise64, IO_READ, 0},
    {SYS_getdents64, IO_READ, 0},
    {SYS_fstat, IO_READ, 0},
    {SYS_io_getevents, IO_FILE, NONE},
    {SYS_openat, IO_NAMED, 0},
#ifdef SYS_openat2
    {SYS_openat2, IO_NAMED, 0},
#endif
#ifdef SYS_newfstatat
    {SYS_newfstatat, IO_NAMED, 0},
#endif
    {SYS_statx, IO_NAMED, 0},
    {SYS_faccessat, IO_NAMED, 0},
#ifdef SYS_faccessat2
    {SYS_faccessat2, IO_NAMED, 0},
#endif
    {SYS_readlinkat, IO_NAMED, 0},
    {SYS_getxattr, IO_NAMED, NONE},
    {SYS_lgetxattr, IO_NAMED, NONE},
    {SYS_statfs, IO_NAMED, NONE},
    {SYS_chdir, IO_NAMED, NONE},
    {SYS_execve, IO_NAMED, NONE},
    {SYS_execveat, IO_NAMED, 0},
#ifdef SYS_open /* machines of before 2012 have these too */
    {SYS_open, IO_NAMED, NONE},
    {SYS_stat, IO_NAMED, NONE},
    {SYS_lstat, IO_NAMED, NONE},
    {SYS_access, IO_NAMED, NONE},
    {SYS_readlink, IO_NAMED, NONE},
    {SYS_getdents, IO_READ, 0},
#endif
};

struct io_wait io_wait_of(long call, const uint64_t *argument) {
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (CALLS[i].number == call) {
            int file = CALLS[i].file == NONE ? -1 : (int)(uint32_t)argument[CALLS[i].file];
            return (struct io_wait){CALLS[i].what, file < 0 ? -1 : file};
        }
    return (struct io_wait){IO_ELSE, -1};
}
