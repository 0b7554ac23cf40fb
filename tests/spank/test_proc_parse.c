/* test_proc_parse.c - texts of /proc as they are, and as a program can make them. */
#include <string.h>

#include "cases.h"
#include "common/proc_parse.h"

#define REST                                                                                                 \
    " 7 7 34816 7 4194304 90 0 0 0 1 2 0 0 20 0 1 0 987654 1 2 18446744073709551615 1 1 0 0 0 0 4 4096 "     \
    "16386 "                                                                                                 \
    "0 0 0 17\n"

static const struct {
    const char *text, *comm, *why;
    char state;
    pid_t pid, parent;
} stats[] = {
    {"42 (python3) S 7" REST, "python3", "an ordinary one", 'S', 42, 7},
    {"42 (a) b (c)) R 7" REST, "a) b (c)", "comm has parentheses", 'R', 42, 7},
    {"42 () S 7" REST, "", "comm is empty", 'S', 42, 7},
    {"42 (x) Z 1 1) S 7" REST, "x) Z 1 1", "comm plays the rest of the line", 'S', 42, 7},
    {"42 (a\nb c\t) D 7" REST, "a?b c?", "comm has a newline and a tab", 'D', 42, 7},
    {"42 (\xc3\xa9t\x1b[2J) S 7" REST, "??t?[2J", "bytes that a terminal would take for more than letters",
     'S', 42, 7},
    {"42 (kworker/u16:2-events_power_efficient_and_longer_than_the_room_for_it_is) I 2" REST,
     "kworker/u16:2-events_power_efficient_and_longer_than_the_room_f", "a name longer than its room", 'I',
     42, 2},
    {"", NULL, "nothing", 0, 0, 0},
    {"42 (x", NULL, "cut in comm", 0, 0, 0},
    {"42 (x) S 7 7 7 34816 7", NULL, "cut before the sets", 0, 0, 0},
    {"42 (x)S 7" REST, NULL, "no blank behind comm", 0, 0, 0},
    {") 42 (S 7" REST, NULL, "the wrong way round", 0, 0, 0},
    {"0 (x) S 7" REST, NULL, "no process has the pid 0", 0, 0, 0},
    {"99999999999999999999999 (x) S 7" REST, NULL, "a number too big", 0, 0, 0},
    {"x (x) S 7" REST, NULL, "no number", 0, 0, 0},
};

static void check_stats(void) {
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        struct ak_proc_stat stat;
        bool read = ak_parse_stat(stats[i].text, strlen(stats[i].text), &stat);
        CASE(read == (stats[i].comm != NULL), "%s", stats[i].why);
        if (!read || !stats[i].comm)
            continue;
        CASE(strcmp(stat.comm, stats[i].comm) == 0, "%s: '%s'", stats[i].why, stat.comm);
        CASE(stat.pid == stats[i].pid && stat.ppid == stats[i].parent && stat.state == stats[i].state, "%s",
             stats[i].why);
        CASE(stat.start == 987654 && stat.terminal, "%s: start %llu", stats[i].why,
             (unsigned long long)stat.start);
        CASE(stat.blocked == 4 && stat.ignored == 4096 && stat.caught == 16386, "%s: the sets", stats[i].why);
    }
}

