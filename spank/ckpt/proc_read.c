/* process.c - see process.h. */
#include "proc_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known_programs.h"

#define STATUS_ROOM 262144 /* its line of groups alone may have tens of thousands */
#define WORDS_ROOM 4096
#define TEXT_MOST (64u << 20)
#define THREADS_MOST 4096
#define FILES_MOST 16384

/* Texts are packed into a few large pieces; `scratch` is for the file that is being read. */
struct piece {
    struct piece *before;
    size_t used;
    char text[65536];
};

struct ck_arena {
    struct piece *last;
    size_t total;
    int proc; /* /proc */
    char scratch[STATUS_ROOM];
};

/* A copy with a NUL behind it; "" and partial where there is no room. */
static const char *keep_text(struct ck_snapshot *snapshot, const char *text, size_t size) {
    struct ck_arena *arena = snapshot->arena;
    struct piece *piece = arena->last;

    if (!piece || sizeof piece->text - piece->used <= size) {
        piece = arena->total < TEXT_MOST && size < sizeof piece->text ? malloc(sizeof *piece) : NULL;
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

/* The file's text, as much as fits: what the kernel makes up for one of these files it gives in one read. -1:
 * gone. */
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

static bool parse_stat(struct ck_arena *arena, pid_t pid, struct ck_stat *stat) {
    char name[32], text[1024];

    snprintf(name, sizeof name, "%d/stat", (int)pid);
    ssize_t got = read_at(arena->proc, name, text, sizeof text);
    return got > 0 && ck_parse_stat(text, (size_t)got, stat);
}

static bool parse_status(struct ck_arena *arena, const char *name, struct ck_status *status) {
    ssize_t got = read_at(arena->proc, name, arena->scratch, sizeof arena->scratch);
    return got > 0 && ck_parse_status(arena->scratch, (size_t)got, status);
}

/* While a thread is in sigwait the kernel takes the signals it waits for out of its mask, so that SigBlk does
 * not have them and the thread looks as if it would die. What it waits for is behind the first argument of
 * the call. `wchan` is asked first: unlike `syscall` it takes no lock that an exec in a dead file system
 * holds. Where a kernel hides it, a thread in sigwait is not found, and not signalled. */
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
    return read && (set & CK_BIT(signal));
}

/* A signalfd that has the signal, in any of the process' files. */
static bool has_signalfd(struct ck_arena *arena, pid_t pid, int signal) {
    char name[80], text[512];
    uint64_t mask;
    bool found = false;
    int seen = 0;

    snprintf(name, sizeof name, "%d/fd", (int)pid);
    DIR *files = ck_open_folder(arena->proc, name);
    if (!files)
        return false;
    for (struct dirent *entry; !found && seen++ < FILES_MOST && (entry = readdir(files));) {
        ssize_t got = readlinkat(dirfd(files), entry->d_name, text, sizeof text);
        if (got != 21 || memcmp(text, "anon_inode:[signalfd]", 21) != 0)
            continue;
        snprintf(name, sizeof name, "%d/fdinfo/%.20s", (int)pid, entry->d_name);
        got = read_at(arena->proc, name, text, sizeof text);
        found = got > 0 && ck_parse_hex(text, (size_t)got, "sigmask", &mask) && (mask & CK_BIT(signal));
    }
    closedir(files);
    return found;
}

/* A signal to a process goes to any thread that does not hold it back, and where there is no handler that
 * thread dies with all the others. So one thread's mask says nothing: every thread has to block the signal or
 * be in sigwait for it, and one of the masks has to be the program's own (see CK_LIBRARY). */
static enum ck_ear ear_of_threads(struct ck_arena *arena, pid_t pid, int signal) {
    char name[80];
    bool waits = false, blocks = false, dies = false;
    int seen = 0;

    snprintf(name, sizeof name, "%d/task", (int)pid);
    DIR *threads = ck_open_folder(arena->proc, name);
    if (!threads)
        return CK_EAR_DIES;
    for (struct dirent *entry; !dies && (entry = readdir(threads));) {
        struct ck_status status;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%d/task/%.20s/status", (int)pid, entry->d_name);
        bool read = parse_status(arena, name, &status);
        *strrchr(name, '/') = '\0';
        if (++seen > THREADS_MOST || !read)
            dies = true;
        else if (status.blocked & CK_BIT(signal))
            blocks |= (status.blocked & CK_LIBRARY) == 0;
        else if (in_sigwait(arena, name, signal))
            waits = true;
        else
            dies = true;
    }
    closedir(threads);
    if (dies || !(waits || blocks))
        return CK_EAR_DIES;
    return waits || has_signalfd(arena, pid, signal) ? CK_EAR_WAITS : CK_EAR_BLOCKS;
}

/* The last part of the program's path. */
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

/* What is not in `stat`, for a process that may hear. */
static void read_more(struct ck_snapshot *snapshot, int signal, struct ck_process *process) {
    struct ck_arena *arena = snapshot->arena;
    struct ck_status status;
    char name[32];

    snprintf(name, sizeof name, "%d/status", (int)process->pid);
    if (!parse_status(arena, name, &status)) {
        process->ear = CK_EAR_DIES;
        return;
    }
    process->uid = status.uid;
    process->caught = status.caught;
    if (status.caught & CK_BIT(signal))
        process->ear = CK_EAR_CATCHES;
    else if (status.ignored & CK_BIT(signal))
        process->ear = CK_EAR_IGNORES;
    else
        process->ear = ear_of_threads(arena, process->pid, signal);
    if (process->ear == CK_EAR_DIES || process->ear == CK_EAR_IGNORES)
        return;
    process->exe = read_exe(snapshot, process->pid);
    if (!ck_needs_words(process->exe))
        return;
    snprintf(name, sizeof name, "%d/cmdline", (int)process->pid);
    ssize_t got = read_at(arena->proc, name, arena->scratch, WORDS_ROOM);
    if (got > 0) {
        process->argv = keep_text(snapshot, arena->scratch, (size_t)got);
        process->argv_size = *process->argv ? (size_t)got : 0;
    }
}

/* From `stat` alone, which has the sets of signals 1 to 31: most of those that die or ignore need no more. */
bool ck_read_little(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process) {
    struct ck_stat stat;

    if (!parse_stat(snapshot->arena, pid, &stat) || stat.pid != pid)
        return false;
    *process = (struct ck_process){
        .pid = pid,
        .parent = stat.parent,
        .up = CK_NOBODY,
        .start = stat.start,
        .uid = (uid_t)-1,
        .state = stat.state,
        .terminal = stat.terminal,
        .ear = CK_EAR_DIES,
        .comm = keep_text(snapshot, stat.comm, strlen(stat.comm)),
        .exe = "",
        .argv = "",
    };
    if (stat.state == 'Z' || stat.state == 'X')
        return true;
    if (signal < 32 && (stat.ignored & CK_BIT(signal)))
        process->ear = CK_EAR_IGNORES;
    else if (signal > 31 || ((stat.caught | stat.blocked) & CK_BIT(signal)))
        process->ear = CK_EAR_UNREAD;
    else if (stat.state == 'S')
        process->ear = CK_EAR_SLEEPS;
    return true;
}

void ck_read_rest(struct ck_snapshot *snapshot, int signal, struct ck_process *process) {
    char thread[32];

    snprintf(thread, sizeof thread, "%d", (int)process->pid);
    if (process->ear == CK_EAR_SLEEPS)
        process->ear = in_sigwait(snapshot->arena, thread, signal) ? CK_EAR_UNREAD : CK_EAR_DIES;
    if (process->ear == CK_EAR_UNREAD)
        read_more(snapshot, signal, process);
}

bool ck_process_read(struct ck_snapshot *snapshot, pid_t pid, int signal, struct ck_process *process) {
    if (!ck_read_little(snapshot, pid, signal, process))
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
