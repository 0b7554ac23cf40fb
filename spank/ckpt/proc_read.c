/* proc_read.c - see proc_read.h. */
#include "proc_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known_programs.h"

#define STATUS_SIZE 262144 /* only the line of groups may have tens of thousands */
#define MAX_ARGV 4096
#define MAX_TEXT (64u << 20)
#define MAX_THREADS 4096
#define MAX_FILES 16384

/* Texts are packed into a few large pieces; `scratch` holds the file that is being read. */
struct piece {
    struct piece *before;
    size_t used;
    char text[65536];
};

struct ck_arena {
    struct piece *last;
    size_t total;
    int proc; /* /proc */
    char scratch[STATUS_SIZE];
};

/* A copy that ends with a NUL; where there is no memory "", and the snapshot is partial. */
static const char *keep_text(struct ck_snapshot *snapshot, const char *text, size_t size) {
    struct ck_arena *arena = snapshot->arena;
    struct piece *piece = arena->last;

    if (!piece || sizeof piece->text - piece->used <= size) {
        piece = arena->total < MAX_TEXT && size < sizeof piece->text ? malloc(sizeof *piece) : NULL;
        if (!piece) {
            snapshot->partial = true;
            return "";
        }
        piece->before = arena->last;
        piece->used = 0;
        arena->last = piece;
        arena->total += sizeof *piece;
    }
    char *copy = piece->text + piece->used;
    memcpy(copy, text, size);
    copy[size] = '\0';
    piece->used += size + 1;
    return copy;
}

/* The file's text, as much as fits: the kernel gives all of such a file in one read. -1: it is gone. */
static ssize_t read_at(int folder, const char *name, char *text, size_t room) {
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return -1;
    ssize_t got = read(file, text, room);
    close(file);
    return got;
}

DIR *ck_open_folder(int folder, const char *name) {
    int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = below < 0 ? NULL : fdopendir(below);

    if (!entries && below >= 0)
        close(below);
    return entries;
}

static bool parse_stat(struct ck_arena *arena, pid_t pid, struct ak_proc_stat *stat) {
    char name[32], text[1024];

    snprintf(name, sizeof name, "%d/stat", (int)pid);
    ssize_t got = read_at(arena->proc, name, text, sizeof text);
    return got > 0 && ak_parse_stat(text, (size_t)got, stat);
}

static bool parse_status(struct ck_arena *arena, const char *name, struct ak_proc_status *status) {
    ssize_t got = read_at(arena->proc, name, arena->scratch, sizeof arena->scratch);
    return got > 0 && ak_parse_status(arena->scratch, (size_t)got, status);
}

/* Trap: while a thread is in sigwait, the kernel takes the signals it waits for out of its mask, so SigBlk
 * does not have them and the thread looks as if it would die. The first argument of the system call points to
 * the set it waits for. `wchan` is read first: unlike `syscall` it takes no lock that an exec in a dead file
 * system may hold. Where the kernel hides `wchan`, a thread in sigwait is not recognised, and not signalled.
 */