static const struct {
    const char *text, *why;
    bool read;
    uid_t uid;
    uint64_t caught;
} statuses[] = {
    {"Name:\tx\nUid:\t1000\t1000\t1000\t1000\nSigBlk:\t0000000000000000\nSigIgn:\t0\nSigCgt:"
     "\t0000000180004002\n",
     "an ordinary one", true, 1000, 0x180004002},
    {"Uid:\t1000\t0\t0\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t1\n", "a program of root's that a user started",
     true, (uid_t)-1, 1},
    {"Uid:\t4294967294\t4294967294\t4294967294\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\tfffffffd7fc1feff\n",
     "Go and nobody", true, 4294967294u, UINT64_C(0xfffffffd7fc1feff)},
    {"Name:\tSigCgt:\\nSigCgt:\tff\nUid:\t1\t1\t1\t1\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t2\n",
     "a name's newline is written as two letters, so it starts no line", true, 1, 2},
    {"Uid:\t1\t1\t1\t1\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t2", "cut in the last line", false, 0, 0},
    {"Uid:\t1\t1\t1\t1\nSigBlk:\t0\nSigIgn:\t0\n", "cut before the last line", false, 0, 0},
    {"Uid:\t1\t1\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t2\n", "two uids", false, 0, 0},
    {"Uid:\t1\t1\t1\t1\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t00000000000000002\n", "too many digits", false, 0,
     0},
    {"Uid:\t1\t1\t1\t1\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t-2\n", "no number", false, 0, 0},
    {"", "nothing", false, 0, 0},
};

static void check_statuses(void) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct ak_proc_status status;
        bool read = ak_parse_status(statuses[i].text, strlen(statuses[i].text), &status);
        CASE(read == statuses[i].read, "%s", statuses[i].why);
        if (read && statuses[i].read)
            CASE(status.uid == statuses[i].uid && status.caught == statuses[i].caught, "%s", statuses[i].why);
    }
}

static const struct {
    const char *text, *kind, *path, *why;
} cgroups[] = {
    {"8:pids:/\n6:freezer:/slurm_n1/uid_1000/job_5/step_batch\n4:memory:/slurm_n1/uid_1000/job_5/step_batch/"
     "task_0\n0::/\n",
     "freezer", "/slurm_n1/uid_1000/job_5/step_batch", "v1"},
    {"4:memory:/slurm/uid_1/job_5/step_0/task_3\n6:cpuset:/slurm/uid_1/job_5/step_0\n", "memory",
     "/slurm/uid_1/job_5/step_0", "v1 without the freezer: what the tasks are kept in by others"},
    {"0::/system.slice/n1_slurmstepd.scope/job_5/step_0/user/task_0\n", "",
     "/system.slice/n1_slurmstepd.scope/job_5/step_0", "v2"},
    {"0::/system.slice/slurmstepd.scope/sAJZT2QSC2MT00/step_0/user/task_0\n", "",
     "/system.slice/slurmstepd.scope/sAJZT2QSC2MT00/step_0", "26.05 names jobs by SLUID"},
    {"0::/system.slice/n1_slurmstepd.scope/s0123456789ABC/step_batch/user/task_special\n", "",
     "/system.slice/n1_slurmstepd.scope/s0123456789ABC/step_batch", "the batch step, of one slurmd of many"},
    {"0::/system.slice/slurmstepd.scope/job_5/step_extern/user/task_special\n", "",
     "/system.slice/slurmstepd.scope/job_5/step_extern", "26.05 with CgroupJobIdPaths=yes, as before it"},
    {"0::/system.slice/node-a.example_slurmstepd.scope/job_5/step_0/user/task_0\n", "",
     "/system.slice/node-a.example_slurmstepd.scope/job_5/step_0", "a node's name with a dot and a dash"},
    {"0::/kubepods.slice/pod1/cri-1.scope/system.slice/slurmstepd.scope/sAJZT2QSC2MT00/step_1/user/task_0\n",
     "", "/kubepods.slice/pod1/cri-1.scope/system.slice/slurmstepd.scope/sAJZT2QSC2MT00/step_1",
     "slurmd in a container, seen from its host"},
    {"1:name=systemd:/init.scope\n0::/system.slice/slurmstepd.scope/job_5/step_interactive/user/task_0\n", "",
     "/system.slice/slurmstepd.scope/job_5/step_interactive", "v2, with systemd's tree of v1 beside it"},
    {"0::/s/sAJZT2QSC2MT00/step_0/user/task_0/s/sAJZT2QSC2MT01/step_1/user\n", "",
     "/s/sAJZT2QSC2MT00/step_0/user/task_0/s/sAJZT2QSC2MT01/step_1", "a Slurm in a job, by SLUID"},
    {"0::/s/sAJZT2QSC2MT0/step_0\n", NULL, NULL, "too short for a SLUID"},
    {"0::/s/sAJZT2QSC2MT000/step_0\n", NULL, NULL, "too long"},
    {"0::/s/sajzt2qsc2mt00/step_0\n", NULL, NULL, "small letters"},
    {"0::/s/xAJZT2QSC2MT00/step_0\n", NULL, NULL, "no s before it"},
    {"0::/s/sAJZT2QSC2MT00\n", NULL, NULL, "a job without a step"},
    {"0::/sAJZT2QSC2MT00/step_\n", NULL, NULL, "a step without a number"},
    {"0::/a/job_1/step_/user\n", NULL, NULL, "nor has this one any"},
    {"0::/a/job_1/step_0/user/task_0/slurm/job_77/step_batch/user/task_0\n", "",
     "/a/job_1/step_0/user/task_0/slurm/job_77/step_batch", "a Slurm in a job of another: the inner step"},
    {"0::/system.slice/slurmd.service\n", NULL, NULL,
     "proctrack/linuxproc: slurmd's own, which has every job's processes"},
    {"6:freezer:/slurm/uid_1/job_5\n", NULL, NULL, "a job is not a step"},
    {"6:freezer:/slurm/uid_1/job_5/step_\n", NULL, NULL, "a step without a name"},
    {"6:freezer:/slurm/uid_1/job_x/step_0\n", NULL, NULL, "a job without a number"},
    {"6:freezer:/slurm/uid_1/job_5/step_0", NULL, NULL, "cut"},
    {"freezer", NULL, NULL, "no such line"},
    {"", NULL, NULL, "nothing"},
};

