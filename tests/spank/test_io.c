/* How often tasks wait for files: the texts of /proc, what is added up, the file of the sums, and the word.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"
#include "io/files.h"
#include "io/proc_texts.h"
#include "io/site.h"
#include "io/sums.h"
#include "io/word.h"

#define REST " 0x1 0x2 0x3 0x4 0x5 0x7ffd 0x7f00\n"

static void system_calls(void) {
    static const struct {
        const char *text;
        enum io_state state;
        long call;
        uint64_t first;
        const char *why;
    } table[] = {
        {"running\n", IO_RUNS, -1, 0, "it runs"},
        {"running", IO_RUNS, -1, 0, "without its newline"},
        {"-1 0x7ffd 0x7f00\n", IO_OUTSIDE, -1, 0, "a page is read"},
        {"0 0x3" REST, IO_CALLS, 0, 3, "a system call"},
        {"257 0xffffffffffffff9c" REST, IO_CALLS, 257, UINT64_C(0xffffffffffffff9c), "AT_FDCWD"},
        {"0 0x3 0x1 0x2", IO_UNKNOWN, -1, 3, "cut"},
        {"0 0x3 0x1 0x2 0x3 0x4 0x", IO_UNKNOWN, -1, 3, "cut within a number"},
        {"0 3 1 2 3 4 5 6 7\n", IO_UNKNOWN, -1, 0, "not hexadecimal"},
        {"0 0x10000000000000000" REST, IO_UNKNOWN, -1, 0, "longer than a register"},
        {"99999999999999999999 0x3" REST, IO_UNKNOWN, -1, 0, "a number that is too large"},
        {"runn", IO_UNKNOWN, -1, 0, "cut"},
        {"-", IO_UNKNOWN, -1, 0, "cut"},
        {"12", IO_UNKNOWN, -1, 0, "cut"},
        {"", IO_UNKNOWN, -1, 0, "nothing"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct io_thread got;
        io_parse_syscall(table[i].text, strlen(table[i].text), &got);
        CASE(got.state == table[i].state && got.call == table[i].call && got.argument[0] == table[i].first,
             "%s: %d %ld 0x%" PRIx64, table[i].why, got.state, got.call, got.argument[0]);
    }
}

static void what_a_call_waits_for(void) {
    static const struct {
        long call;
        uint64_t first, second;
        enum io_waits what;
        int file;
        const char *why;
    } table[] = {
        {SYS_read, 3, 9, IO_READ, 3, "a descriptor"},
        {SYS_pread64, 7, 9, IO_READ, 7, "a descriptor"},
        {SYS_sendfile, 4, 5, IO_READ, 5, "from the second"},
        {SYS_getdents64, 3, 0, IO_READ, 3, "a folder"},
        {SYS_openat, UINT64_C(0xffffffffffffff9c), 0, IO_NAMED, -1, "AT_FDCWD"},
        {SYS_openat, UINT64_C(0xffffff9c), 0, IO_NAMED, -1, "AT_FDCWD, as some programs pass it"},
        {SYS_openat, 5, 0, IO_NAMED, 5, "below a descriptor"},
        {SYS_statx, 5, 0, IO_NAMED, 5, "below a descriptor"},
        {SYS_execve, 5, 0, IO_NAMED, -1, "a path only"},
        {SYS_io_getevents, 5, 0, IO_FILE, -1, "asynchronous reads"},
        {SYS_read, UINT64_C(0xffffffff), 0, IO_READ, -1, "no descriptor"},
        {SYS_futex, 3, 0, IO_ELSE, -1, "a lock"},
        {SYS_write, 3, 0, IO_ELSE, -1, "writing"},
        {SYS_ppoll, 3, 0, IO_ELSE, -1, "whatever comes first"},
        {SYS_ioctl, 3, 0, IO_ELSE, -1, "a device"},
        {-7, 3, 0, IO_ELSE, -1, "no call"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t argument[6] = {table[i].first, table[i].second};
        struct io_wait got = io_wait_of(table[i].call, argument);
        CASE(got.what == table[i].what && got.file == table[i].file, "%ld, %s: %d %d", table[i].call,
             table[i].why, got.what, got.file);
    }
    CASE(io_is_pipe("anon_pipe_read", 14) && io_is_pipe("pipe_wait_readable", 18) &&
             io_is_pipe("fifo_open", 9),
         "pipes");
    CASE(!io_is_pipe("folio_wait_bit", 14) && !io_is_pipe("0", 1) && !io_is_pipe("", 0), "not pipes");
}

#define MOUNTS                                                                                               \
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"                                                \
    "31 22 0:28 / /home rw,nosuid shared:8 master:2 - nfs4 server:/home rw,vers=4.2\n"                       \
    "33 22 0:30 /a\\040b /mnt/My\\040Data rw - fuse.slowfs slowfs rw\n"                                      \
    "34 22 0:31 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n"                                                   \
    "35 22 0:32 / /dev/pts rw shared:3 - devpts devpts rw\n"                                                 \
    "36 22 0:33 / /a/very/long/path/of/a/mount/of/a/file/system rw - lustre 10.0.0.1@tcp:/scratch rw\n"      \
    "37 22 0:34 / /odd rw shared:4 master:1\n"                                                               \
    "38 22 0:35 / /cut rw - ext4"

static void mounts(void) {
    static const struct {
        int64_t id;
        const char *name, *why;
    } table[] = {
        {22, "ext4", "the root"},
        {31, "nfs4-home", "a server's"},
        {33, "fuse.slowfs-mnt-my-040data", "a name that is not plain"},
        {34, NULL, "in memory"},
        {35, NULL, "terminals"},
        {36, "lustre-a-very-long-path-of-a-mount-of-a-", "a long name is cut"},
        {37, NULL, "a line without a type"},
        {38, NULL, "the last line is cut"},
        {2, NULL, "there is none"},
        {-1, NULL, "a pipe or a socket has none"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char name[IO_NAME] = "";
        bool found = io_find_mount(MOUNTS, strlen(MOUNTS), table[i].id, name);
        CASE(found == (table[i].name != NULL) && (!found || strcmp(name, table[i].name) == 0), "%s: %s",
             table[i].why, name);
    }
    CASE(io_parse_mount_id("pos:\t0\nflags:\t02\nmnt_id:\t31\nino:\t4\n", 36) == 31, "a descriptor's");
    CASE(io_parse_mount_id("pos:\t0\nflags:\t02\n", 17) == -1, "none");
    CASE(io_parse_mount_id("mnt_id:\t-3\n", 11) == -1 && io_parse_mount_id("mnt_id:\t", 8) == -1, "odd ones");
}

static void cpus(void) {
    static const struct {
        const char *text;
        uint32_t count;
        const char *why;
    } table[] = {
        {"Name:\ta\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", 8, "eight"},
        {"Cpus_allowed:\tffffffff,00000003\n", 34, "two words"},
        {"Cpus_allowed:\t0\n", 0, "none"},
        {"Cpus_allowed:\tff", 0, "cut"},
        {"Cpus_allowed:\tfx\n", 0, "not a number"},
        {"Name:\tCpus_allowed:\tff\n", 0, "a program's name"},
        {"", 0, "nothing"},
    };
    uint32_t count;
    uint64_t one, two;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool known = io_parse_cpus(table[i].text, strlen(table[i].text), &count, &one);
        CASE(known == (table[i].count > 0) && (!known || count == table[i].count), "%s: %" PRIu32,
             table[i].why, count);
    }
    io_parse_cpus("Cpus_allowed:\t3\n", 16, &count, &one);
    io_parse_cpus("Cpus_allowed:\tc\n", 16, &count, &two);
    CASE(one != two, "two CPUs each, but others");
}

static void adding_up(void) {
    static const struct {
        struct io_task task[2];
        size_t count;
        bool idle;
        uint64_t n, wait, only, full;
        const char *why;
    } table[] = {
        {{{true, 0, 4, 2, 1}}, 1, true, 1, 1, 1, 0, "all wait for files"},
        {{{true, 1, 3, 2, 1}}, 1, true, 1, 1, 0, 0, "one runs meanwhile"},
        {{{true, 2, 0, 2, 1}}, 1, true, 1, 0, 0, 1, "as many run as there are CPUs"},
        {{{true, 3, 1, 2, 1}}, 1, true, 1, 1, 0, 1, "and one waits for files"},
        {{{true, 0, 0, 2, 1}}, 1, true, 1, 0, 0, 0, "it waits for something else"},
        {{{true, 0, 0, 2, 1}}, 1, false, 0, 0, 0, 0, "the batch step, while others work"},
        {{{true, 0, 1, 2, 1}}, 1, false, 1, 1, 1, 0, "the batch step works too"},
        {{{false, 0, 0, 2, 1}}, 1, true, 0, 0, 0, 0, "it has ended"},
        {{{true, 9, 0, 0, 0}}, 1, true, 1, 0, 0, 0, "its CPUs are not known"},
        {{{true, 2, 0, 4, 1}, {true, 2, 0, 4, 1}}, 2, true, 2, 0, 0, 2, "two tasks share four CPUs"},
        {{{true, 2, 0, 4, 1}, {true, 2, 0, 4, 2}}, 2, true, 2, 0, 0, 0, "two tasks have four CPUs each"},
        {{{true, 0, 1, 4, 1}, {true, 2, 0, 4, 1}}, 2, true, 2, 1, 1, 0, "one waits, the other computes"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct io_sums sums = {0};
        io_sums_add(&sums, 1000, table[i].task, table[i].count, table[i].idle);
        CASE(sums.n == table[i].n && sums.wait == table[i].wait && sums.only == table[i].only &&
                 sums.full == table[i].full && sums.at == (sums.n ? 1000 : 0),
             "%s: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, table[i].why, sums.n, sums.wait, sums.only,
             sums.full);
    }
}

static struct io_sums some_sums(void) {
    struct io_sums sums = {.at = 1010, .to = 1600, .n = 120, .wait = 100, .only = 90, .full = 3};
    io_sums_name(&sums, "ext4", 5);
    io_sums_name(&sums, "nfs4-home", 70);
    io_sums_name(&sums, "", 200);
    return sums;
}

static void together(void) {
    struct io_sums all = {.at = 2000, .to = 3000, .n = 10}, more = some_sums(), none = {0}, back;
    int64_t run;
    char text[2048];
    io_sums_merge(&all, &more);
    io_sums_merge(&all, &none);
    CASE(all.at == 1010 && all.to == 3000 && all.n == 130 && all.wait == 100 && all.only == 90 &&
             all.full == 3,
         "two steps");
    CASE(strcmp(io_sums_most(&all), "nfs4-home") == 0 && *io_sums_most(&none) == '\0', "the most");
    for (int i = 0; i < 2 * IO_SYSTEMS; i++) {
        char name[IO_NAME];
        snprintf(name, sizeof name, "xfs-%d", i);
        io_sums_name(&all, name, 1);
    }
    CASE(strcmp(io_sums_most(&all), "nfs4-home") == 0, "more than are told apart");
    CASE(io_sums_print(text, sizeof text, 900, &all) && io_sums_parse(text, &run, &back) && run == 900 &&
             memcmp(&all, &back, sizeof all) == 0,
         "as text, and back: %s", text);
    for (size_t size = 0; size < strlen(text); size++) {
        char cut[2048];
        memcpy(cut, text, size);
        cut[size] = '\0';
        CASE(size + 1 >= strlen(text) || !io_sums_parse(cut, &run, &back), "cut at %zu", size);
        CASE(!io_sums_print(cut, size, 900, &all), "no room: %zu", size);
    }
    CASE(!io_sums_parse("adminkit-io 1 9 1 2 5 6 0 0\nend\n", &run, &back), "more waits than samples");
}

#define WORD "io1:at=1010,to=1600,node=0,n=120,wait=100,only=90,full=3,fs=nfs4-home"

static void words(void) {
    static const struct {
        const char *comment, *before, *after, *why;
    } table[] = {
        {"", "", "", "the first"},
        {NULL, "", "", "no comment"},
        {"mine", "mine ", "", "beside another's"},
        {"io1:at=1005,to=1010,node=0,n=9,wait=0,only=0,full=0", "", "", "this node's goes"},
        {"a io1:at=1005,to=1010,node=1,n=9,wait=0,only=0,full=0 b",
         "a io1:at=1005,to=1010,node=1,n=9,wait=0,only=0,full=0 b ", "", "another node's stays"},
        {"io1:at=10,to=99,node=7,n=9,wait=0,only=0,full=0  x", "  x ", "", "an earlier run's goes"},
        {"gu1:at=10,to=99,node=0,gpus=1", "gu1:at=10,to=99,node=0,gpus=1 ", "", "another word"},
    };
    struct io_sums sums = some_sums(), none = {0};
    char out[1025], expected[2048], full[1025];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        snprintf(expected, sizeof expected, "%s%s%s", table[i].before, WORD, table[i].after);
        CASE(io_word_put(out, sizeof out, table[i].comment, 0, 1000, &sums) && strcmp(out, expected) == 0,
             "%s: %s", table[i].why, out);
    }
    CASE(!io_word_put(out, sizeof out, "a", 0, 1000, &none) && *out == '\0', "nothing was seen");
    memset(full, 'x', 800);
    full[800] = '\0';
    CASE(!io_word_put(out, sizeof out, full, 0, 1000, &sums) && *out == '\0', "others have the room");
    memset(sums.system, 0, sizeof sums.system);
    CASE(io_word_put(out, sizeof out, "", 0, 1000, &sums) && !strstr(out, "fs="), "no name is known: %s",
         out);
    sums =
        (struct io_sums){9999999999, 9999999999, 9999999999, 9999999999, 9999999999, 9999999999, {{{0}, 0}}};
    char longest[IO_NAME];
    memset(longest, 'a', sizeof longest);
    longest[IO_NAME - 1] = '\0';
    io_sums_name(&sums, longest, 1);
    CASE(io_word_put(out, sizeof out, "", 99999, 1000, &sums) && strlen(out) == 147, "the longest: %zu",
         strlen(out));
}

static void options(void) {
    static const struct {
        const char *word;
        bool fits;
    } table[] = {
        {"period=5", true},   {"period=0", false},  {"period=301", false}, {"period=", false},
        {"period=3x", false}, {"report=600", true}, {"report=1", false},   {"state=/run/a", true},
        {"state=a", false},   {"else=1", false},    {"", false},           {"period", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct io_site site;
        char why[160] = "", *words[] = {(char *)table[i].word};
        CASE(io_site_read(&site, 1, words, why, sizeof why) == table[i].fits, "%s: %s", table[i].word, why);
    }
}

static void the_folder(const char *folder) {
    char state[200];
    struct io_sums more = some_sums(), all;
    snprintf(state, sizeof state, "%s/run/state", folder);
    int batch = io_files_open(state, 7), step = io_files_open(state, 7), other = io_files_open(state, 8);
    CASE(batch >= 0 && step >= 0 && other >= 0, "the folder is made");
    io_files_hold(other);
    CASE(io_files_alone(batch), "another job's step");
    io_files_hold(step);
    CASE(!io_files_alone(batch), "a step runs");
    close(step);
    CASE(io_files_alone(batch), "it has ended");
    CASE(io_files_add(state, 7, batch, 900, &more, &all) == 0 && all.n == 120, "the first step");
    CASE(io_files_add(state, 7, batch, 900, &more, &all) == 0 && all.n == 240, "the second");
    CASE(io_files_add(state, 8, other, 900, &more, &all) == 0 && all.n == 120, "of another job");
    CASE(io_files_add(state, 7, batch, 950, &more, &all) == 0 && all.n == 120, "of the next run");
    CASE(io_files_since_report(state, 7) < 5 && io_files_since_report(state, 9) == 0,
         "just now, and not known");
    chmod(state, 0755);
    CASE(io_files_open(state, 7) == -1, "others may look into it: EPERM");
    close(batch);
    close(other);
}

int main(void) {
    char folder[] = "/tmp/adminkit-io.XXXXXX", line[300];
    CASE(mkdtemp(folder) != NULL, "a folder");
    system_calls();
    what_a_call_waits_for();
    mounts();
    cpus();
    adding_up();
    together();
    words();
    options();
    the_folder(folder);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CASE(system(line) == 0, "gone");
    return DONE();
}
