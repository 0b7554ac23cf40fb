/* The plugin as Slurm calls it: every scenario is a process of its own, all run at the same time, with a
 * clock that runs SPEED times too fast. Whatever happens, every callback returns 0. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "ckpt/step_records.h"
#include "common/slurm_compat.h"
#include "fake_spank.h"
#include "fast_clock.h"

#define CALL(callback) CASE(callback(NULL, words, word) == 0, "%s", #callback)
#define EXITED(code) ((code) << 8)

extern spank_f slurm_spank_init, slurm_spank_init_post_opt, slurm_spank_user_init, slurm_spank_task_init,
    slurm_spank_task_post_fork, slurm_spank_task_exit, slurm_spank_exit;

static char state[96], state_word[128];
static char *word[8];
static int words;
static int64_t began;

static void add_word(char *text) {
    word[words++] = text;
}

/* The number that a command prints, or -1. */
static int printed_by(const char *command) {
    int count = 0;
    FILE *list = popen(command, "r");
    if (!list || fscanf(list, "%d", &count) != 1)
        count = -1;
    if (list)
        pclose(list);
    return count;
}

static int threads(void) {
    return printed_by("ls /proc/$PPID/task | wc -l");
}

/* How many of them a signal to slurmstepd may interrupt: all but what cannot be blocked is in the mask of the
 * others. Under valgrind they have its own masks. */
static int interruptible(void) {
#ifdef BRIEF
    return 1;
#else
    return printed_by("grep -L 'SigBlk:.*fffffffe7ffbfeff' /proc/$PPID/task/*/status | wc -l");
#endif
}

static void set(const char *name, const char *value) {
    int i = 0;
    while (fake.variable[i][0])
        i++;
    fake.variable[i][0] = name;
    fake.variable[i][1] = value;
}

static struct fake_job *job(void) {
    return fake_job(fake.job);
}

/* From slurmd's start of the step to the forked tasks; the job has `limit` seconds. */
static void begin(uint32_t step, int limit) {
    fake.step = step;
    began = ak_now() / 1000;
    job()->start = began;
    job()->end = began + limit;
    add_word(state_word);
    CALL(slurm_spank_init);
    CALL(slurm_spank_init_post_opt);
    fake.task = fake_child(SIGTERM, 85);
    CALL(slurm_spank_task_post_fork);
    CALL(slurm_spank_task_post_fork); /* of a second task */
}

/* Waits until the task has left, at most `span` seconds of the fast clock; kills it then. */
static void let_run(int span) {
    while (waitpid(fake.task, &fake.status, WNOHANG) == 0) {
        if (ak_now() > (began + span) * 1000) {
            kill(fake.task, SIGKILL);
            waitpid(fake.task, &fake.status, 0);
            break;
        }
        ak_sleep(500);
    }
}

/* Lets the task live to that second of the fast clock. */
static void let_run_until(int second) {
    while (ak_now() < (began + second) * 1000)
        ak_sleep(500);
}

static void end(void) {
    CALL(slurm_spank_task_exit);
    int64_t before = fast_real(CLOCK_MONOTONIC);
    CALL(slurm_spank_exit);
    int64_t took = fast_real(CLOCK_MONOTONIC) - before;
    CASE(took < 5000, "exit took %ld ms", (long)took);
}

static int requeued(const char *comment) {
    CASE(strstr(job()->comment, comment) != NULL, "AdminComment is %s", job()->comment);
    return (int)job()->requeues;
}

static void goes_on(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    strcpy(job()->comment, "ak1:x ck1:at=5,heard=1,rq=1,end=more kept");
    begin(SLURM_BATCH_SCRIPT, 240);
    CASE(threads() == 2, "%d threads", threads());
    CASE(interruptible() == 1, "%d threads take signals", interruptible());
    let_run(300);
    end();
    CASE(requeued("heard=1,rq=2,end=more kept") == 1, "%s", fake.log);
    CASE(strstr(fake.log, " s before the end") && strstr(fake.log, "(2 of 2)"), "%s", fake.log);
    CASE(strncmp(job()->comment, "ak1:x ck1:", 10) == 0, "%s", job()->comment);
}