static void check_cgroups(void) {
    for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
        char kind[64], path[256];
        bool read =
            ak_parse_cgroup(cgroups[i].text, strlen(cgroups[i].text), kind, sizeof kind, path, sizeof path);
        CASE(read == (cgroups[i].kind != NULL), "%s", cgroups[i].why);
        if (read && cgroups[i].kind)
            CASE(strcmp(kind, cgroups[i].kind) == 0 && strcmp(path, cgroups[i].path) == 0, "%s: %s %s",
                 cgroups[i].why, kind, path);
    }
    char small[8], kind[64];
    CASE(!ak_parse_cgroup("0::/a/job_1/step_0\n", 19, kind, sizeof kind, small, sizeof small),
         "no room for the path");
}

static const struct {
    const char *text, *other, *line, *why;
} aparts[] = {
    {"0::/a\n", "0::/a\n", NULL, "the same"},
    {"0::/slurmstepd.scope/t0001/s_1\n", "0::/slurmd.service\n", "0::/slurmstepd.scope/t0001/s_1",
     "a name of a later Slurm"},
    {"8:pids:/\n4:memory:/job\n0::/\n", "8:pids:/\n4:memory:/\n0::/\n", "4:memory:/job",
     "one controller of v1"},
    {"0::/a\n", "0::/ab\n", "0::/a", "the beginning of the other's"},
    {"0::/ab\n", "0::/a\n", "0::/ab", "the other's is its beginning"},
    {"0::/a\n", "", "0::/a", "the other's cannot be read"},
    {"0::/a\033[2J\n", "0::/a\n", "0::/a?[2J", "a byte that a terminal would obey"},
    {"0::/a", "0::/b\n", NULL, "cut"},
    {"", "0::/a\n", NULL, "the task has ended"},
};

static void check_aparts(void) {
    for (size_t i = 0; i < sizeof aparts / sizeof *aparts; i++) {
        char line[64];
        bool apart = ak_parse_apart(aparts[i].text, strlen(aparts[i].text), aparts[i].other,
                                    strlen(aparts[i].other), line, sizeof line);
        CASE(apart == (aparts[i].line != NULL), "%s", aparts[i].why);
        if (apart && aparts[i].line)
            CASE(strcmp(line, aparts[i].line) == 0, "%s: %s", aparts[i].why, line);
    }
}

