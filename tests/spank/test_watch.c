/* The watch: when it signals, whatever slurmctld does meanwhile. Each case is a watch of its own, all at the
 * same time, by a clock that runs SPEED times too fast; seconds are of that clock, since the start. A process
 * that is killed at the end has a handler for the signal. */
#include "ckpt/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "fake_spank.h"
#include "fast_clock.h"

#define LATE 15 /* seconds of the fast clock: three quarters of a real one, for a busy machine */

static const struct {
    const char *why;
    int end, lead, poll;
    int changes, to_end;       /* at that second slurmctld has another end */
    int dies, hangs;           /* from that second on it does not answer, or not in time */
    int pauses, resumes, over; /* the task stops, and goes on; the job is over */
    int signalled;             /* when; 0: never */
    int listens;               /* from that second on somebody hears; 0: always */
    int soft;                  /* the end in the task's environment; 0: there is none */
    int lives;                 /* from that second on slurmctld answers again */
    int moves, moves_to;       /* at that second it has yet another end */
    int extended;              /* what changes the end says that it is an extension */
    int before;                /* when an earlier signal was heard; 0: there was none */
} CASES[] = {
    {"at its time", 180, 60, 0, 0, 0, 0, 0, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0},
    {"a raised limit", 180, 60, 0, 100, 220, 0, 0, 0, 0, 0, 160, 0, 0, 0, 0, 0, 0, 0},
    {"a lowered limit", 900, 60, 10, 70, 200, 0, 0, 0, 0, 0, 140, 0, 0, 0, 0, 0, 0, 0},
    {"a grace that is shorter than the lead", 900, 60, 10, 80, 110, 0, 0, 0, 0, 0, 88, 0, 0, 0, 0, 0, 0, 0},
    {"slurmctld dies", 180, 60, 0, 0, 0, 80, 0, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0},
    {"slurmctld hangs", 180, 60, 0, 0, 0, 0, 80, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0},
    {"slurmctld was never there", 180, 60, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"suspended before the signal, resumed after its time", 180, 60, 0, 130, 220, 0, 0, 100, 130, 0, 160, 0,
     0, 0, 0, 0, 0, 0},
    {"suspended and slurmctld dies", 180, 60, 0, 0, 0, 105, 0, 100, 140, 0, 140, 0, 0, 0, 0, 0, 0, 0},
    {"the job is over", 180, 60, 10, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0},
    {"nobody heard, and the limit was raised after the signal", 120, 40, 0, 100, 190, 0, 0, 0, 0, 0, 150, 117,
     0, 0, 0, 0, 0, 0},
    {"a soft limit", 900, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 110, 0, 0, 0, 0, 0},
    {"slurmctld dies before it was asked, and a soft limit ends", 900, 60, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 110,
     0, 0, 0, 0, 0},
    {"slurmctld is back after the signal's time", 180, 60, 0, 0, 0, 1, 0, 0, 0, 0, 130, 0, 180, 130, 0, 0, 0,
     0},
    {"raised by an extension, and lowered before the next round of the settings", 180, 60, 0, 100, 900, 0, 0,
     0, 0, 0, 190, 0, 0, 0, 130, 250, 1, 0},
    {"lowered to its time", 180, 60, 0, 100, 900, 0, 0, 0, 0, 0, 165, 0, 0, 0, 110, 225, 1, 0},
    {"raised by hand: asked for in rounds", 180, 60, 0, 100, 900, 0, 0, 0, 0, 0, 0, 0, 0, 0, 130, 250, 0, 0},
    {"raised after the signal, which a process heard", 120, 40, 0, 100, 190, 0, 0, 0, 0, 0, 150, 0, 0, 0, 0,
     0, 0, 80},
    {"by less than the lead: as soon as it is known", 100, 30, 0, 90, 140, 0, 0, 0, 0, 0, 115, 0, 0, 0, 0, 0,
     0, 70},
};
#define COUNT (sizeof CASES / sizeof *CASES)

static int64_t began, signalled[COUNT], first[COUNT];
static unsigned calls[COUNT];

static bool fired(const struct ck_firing *firing, void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    if (CASES[i].listens && firing->delivery->sent == 0)
        return true;
    fake_lock();
    if (calls[i] == 0)
        first[i] = firing->at;
    signalled[i] = firing->at;
    calls[i]++;
    fake_unlock();
    CASE(firing->delivery->sent == 1, "%s: %zu heard it", CASES[i].why, firing->delivery->sent);
    return true;
}

/* What slurmctld and the operator do at that second. */
static void act(size_t i, int now, pid_t task) {
    struct fake_job *job = fake_job((uint32_t)i + 1);
    fake_lock();
    if (now == CASES[i].changes)
        job->end = began / 1000 + CASES[i].to_end;
    if (now == CASES[i].moves)
        job->end = began / 1000 + CASES[i].moves_to;
    if (now == CASES[i].changes && CASES[i].extended)
        snprintf(job->comment, sizeof job->comment, "xt1:asked=60,lim=900,n=1");
    if (now == CASES[i].dies)
        job->load_error = ETIMEDOUT;
    if (now == CASES[i].lives)
        job->load_error = 0;
    if (now == CASES[i].hangs)
        job->hangs = 60000;
    if (now == CASES[i].pauses) {
        job->state = JOB_SUSPENDED;
        kill(task, SIGSTOP);
    }
    if (now == CASES[i].resumes) {
        job->state = JOB_RUNNING;
        kill(task, SIGCONT);
    }
    if (now == CASES[i].over)
        job->state = JOB_PENDING;
    fake_unlock();
}