/* An elastic job, and after 150 s the order. */
static void is_ordered(const char *range, const char *order) {
    char comment[64];
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    set("ADMINKIT_ELASTIC", range);
    job()->tres = "gres:gpu:1";
    begin(SLURM_BATCH_SCRIPT, 900);
    let_run_until(150);
    snprintf(comment, sizeof comment, "%s,until=%ld", order, (long)began + 600);
    fake_lock();
    strcpy(job()->comment, comment);
    fake_unlock();
}

static void is_to_have_more_gpus(void) {
    is_ordered("1-4", "el1:gpus=4");
    let_run(300);
    end();
    CASE(requeued("rq=1,end=more") == 1 && job()->held, "%s", fake.log);
    CASE(strstr(fake.log, "to continue with 4 GPUs") && strstr(fake.log, "is held until it has 4 GPUs"), "%s",
         fake.log);
}

/* The order is taken back before the run has left. */
static void is_no_longer_to_have_them(void) {
    is_ordered("1-4", "el1:gpus=4");
    let_run(300);
    ak_sleep(20000); /* until the note of the signal is left, with the word that it found */
    fake_lock();
    strcpy(job()->comment, "mine");
    fake_unlock();
    end();
    CASE(requeued("rq=1,end=more") == 1 && !job()->held, "%s", fake.log);
}

static void has_not_opted_in(void) {
    is_ordered("1-2", "el1:gpus=4");
    let_run(400);
    CASE(WIFSIGNALED(fake.status) && WTERMSIG(fake.status) == SIGKILL, "signalled: %s", fake.log);
    end();
    CASE(job()->requeues == 0, "%s", fake.log);
}

static void often_enough(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    strcpy(job()->comment, "ck1:at=5,heard=1,rq=2,end=more");
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    end();
    CASE(requeued("heard=1,rq=2,end=max") == 0, "%s", fake.log);
}

static void is_pending_again(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    job()->requeue_error = ESLURM_JOB_PENDING;
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    end();
    CASE(requeued("rq=1,end=more") == 1 && !strstr(fake.log, "not requeued"), "%s", fake.log);
}

static void is_refused(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    job()->requeue_error = ESLURM_DISABLED;
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    end();
    CASE(requeued("rq=0,end=refused") == 1 && strstr(fake.log, "not requeued"), "%s", fake.log);
}

static void reaches_its_limit(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    fake.status = SIGKILL;
    job()->state = JOB_TIMEOUT | JOB_COMPLETING;
    end();
    CASE(requeued("heard=1,rq=1,end=limit") == 1, "%s", fake.log);
}

/* slurmctld is back once slurmstepd has reported that the job failed. */
static void is_late(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    fake_lock();
    job()->load_error = ETIMEDOUT;
    fake_unlock();
    end();
    fake_lock();
    CASE(job()->requeues == 0 && strstr(fake.log, "slurmctld does not respond"), "%s", fake.log);
    job()->load_error = 0;
    job()->state = JOB_FAILED | JOB_COMPLETING;
    fake_unlock();
    for (int i = 0; i < 100 && !strstr(fake.log, "goes back"); i++)
        ak_sleep(1000);
    ak_sleep(10000);
    fake_lock();
    CASE(requeued("heard=1,rq=1,end=more") == 1, "%s", fake.log);
    fake_unlock();
}

#ifdef EXPEDITED_REQUEUE
static bool is_said_to_be_held(void) {
    return strstr(fake.log, "Slurm holds the job, which exited with code 85") != NULL;
}

static void begins_expedited(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=1");
    job()->bitflags = EXPEDITED_REQUEUE;
    begin(SLURM_BATCH_SCRIPT, 240);
}

static void is_expedited(void) {
    begins_expedited();
    let_run(300);
    end();
    CASE(requeued("rq=1,end=more") == 1 && !is_said_to_be_held(), "%s", fake.log);
    CASE(job()->releases == 0, "%u releases", job()->releases);
}