static const struct {
    const char *line, *kind, *path, *folder, *why;
} mounts[] = {
    {"31 24 0:28 / /sys/fs/cgroup/freezer rw,relatime shared:8 - cgroup cgroup rw,freezer", "freezer",
     "/s/job_1/step_0", "/sys/fs/cgroup/freezer/s/job_1/step_0", "v1"},
    {"31 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct", "cpuacct", "/j",
     "/sys/fs/cgroup/cpu,cpuacct/j", "two controllers at one place"},
    {"31 24 0:28 / /sys/fs/cgroup/x rw - cgroup cgroup rw,name=freezer", "freezer", "/j", NULL,
     "a name is no controller"},
    {"31 24 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate", "", "/j",
     "/sys/fs/cgroup/j", "v2"},
    {"31 24 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "freezer", "/j", NULL,
     "v2 has no freezer's tree"},
    {"31 24 0:28 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "", "/docker/ab/job_1/step_0",
     "/sys/fs/cgroup/job_1/step_0", "slurmd in a container: the mount begins further down"},
    {"31 24 0:28 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "", "/docker/abc/job_1", NULL,
     "and is not that of a neighbour"},
    {"31 24 0:28 / /mnt/with\\040blank\\134 rw - cgroup2 cgroup2 rw", "", "/j", "/mnt/with blank\\/j",
     "as the kernel writes a blank"},
    {"31 24 0:28 / /sys", "", "/j", NULL, "cut"},
    {"", "", "/j", NULL, "nothing"},
};

static void check_mounts(void) {
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        char folder[256];
        bool read = ak_parse_mount(mounts[i].line, strlen(mounts[i].line), mounts[i].kind, mounts[i].path,
                                   folder, sizeof folder);
        CASE(read == (mounts[i].folder != NULL), "%s", mounts[i].why);
        if (read && mounts[i].folder)
            CASE(strcmp(folder, mounts[i].folder) == 0, "%s: %s", mounts[i].why, folder);
    }
}

static const struct {
    const char *text, *why;
    size_t size;
    uint64_t value; /* 0: nothing is read */
} variables[] = {
#define ENTRY(text, why, value)                                                                              \
    { text, why, sizeof text - 1, value }
    ENTRY("A=1\0END=1700000000\0B=2\0", "in the middle", 1700000000),
    ENTRY("END=7\0", "alone", 7),
    ENTRY("FRIEND=1\0END=7\0", "another that ends like it comes first", 7),
    ENTRY("END=7\0END=8\0", "twice: the first is what programs see", 7),
    ENTRY("END=70000", "cut", 0),
    ENTRY("END=\0", "empty", 0),
    ENTRY("END=-7\0", "negative", 0),
    ENTRY("END=7s\0", "no number", 0),
    ENTRY("END=7 \0END=8\0", "a blank behind it", 0),
    ENTRY("END=99999999999999999999\0", "a number too big", 0),
    ENTRY("ENDING=7\0", "a longer name", 0),
    ENTRY("EN\0", "a shorter one", 0),
    ENTRY("A=END=7\0", "a value that looks like it", 0),
    ENTRY("", "nothing", 0),
};

static void check_variables(void) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        uint64_t value = 0;
        bool read = ak_parse_variable(variables[i].text, variables[i].size, "END", &value);
        CASE(read == (variables[i].value != 0), "%s: %d", variables[i].why, read);
        CASE(!read || value == variables[i].value, "%s: %llu", variables[i].why, (unsigned long long)value);
    }
}

int main(void) {
    check_variables();
    check_stats();
    check_statuses();
    check_cgroups();
    check_aparts();
    check_mounts();
    return DONE();
}
