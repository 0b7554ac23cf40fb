/* A step in cgroups v1 and v2: its processes, and whether it is frozen. First in folders like those that
 * Slurm and the kernel make; then in the kernel's own v2, where it can be written to, which needs none of its
 * controllers. */
#include "common/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ckpt/signal_send.h"
#include "common/suspended.h"
#include "fake_spank.h"

static char place[64] = "/tmp/ck-cgroup-XXXXXX";

/* False: errno. */
static bool put(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return done;
}

static void make(const char *below) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", place, below);
    CASE(mkdir(path, 0700) == 0, "%s: %s", path, strerror(errno));
}

static const struct {
    const char *why, *file, *text;
    bool suspended;
} SIGNS[] = {
    {"v1 runs", "freezer.state", "THAWED\n", false},
    {"v1 freezes", "freezer.state", "FREEZING\n", true},
    {"v1 is frozen", "freezer.state", "FROZEN\n", true},
    {"v2 runs", "user/cgroup.events", "populated 1\nfrozen 0\n", false},
    {"v2: Slurm freezes the user's part", "user/cgroup.events", "populated 1\nfrozen 1\n", true},
    {"v2: somebody froze all of it", "cgroup.events", "populated 1\nfrozen 1\n", true},
};

static void signs(void) {
    char step[256], path[512];
    snprintf(step, sizeof step, "%s/step_0", place);
    CASE(!ak_step_suspended(getpid(), NULL) && !ak_step_suspended(getpid(), step), "no such folder");
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++) {
        CASE(put(step, SIGNS[i].file, SIGNS[i].text), "%s", strerror(errno));
        CASE(ak_step_suspended(getpid(), step) == SIGNS[i].suspended, "%s", SIGNS[i].why);
        snprintf(path, sizeof path, "%s/%s", step, SIGNS[i].file);
        unlink(path);
    }
}

/* As 23.11 lays it out: slurmstepd in slurm, each task in a folder of its own, and one that the user made. */
static void processes(void) {
    char step[256];
    pid_t *pids;
    bool more;
    snprintf(step, sizeof step, "%s/step_0", place);
    CASE(put(step, "cgroup.procs", ""), "the step's own");
    CASE(put(step, "slurm/cgroup.procs", "100\n"), "slurmstepd");
    CASE(put(step, "user/task_0/cgroup.procs", "4194303\n0\n201\n"), "one outside of the pid namespace");
    CASE(put(step, "user/task_0/mine/cgroup.procs", "301\n302\n"), "below");
    ssize_t count = ak_cgroup_pids(step, 100, &pids, &more);
    long sum = 0;
    for (ssize_t i = 0; i < count; i++)
        sum += pids[i];
    CASE(count == 5 && !more && sum == 100 + 4194303 + 201 + 301 + 302, "%zd, %ld", count, sum);
    free(pids);
    CASE(ak_cgroup_pids(step, 2, &pids, &more) == 2 && more, "as many as are wanted");
    free(pids);
    snprintf(step, sizeof step, "%s/step_1", place);
    CASE(ak_cgroup_pids(step, 100, &pids, &more) == -1 && errno == ENOENT, "no such step");
    free(pids);
}

/* Where version 2 is mounted, "" where it is not. */
static void find_v2(char *point, size_t size) {
    char line[1024];
    FILE *mounts = fopen("/proc/self/mountinfo", "r");
    *point = '\0';
    while (mounts && !*point && fgets(line, sizeof line, mounts))
        ak_parse_mount(line, strcspn(line, "\n"), "", "/", point, size);
    if (mounts)
        fclose(mounts);
}

/* Neither this process nor the kernel's others are in a cgroup that Slurm made. */
static void no_step(void) {
    char folder[512] = "x";
    CASE(!ak_step_cgroup(getpid(), folder, sizeof folder) && *folder == '\0',
         "%s is not this process's own step", folder);
}

static bool wait_for(pid_t task, const char *step, bool suspended) {
    for (int i = 0; i < 2000 && ak_step_suspended(task, step) != suspended; i++)
        usleep(1000);
    return ak_step_suspended(task, step) == suspended;
}

/* A task in .../job_1/step_0/user/task_0 is found, frozen, thawed and signalled. */
static void the_kernel(const char *top) {
    static const char *const LEVELS[] = {"", "/job_1", "/job_1/step_0", "/job_1/step_0/user",
                                         "/job_1/step_0/user/task_0"};
    enum { ALL = sizeof LEVELS / sizeof *LEVELS };
    char path[ALL][512], pid[16], step[512];
    for (size_t i = 0; i < ALL; i++) {
        snprintf(path[i], sizeof path[i], "%s%s", top, LEVELS[i]);
        CASE(mkdir(path[i], 0755) == 0, "%s: %s", path[i], strerror(errno));
    }
    pid_t task = fake_child(SIGTERM, 85);
    snprintf(pid, sizeof pid, "%d", (int)task);
    CASE(put(path[0], "cgroup.procs", pid), "%s", strerror(errno));
    CASE(!ak_step_cgroup(task, step, sizeof step) && strncmp(step, "0::/", 4) == 0 &&
             strstr(step, "adminkit-test-"),
         "a cgroup of its own whose name is not Slurm's is %s", step);
    CASE(put(path[4], "cgroup.procs", pid), "%s", strerror(errno));
    CASE(ak_step_cgroup(task, step, sizeof step) && strcmp(step, path[2]) == 0, "%s is not %s", step,
         path[2]);
    CASE(!ak_step_suspended(task, step), "it runs");
    CASE(put(path[3], "cgroup.freeze", "1") && wait_for(task, step, true), "it is frozen");
    CASE(put(path[3], "cgroup.freeze", "0") && wait_for(task, step, false), "it goes on");

    struct ck_scope scope = {.uid = getuid(), .signal = SIGTERM, .cgroup = step, .stepd = getpid()};
    struct ck_delivery delivery;
    int status = 0;
    CASE(ck_signal_send(&scope, &delivery) == 0 && delivery.seen == 1 && delivery.sent == 1,
         "%zu seen, %zu signalled", delivery.seen, delivery.sent);
    ck_delivery_free(&delivery);
    kill(task, delivery.sent ? 0 : SIGKILL);
    CASE(waitpid(task, &status, 0) == task && WIFEXITED(status) && WEXITSTATUS(status) == 85, "status %d",
         status);
    for (size_t i = ALL; i > 0; i--)
        CASE(rmdir(path[i - 1]) == 0, "%s: %s", path[i - 1], strerror(errno));
}

int main(void) {
    char point[256], top[300], command[128];
    if (!mkdtemp(place))
        return 1;
    static const char *const FOLDERS[] = {"step_0", "step_0/slurm", "step_0/user", "step_0/user/task_0",
                                          "step_0/user/task_0/mine"};
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++)
        make(FOLDERS[i]);
    signs();
    processes();
    no_step();
    find_v2(point, sizeof point);
    snprintf(top, sizeof top, "%sadminkit-test-%d", point, (int)getpid()); /* point ends with a slash */
    if (*point && mkdir(top, 0755) == 0 && rmdir(top) == 0)
        the_kernel(top);
    else
        printf("  the kernel's version 2 not run: %s\n", *point ? strerror(errno) : "it is not mounted");
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command) ? 1 : DONE();
}