/* What the environment of tasks that start from now on has for an end; 0: none. */
static void set_soft_end(int64_t end) {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)end);
    if (end)
        setenv("SLURM_JOB_END_TIME", text, 1);
    else
        unsetenv("SLURM_JOB_END_TIME");
}

static void check(size_t i) {
    const struct fake_job *job = fake_job((uint32_t)i + 1);
    double at = signalled[i] ? (double)(signalled[i] - began) / 1000 : 0;
    double before = first[i] ? (double)(first[i] - began) / 1000 : 0;
    unsigned expected = (CASES[i].signalled ? 1 : 0) + (CASES[i].before ? 1 : 0);
    CASE(calls[i] == expected, "%s: %u times", CASES[i].why, calls[i]);
    if (CASES[i].before)
        CASE(before >= CASES[i].before - 1 && before <= CASES[i].before + LATE, "%s: first at %g",
             CASES[i].why, before);
    if (CASES[i].signalled)
        CASE(at >= CASES[i].signalled - 1 && at <= CASES[i].signalled + LATE + CASES[i].poll / 5, "%s: at %g",
             CASES[i].why, at);
    CASE(job->questions <= 24, "%s: %u questions", CASES[i].why, job->questions);
}

static bool late_call(const struct ck_firing *firing, void *arg) {
    (void)firing;
    *(bool *)arg = true;
    return false;
}

/* The step ends while its processes are read: reading waits for the kernel, here for `span` ms. Where that is
 * long, the callback must not be called, as what it uses may be gone. Where it is short, a process may have
 * taken the signal and ended at once: the callback is called before the stop returns. */
static void is_stuck(uint32_t job, int span, bool reported) {
    bool *called = calloc(1, sizeof *called); /* stays: a thread that is left behind may come back to it */
    char folder[] = "/tmp/ck-watch-XXXXXX", procs[64], kernel[128];
    struct ck_plan plan = {.job = job,
                           .terms = {ak_now(), 60 * CK_SECOND, 0, 0, 1, 0, 1},
                           .uid = getuid(),
                           .signal = SIGTERM,
                           .fired = late_call,
                           .arg = called};
    CASE(mkdtemp(folder), "no folder");
    snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    snprintf(plan.cgroup, sizeof plan.cgroup, "%s", folder);
    CASE(mkfifo(procs, 0600) == 0, "no pipe");
    fake_job(job)->end = (ak_now() + 62 * CK_SECOND) / 1000;
    set_soft_end(fake_job(job)->end);
    plan.task = fake_child(SIGTERM, 0);
    struct ck_watch *watch = ck_watch_start(&plan);
    snprintf(kernel, sizeof kernel, "sleep %d.%03d; : >%s", (500 + span) / 1000, (500 + span) % 1000, procs);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", kernel, NULL);
        _exit(127);
    }
    usleep(500000);
    ck_watch_stop(watch);
    CASE(*called == reported, "%d ms: called before the stop returns: %d", span, *called);
    waitpid(pid, NULL, 0);
    usleep(500000);
    CASE(*called == reported, "%d ms: called after the stop", span);
    free(called);
    kill(plan.task, SIGKILL);
    waitpid(plan.task, NULL, 0);
    set_soft_end(0);
    unlink(procs);
    rmdir(folder);
}

int main(void) {
    struct ck_watch *watch[COUNT];
    pid_t task[COUNT], late = -1, listener = fake_child(SIGTERM, 0);
    fast_start();
    began = ak_now() / 1000 * 1000;
    for (size_t i = 0; i < COUNT; i++) {
        set_soft_end(CASES[i].soft ? began / 1000 + CASES[i].soft : 0);
        task[i] = fake_child(SIGTERM, -1);
    }
    set_soft_end(0);
    for (size_t i = 0; i < COUNT; i++) {
        struct ck_plan plan = {.job = (uint32_t)i + 1,
                               .terms = {began, CASES[i].lead * CK_SECOND, 60 * CK_SECOND,
                                         CASES[i].poll * CK_SECOND, 1, 0, (uint32_t)i},
                               .task = task[i],
                               .uid = getuid(),
                               .signal = CASES[i].listens ? SIGUSR1 : SIGTERM,
                               .fired = fired,
                               .arg = (void *)(uintptr_t)i};
        fake_lock();
        fake_job(plan.job)->end = began / 1000 + CASES[i].end;
        fake_unlock();
        watch[i] = ck_watch_start(&plan);
        CASE(watch[i], "no watch");
    }
    for (int now = 1; now < 200; now++) {
        while (ak_now() < began + now * CK_SECOND)
            ak_sleep(CK_SECOND / 4);
        for (size_t i = 0; i < COUNT; i++) {
            act(i, now, task[i]);
            if (now == CASES[i].listens)
                late = fake_child(SIGUSR1, 0);
        }
        fast_until(began - fast_begin + (now + 2) * CK_SECOND);
    }
    fast_until(0);
    CASE(fake_hanging(), "a question waits");
    for (size_t i = 0; i < COUNT; i++)
        ck_watch_stop(watch[i]);
    CASE(fake_hanging(), "stopping all waited for slurmctld");
    is_stuck(COUNT + 1, 300, true);
    is_stuck(COUNT + 2, 2000, false);
    for (size_t i = 0; i < COUNT; i++) {
        check(i);
        kill(task[i], SIGKILL);
        waitpid(task[i], NULL, 0);
    }
    kill(listener, SIGKILL);
    kill(late, SIGKILL);
    while (wait(NULL) > 0)
        ;
    usleep(4500000); /* the questions that were left behind: they free what they have */
    return DONE();
}