static bool in_sigwait(struct ck_arena *arena, const char *thread, int signal) {
    char name[80], text[256];
    unsigned long long set_at;
    uint64_t set = 0;
    long call;

    snprintf(name, sizeof name, "%s/wchan", thread);
    ssize_t got = read_at(arena->proc, name, text, sizeof text - 1);
    if (got <= 0 || !memmem(text, (size_t)got, "sigtimedwait", 12))
        return false;
    snprintf(name, sizeof name, "%s/syscall", thread);
    got = read_at(arena->proc, name, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    if (sscanf(text, "%ld %llx", &call, &set_at) != 2 || call != SYS_rt_sigtimedwait)
        return false;
    snprintf(name, sizeof name, "%s/mem", thread);
    int memory = openat(arena->proc, name, O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return false;
    bool read = pread(memory, &set, sizeof set, (off_t)set_at) == sizeof set;
    close(memory);
    return read && (set & AK_SIGNAL_BIT(signal));
}

/* Whether a signalfd of the process has the signal. */
static bool has_signalfd(struct ck_arena *arena, pid_t pid, int signal) {
    char name[80], text[512];
    uint64_t mask;
    bool takes = false;
    int seen = 0;

    snprintf(name, sizeof name, "%d/fd", (int)pid);
    DIR *files = ck_open_folder(arena->proc, name);
    if (!files)
        return false;
    for (struct dirent *entry; !takes && seen++ < MAX_FILES && (entry = readdir(files));) {
        ssize_t got = readlinkat(dirfd(files), entry->d_name, text, sizeof text);
        if (got != 21 || memcmp(text, "anon_inode:[signalfd]", 21) != 0)
            continue;
        snprintf(name, sizeof name, "%d/fdinfo/%.20s", (int)pid, entry->d_name);
        got = read_at(arena->proc, name, text, sizeof text);
        takes =
            got > 0 && ak_parse_hex(text, (size_t)got, "sigmask", &mask) && (mask & AK_SIGNAL_BIT(signal));
    }
    closedir(files);
    return takes;
}

/* Trap: the kernel gives a signal to any thread that does not block it, and without a handler that thread
 * ends the process. So the mask of one thread proves nothing: every thread has to block the signal or be in
 * sigwait for it, and one of the masks has to be the program's own (see AK_LIBC_SIGNALS). */
static enum ck_disposition disposition_of_threads(struct ck_arena *arena, pid_t pid, int signal) {
    char name[80];
    bool waits = false, blocks = false, dies = false;
    int seen = 0;

    snprintf(name, sizeof name, "%d/task", (int)pid);
    DIR *threads = ck_open_folder(arena->proc, name);
    if (!threads)
        return CK_SIG_DEFAULT;
    for (struct dirent *entry; !dies && (entry = readdir(threads));) {
        struct ak_proc_status status;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%d/task/%.20s/status", (int)pid, entry->d_name);
        bool read = parse_status(arena, name, &status);
        *strrchr(name, '/') = '\0';
        if (++seen > MAX_THREADS || !read)
            dies = true;
        else if (status.blocked & AK_SIGNAL_BIT(signal))
            blocks |= (status.blocked & AK_LIBC_SIGNALS) == 0;
        else if (in_sigwait(arena, name, signal))
            waits = true;
        else
            dies = true;
    }
    closedir(threads);
    if (dies || !(waits || blocks))
        return CK_SIG_DEFAULT;
    return waits || has_signalfd(arena, pid, signal) ? CK_SIG_WAITED : CK_SIG_BLOCKED;
}

/* The last part of the program's path; "" where it cannot be read. */
static const char *read_exe(struct ck_snapshot *snapshot, pid_t pid) {
    static const char deleted[] = " (deleted)";
    char name[32], *path = snapshot->arena->scratch;

    snprintf(name, sizeof name, "%d/exe", (int)pid);
    ssize_t got = readlinkat(snapshot->arena->proc, name, path, 4096);
    if (got <= 0)
        return "";
    size_t size = (size_t)got, tail = sizeof deleted - 1;
    if (size > tail && memcmp(path + size - tail, deleted, tail) == 0)
        size -= tail;
    const char *slash = memrchr(path, '/', size), *base = slash ? slash + 1 : path;
    return keep_text(snapshot, base, size - (size_t)(base - path));
}

/* Reads the other files of a process that may take the signal. */
static void read_more(struct ck_snapshot *snapshot, int signal, struct ck_process *process) {
    struct ck_arena *arena = snapshot->arena;
    struct ak_proc_status status;
    char name[32];

    snprintf(name, sizeof name, "%d/status", (int)process->pid);
    if (!parse_status(arena, name, &status)) {
        process->disposition = CK_SIG_DEFAULT;
        return;
    }
    process->uid = status.uid;
    process->caught = status.caught;
    if (status.caught & AK_SIGNAL_BIT(signal))
        process->disposition = CK_SIG_CAUGHT;
    else if (status.ignored & AK_SIGNAL_BIT(signal))
        process->disposition = CK_SIG_IGNORED;
    else
        process->disposition = disposition_of_threads(arena, process->pid, signal);
    if (process->disposition == CK_SIG_DEFAULT || process->disposition == CK_SIG_IGNORED)
        return;
    process->exe = read_exe(snapshot, process->pid);
    if (!ck_needs_argv(process->exe))
        return;
    snprintf(name, sizeof name, "%d/cmdline", (int)process->pid);
    ssize_t got = read_at(arena->proc, name, arena->scratch, MAX_ARGV);
    if (got > 0) {
        process->argv = keep_text(snapshot, arena->scratch, (size_t)got);
        process->argv_size = *process->argv ? (size_t)got : 0;
    }
}

bool ck_read_stat(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process) {
    struct ak_proc_stat stat;

    if (!parse_stat(snapshot->arena, pid, &stat) || stat.pid != pid)
        return false;
    *process = (struct ck_process){
        .pid = pid,
        .ppid = stat.ppid,
        .parent = CK_NO_PARENT,
        .start = stat.start,
        .uid = (uid_t)-1,
        .state = stat.state,
        .terminal = stat.terminal,
        .disposition = CK_SIG_DEFAULT,
        .comm = keep_text(snapshot, stat.comm, strlen(stat.comm)),
        .exe = "",
        .argv = "",
    };
    if (stat.state == 'Z' || stat.state == 'X')
        return true;
    if (signal < 32 && (stat.ignored & AK_SIGNAL_BIT(signal)))
        process->disposition = CK_SIG_IGNORED;
    else if (signal > 31 || ((stat.caught | stat.blocked) & AK_SIGNAL_BIT(signal)))
        process->disposition = CK_SIG_UNREAD;
    else if (stat.state == 'S')
        process->disposition = CK_SIG_UNREAD_SLEEPS;
    return true;
}

void ck_read_rest(struct ck_snapshot *snapshot, int signal, struct ck_process *process) {
    char thread[32];

    snprintf(thread, sizeof thread, "%d", (int)process->pid);
    if (process->disposition == CK_SIG_UNREAD_SLEEPS)
        process->disposition = in_sigwait(snapshot->arena, thread, signal) ? CK_SIG_UNREAD : CK_SIG_DEFAULT;
    if (process->disposition == CK_SIG_UNREAD)
        read_more(snapshot, signal, process);
}

bool ck_process_read(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process) {
    if (!ck_read_stat(snapshot, pid, signal, process))
        return false;
    ck_read_rest(snapshot, signal, process);
    return true;
}

bool ck_arena_open(struct ck_snapshot *snapshot) {
    snapshot->arena = calloc(1, sizeof *snapshot->arena);
    if (!snapshot->arena)
        return false;
    snapshot->arena->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return snapshot->arena->proc >= 0;
}

int ck_arena_proc(const struct ck_snapshot *snapshot) {
    return snapshot->arena->proc;
}

void ck_arena_close(struct ck_arena *arena) {
    if (!arena)
        return;
    if (arena->proc >= 0)
        close(arena->proc);
    for (struct piece *piece = arena->last, *before; piece; piece = before) {
        before = piece->before;
        free(piece);
    }
    free(arena);
}