static void is_expedited_often_enough(void) {
    strcpy(job()->comment, "ck1:at=5,heard=1,rq=1,end=more");
    begins_expedited();
    let_run(300);
    end();
    CASE(requeued("rq=1,end=max") == 0 && is_said_to_be_held(), "%s", fake.log);
}

static void is_expedited_and_ends_early(void) {
    begins_expedited();
    kill(fake.task, SIGTERM);
    let_run(300);
    unsigned before = job()->questions;
    end();
    CASE(requeued("") == 0 && is_said_to_be_held(), "%s", fake.log);
    CASE(job()->questions == before + 1, "%u questions", job()->questions - before);
}

/* Slurm held it before slurmctld answered. */
static void is_released(void) {
    begins_expedited();
    let_run(300);
    job()->state = JOB_PENDING | JOB_REQUEUE_HOLD;
    job()->requeue_error = ESLURM_JOB_PENDING;
    end();
    CASE(requeued("rq=1,end=more") == 1 && !is_said_to_be_held(), "%s", fake.log);
    CASE(job()->releases == 1, "%u releases", job()->releases);
}
#endif

static void hangs_at_the_end(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    fake_lock();
    job()->hangs = 60000;
    fake_unlock();
    end();
    CASE(strstr(fake.log, "slurmctld does not respond"), "%s", fake.log);
    pid_t forked = fork();
    if (forked == 0) {
#if defined(__SANITIZE_ADDRESS__) || defined(BRIEF)
        execl("/bin/true", "true", NULL); /* a look for leaks takes longer than the call hangs */
#else
        exit(0); /* as slurmstepd's children may */
#endif
    }
    waitpid(forked, NULL, 0);
    CASE(fake_hanging(), "a child of slurmstepd waited for the answer");
}

/* Of the two notes of a run the first one is taken late. It must not undo the second one's count. */
static void is_noted_late(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    job()->first_update = 700;
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    end();
    usleep(1500000);
    fake_lock();
    CASE(requeued("heard=1,rq=1,end=more") == 1 && job()->updates == 2, "%u updates, %s", job()->updates,
         fake.log);
    fake_unlock();
}

/* `adminkit extend` writes its word after slurmctld's last answer and before the note: both stay. */
static void is_extended_meanwhile(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    strcpy(job()->comment, "ak1:lim=240,src=e,ext=auto");
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run_until(100);
    fake_lock();
    job()->load_error = ETIMEDOUT;
    strcpy(job()->comment, "ak1:lim=240,src=e,ext=auto xt1:asked=240,lim=240,n=0");
    fake_unlock();
    let_run(300);
    fake_lock();
    job()->load_error = 0;
    fake_unlock();
    ak_sleep(20000);
    end();
    CASE(requeued("rq=1,end=more xt1:asked=240,lim=240,n=0") == 1, "%s", fake.log);
}

/* Something refuses every note, a site's job_submit script perhaps: Slurm's own count bounds the chain then.
 */
static void is_not_counted(uint32_t restarts, uint32_t state) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    job()->update_error = ESLURM_ACCESS_DENIED;
    job()->restarts = restarts;
    begin(SLURM_BATCH_SCRIPT, 240);
    let_run(300);
    job()->state = state;
    end();
}

static void is_not_counted_yet(void) {
    is_not_counted(1, JOB_RUNNING);
    CASE(requeued("") == 1 && strstr(fake.log, "could not be counted"), "%s", fake.log);
}

static void is_not_counted_any_more(void) {
    is_not_counted(2, JOB_RUNNING);
    CASE(requeued("") == 0 && strstr(fake.log, "not requeued"), "%s", fake.log);
}

static void is_not_counted_at_its_limit(void) {
    is_not_counted(2, JOB_TIMEOUT);
    CASE(requeued("") == 0 && strstr(fake.log, "not requeued"), "%s", fake.log);
}

static void is_short(void) {
    set("ADMINKIT_CKPT", "TERM@300,requeue");
    begin(SLURM_BATCH_SCRIPT, 3600);
    let_run(50);
    end();
    CASE(job()->questions + job()->updates + job()->requeues == 0 && *fake.log == '\0', "%u questions, %s",
         job()->questions, fake.log);
}

static void has_no_request(void) {
    begin(SLURM_BATCH_SCRIPT, 120);
    CASE(threads() == 1, "%d threads", threads());
    let_run(90);
    end();
    CASE(job()->questions == 0 && *fake.log == '\0' && WIFSIGNALED(fake.status), "%s", fake.log);
}

static void is_not_to_be_watched(void) {
    set("ADMINKIT_CKPT", "TERM@60");
    begin(SLURM_INTERACTIVE_STEP, 120);
    CASE(threads() == 1, "%d threads", threads());
    let_run(5);
    end();
    CASE(*fake.log == '\0', "%s", fake.log);
}

static void is_configured_wrongly(void) {
    set("ADMINKIT_CKPT", "TERM@60");
    add_word("colour=blue");
    begin(SLURM_BATCH_SCRIPT, 120);
    CASE(threads() == 1, "%d threads", threads());
    let_run(5);
    end();
    char *line = strchr(fake.log, '\n');
    CASE(strstr(fake.log, "colour=blue") && line && line[1] == '\0', "one line: %s", fake.log);
    CASE(fake.options == 4, "sbatch still knows the options");
}

/* A step of srun's beside the batch step, whose file is there. */
static void is_a_step(void) {
    struct ck_steps steps;
    set("ADMINKIT_CKPT", "TERM@60,requeue");
    CASE(ck_step_records_create(state, fake.job) == 0, "begin");
    begin(0, 240);
    let_run(300);
    end();
    CASE(ck_step_records_read(state, fake.job, &steps) == 0 && steps.code[85] && steps.heard == 1, "%u heard",
         steps.heard);
    CASE(job()->requeues + job()->updates == 0, "that is the batch step's");
    ck_step_records_remove(state, fake.job);
}

/* Nothing catches the signal on this node, the fourth of the step. */
static void is_deaf_on(uint32_t nodes, bool said) {
    set("ADMINKIT_CKPT", "XCPU@60");
    fake.nodes = nodes;
    fake.node = 3;
    begin(0, 240);
    let_run(230);
    end();
    CASE((strstr(fake.log, "no process here catches SIGXCPU") != NULL) == said, "%u nodes: %s", nodes,
         fake.log);
}

static void is_deaf_on_one_of_four_nodes(void) {
    is_deaf_on(4, true);
}

static void is_deaf_on_one_of_a_thousand(void) {
    is_deaf_on(1000, false);
}

/* The task's environment has the end of the job, so many seconds from now, as from Slurm 23.02 on. */
static void set_end(long seconds) {
    char end_time[32];
    snprintf(end_time, sizeof end_time, "%ld", (long)(ak_now() / 1000) + seconds);
    setenv("SLURM_JOB_END_TIME", end_time, 1);
}

/* The environment has the end: no question but the one before the signal. */
static void knows_its_end(void) {
    set_end(240);
    set("ADMINKIT_CKPT", "TERM@100");
    begin(0, 240);
    let_run(300);
    end();
    CASE(job()->questions <= 2 && WEXITSTATUS(fake.status) == 85, "%u questions", job()->questions);
}

/* The environment has the end, and the limit was raised since. */
static void knows_an_end_that_was_moved(void) {
    set_end(110);
    set("ADMINKIT_CKPT", "TERM@60");
    begin(0, 240);
    let_run(170);
    CASE(WIFSIGNALED(fake.status) && WTERMSIG(fake.status) == SIGKILL, "signalled 130 s too early: %s",
         fake.log);
    end();
}

static void is_submitted(void) {
    program_invocation_short_name = "sbatch";
    fake.context = S_CTX_ALLOCATOR;
    CALL(slurm_spank_init);
    CASE(fake_option("ckpt-signal", "USR1@90") == 0 && fake_option("ckpt-requeue", NULL) == 0, "options");
    CALL(slurm_spank_init_post_opt);
    CALL(slurm_spank_exit);
    unsigned asked = AK_SBATCH_HAS_OPEN_MODE ? 1 : 0; /* later releases are not asked, and there is no hint */
    CASE(!strstr(fake.log, "--open-mode=append") == !asked && fake.confs == asked, "%s", fake.log);
    *fake.log = '\0';
    setenv("SLURM_OPEN_MODE", "a", 1);
    CALL(slurm_spank_exit);
    CASE(*fake.log == '\0' && fake.confs == asked, "%s", fake.log);
    CASE(fake_option("ckpt-signal", "KILL@90") == 0, "options");
    CALL(slurm_spank_init_post_opt);
    CALL(slurm_spank_exit);
    CASE(strstr(fake.log, "--ckpt-signal=KILL@90 is not understood"), "%s", fake.log);
}

static void wants_to_be_elastic(void) {
    static const struct {
        const char *range, *wish, *said; /* said: NULL for nothing */
    } table[] = {
        {"1-8", "TERM@60,requeue", NULL},
        {"eight", "TERM@60,requeue", "ADMINKIT_ELASTIC=eight is not understood"},
        {"1-8", "TERM@60", "needs a checkpoint and a requeue"},
        {"1-8", "off", "needs a checkpoint and a requeue"},
        {"", "TERM@60", NULL},
    };
    fake.context = S_CTX_ALLOCATOR;
    CALL(slurm_spank_init);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        *fake.log = '\0';
        setenv("ADMINKIT_CKPT", table[i].wish, 1);
        setenv("ADMINKIT_ELASTIC", table[i].range, 1);
        CALL(slurm_spank_init_post_opt);
        const char *said = table[i].said;
        CASE(said ? strstr(fake.log, said) != NULL : *fake.log == '\0', "%s: %s", table[i].range, fake.log);
    }
}

/* The variables of an elastic job's batch script, after srun's own was made when it had one GPU. */
static void knows_its_gpus(void) {
    char text[16] = "";
    set("ADMINKIT_ELASTIC", "1-8");
    set("SLURM_GPUS_ON_NODE", "4");
    set("SLURM_GPUS_PER_NODE", "a100:1");
    fake.step = SLURM_BATCH_SCRIPT;
    add_word(state_word);
    CALL(slurm_spank_init);
    CALL(slurm_spank_task_init);
    CASE(spank_getenv(NULL, "ADMINKIT_GPUS", text, sizeof text) == ESPANK_SUCCESS && strcmp(text, "4") == 0,
         "%s", text);
    spank_getenv(NULL, "SLURM_GPUS_PER_NODE", text, sizeof text);
    CASE(strcmp(text, "a100:4") == 0, "%s", text);
}

/* The batch script's folder, with what the job wrote about its progress in it; NULL: nothing. */
static void has_written(const char *text) {
    static char folder[128], script[160];
    snprintf(folder, sizeof folder, "%s-job%u", state, fake.job);
    snprintf(script, sizeof script, "%s/slurm_script", folder);
    mkdir(folder, 0700);
    fake.script = script;
    fake.step = SLURM_BATCH_SCRIPT;
    add_word(state_word);
    CALL(slurm_spank_init);
    CALL(slurm_spank_user_init);
    char path[256] = "";
    CASE(spank_getenv(NULL, "ADMINKIT_PROGRESS", path, sizeof path) == ESPANK_SUCCESS, "the variable is set");
    words = 0;
    begin(SLURM_BATCH_SCRIPT, 240);
    FILE *file = text ? fopen(path, "r+") : NULL;
    CASE(!text || (file && fputs(text, file) >= 0 && fclose(file) == 0), "the job writes into its file");
}

static void is_gone(void) {
    char folder[128];
    snprintf(folder, sizeof folder, "%s-job%u", state, fake.job);
    CASE(rmdir(folder) == 0, "nothing is left in the job's folder");
}

static void says_how_far_it_came(void) {
    strcpy(job()->comment, "ak1:x kept");
    has_written("12345\n");
    let_run(2);
    end();
    CASE(requeued("ak1:x kept pf1:it=12345") == 0 && job()->updates == 1, "%s", fake.log);
    is_gone();
}

static void says_it_and_is_put_back(void) {
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    has_written("7");
    let_run(300);
    end();
    CASE(strstr(job()->ended, "heard=1,rq=1,end=more pf1:it=7"), "its own row has %s", job()->ended);
    CASE(requeued("heard=1,rq=1,end=more") == 1 && !strstr(job()->comment, "pf1"), "%s", fake.log);
    is_gone();
}

/* As after RequeueExit: what an earlier run said goes at the first chance that costs nothing. */
static void says_nothing_in_its_second_run(void) {
    strcpy(job()->comment, "a pf1:it=7 b");
    set("ADMINKIT_CKPT", "TERM@60,requeue=2");
    has_written(NULL);
    let_run(300);
    end();
    CASE(requeued("rq=1,end=more") == 1 && !strstr(job()->comment, "pf1"), "%s", job()->comment);
    is_gone();
}

static void says_what_is_no_number(void) {
    has_written("12 $(reboot)");
    let_run(2);
    end();
    CASE(*job()->comment == '\0' && job()->questions == 0 && job()->updates == 0, "%s", job()->comment);
    is_gone();
}

static void says_it_and_nobody_listens(void) {
    job()->load_error = ESLURM_INVALID_JOB_ID;
    has_written("7");
    let_run(2);
    end();
    CASE(job()->updates == 0, "%s", fake.log);
    is_gone();
}

static void (*const SCENARIOS[])(void) = {says_how_far_it_came,
                                          says_it_and_is_put_back,
                                          says_nothing_in_its_second_run,
                                          says_what_is_no_number,
                                          says_it_and_nobody_listens,
                                          goes_on,
                                          is_to_have_more_gpus,
                                          is_no_longer_to_have_them,
                                          has_not_opted_in,
                                          knows_its_gpus,
                                          often_enough,
                                          is_pending_again,
                                          is_refused,
                                          is_late,
#ifdef EXPEDITED_REQUEUE
                                          is_expedited,
                                          is_expedited_often_enough,
                                          is_expedited_and_ends_early,
                                          is_released,
#endif
                                          reaches_its_limit,
                                          is_not_counted_yet,
                                          is_not_counted_any_more,
                                          is_not_counted_at_its_limit,
                                          hangs_at_the_end,
                                          is_noted_late,
                                          is_extended_meanwhile,
                                          is_short,
                                          has_no_request,
                                          is_not_to_be_watched,
                                          is_configured_wrongly,
                                          is_a_step,
                                          knows_its_end,
                                          knows_an_end_that_was_moved,
                                          is_deaf_on_one_of_four_nodes,
                                          is_deaf_on_one_of_a_thousand,
                                          is_submitted,
                                          wants_to_be_elastic};
#define COUNT (sizeof SCENARIOS / sizeof *SCENARIOS)

int main(void) {
    char place[] = "/tmp/ck-plugin-XXXXXX", command[64];
    pid_t child[COUNT];
    if (!mkdtemp(place))
        return 1;
    for (size_t i = 0; i < COUNT; i++) {
        if ((child[i] = fork()) != 0)
            continue;
        snprintf(state, sizeof state, "%s/ckpt", place);
        snprintf(state_word, sizeof state_word, "state=%s", state);
        fake.job = 100 + (uint32_t)i;
        fast_start();
        SCENARIOS[i]();
        exit(DONE());
    }
    for (size_t i = 0; i < COUNT; i++) {
        int status;
        CASE(waitpid(child[i], &status, 0) > 0 && status == 0, "scenario %zu", i);
    }
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command) ? 1 : DONE();
}
