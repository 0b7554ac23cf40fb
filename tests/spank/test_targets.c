/* test_targets.c - which processes of a tree are signalled. A case is a tree, a line per process:
 *
 *   PID PPID DISPOSITION PROGRAM [WORD…] [@MARK…]
 *
 * DISPOSITION is one of dies, ignores, catches, waits, blocks. Marks: @uid=N (else the job's), @zombie, @tty,
 * @go (catches every real-time signal), @start=N (else its pid). Signalled are the pids in `expected`, in
 * order.
 */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "ckpt/targets.h"

#define ME 1000
#define MOST 32
#define TARGET_SHELL 1
#define TARGET_JVM 2

static const struct {
    const char *tree, *expected;
    int options;
    const char *why;
} cases[] = {
    /* shapes of jobs */
    {"1 0 dies bash slurm_script\n2 1 catches python3 train.py", "2", 0, "a python below a batch script"},
    {"1 0 catches bash slurm_script\n2 1 catches python3 train.py", "2", 0,
     "a shell with a trap dies at once or waits for its child: it is walked through"},
    {"1 0 catches bash slurm_script\n2 1 dies python3 train.py", "", 0,
     "and it is not signalled where nothing below hears either"},
    {"1 0 catches bash\n2 1 catches sh -c x\n3 2 catches dash run.sh\n4 3 catches python3 t.py", "4", 0,
     "a script in a script in a script"},
    {"1 0 dies bash\n2 1 catches python3 train.py\n3 2 catches python3 train.py\n4 2 catches python3 "
     "train.py",
     "2", 0, "workers of a data loader inherit the handler and must live until the checkpoint is written"},
    {"1 0 dies bash\n2 1 dies python3 train.py\n3 2 catches python3 train.py\n4 2 catches python3 train.py",
     "3 4", 0, "where the main program has no handler, those that have one are each on top"},
    {"1 0 dies bash\n2 1 catches python3 a.py\n3 1 catches python3 b.py\n4 3 catches python3 b.py", "2 3", 0,
     "one per branch"},
    {"1 0 catches python3 a.py\n2 0 catches python3 a.py\n3 0 dies sleep 9", "1 2", 0, "tasks of one step"},
    {"1 0 catches mystery\n2 1 catches python3 train.py", "1", 0,
     "a wrapper nobody knows is the topmost that catches"},
    {"1 0 dies bash\n2 1 dies tee log\n3 1 catches python3 t.py", "3", 0, "tee would die of it"},
    {"1 0 catches bash\n2 1 ignores time -v x\n3 2 catches python3 t.py", "3", 0,
     "time ignores it and waits"},
    {"1 0 catches python3 t.py\n5 77 catches python3 daemon.py", "1 5", 0,
     "a daemon in the cgroup, whose parent is gone, is a branch of its own"},
    {"9 3 catches python3 t.py\n3 0 dies bash", "9", 0,
     "pids that have gone round are not in the order of their ages"},
    {"3 0 catches python3 a.py @start=50\n4 3 catches python3 b.py @start=20", "3 4", 0,
     "a parent younger than its child is another process with the pid used again"},

    /* who waits */
    {"1 0 dies bash\n2 1 waits python3 t.py\n3 2 catches python3 w.py", "2", 0,
     "sigwait and signalfd take it as handlers do"},
    {"1 0 blocks mystery\n2 1 catches python3 t.py", "2", 0,
     "a mask may be inherited: a process below takes it"},
    {"1 0 blocks mystery\n2 1 blocks python3 t.py", "1", 0, "where nobody does, the topmost may look for it"},
    {"1 0 blocks mystery\n2 1 dies sleep\n3 2 waits python3 t.py", "3", 0, "and that is seen through others"},
    {"1 0 catches python3 t.py\n2 1 blocks python3 t.py", "1", 0,
     "below a target nobody is signalled, blocked or not"},
    {"1 0 blocks unshare --fork\n2 1 dies bash", "", 0,
     "unshare blocks TERM while its child runs, and never looks"},

    /* who is never signalled */
    {"1 0 dies bash\n2 1 dies python3 t.py", "", 0, "nothing that would die of it"},
    {"1 0 ignores python3 t.py\n2 1 catches python3 w.py", "2", 0,
     "nothing that ignores it; a process below may take it"},
    {"1 0 catches python3 t.py @uid=0\n2 1 catches python3 t.py", "2", 0, "nobody else's process"},
    {"1 0 catches python3 t.py @uid=-1", "", 0, "nor one that has two uids"},
    {"1 0 catches python3 t.py @zombie\n2 0 catches python3 u.py", "2", 0, "nothing that has ended"},
    {"5 0 catches anything\n6 5 catches python3 t.py", "6", 0,
     "not the process that is said to be the stepd"},
    {"7 0 catches slurmstepd\n8 7 catches python3 t.py", "8", 0, "no stepd at all"},

    /* shells */
    {"1 0 catches bash slurm_script\n2 1 catches python3 t.py", "1", TARGET_SHELL,
     "the shell, where it was asked for"},
    {"1 0 dies bash slurm_script\n2 1 catches python3 t.py", "2", TARGET_SHELL, "but not one without a trap"},
    {"1 0 catches bash -i @tty\n2 1 catches python3 t.py", "2", TARGET_SHELL, "never an interactive one"},
    {"1 0 catches bash @tty", "", TARGET_SHELL, "that of salloc reads a terminal"},
    {"1 0 catches bash -l @tty", "", TARGET_SHELL, "with options too"},
    {"1 0 catches bash", "1", TARGET_SHELL, "one that reads a pipe is not interactive"},
    {"1 0 catches bash -l script @tty", "1", TARGET_SHELL, "a script on a terminal"},
    {"1 0 catches bash -o pipefail -c x @tty", "1", TARGET_SHELL, "and commands"},
    {"1 0 catches bash --rcfile /etc/rc @tty", "", TARGET_SHELL, "a file of settings is no script"},
    {"1 0 catches busybox sh run.sh\n2 1 catches python3 t.py", "2", 0, "a shell in a box"},
    {"1 0 catches busybox:sh run.sh\n2 1 catches python3 t.py", "2", 0, "by its first word"},
    {"1 0 catches coreutils:timeout 9 x\n2 1 catches python3 t.py", "2", 0, "timeout in a box"},
    {"1 0 catches zsh-5.9 a\n2 1 catches tcsh b\n3 2 catches fish c\n4 3 catches ksh93 d\n5 4 catches "
     "python3 t.py",
     "5", 0, "other shells"},

    /* launchers and wrappers */
    {"1 0 catches srun x\n2 1 catches python3 t.py", "2", 0, "srun ends its step at SIGTERM"},
    {"1 0 dies bash\n2 1 catches orterun -n 2 x\n3 2 catches prted\n4 3 catches a.out\n5 3 catches a.out",
     "4 5", 0, "ranks below MPI's daemons"},
    {"1 0 catches mpiexec.hydra x\n2 1 catches hydra_pmi_proxy\n3 2 catches a.out", "3", 0, "and Hydra's"},
    {"1 0 catches python3.11 /venv/bin/torchrun --nproc 2 t.py\n2 1 catches python3.11 -u t.py\n3 1 catches "
     "python3.11 -u t.py\n"
     "4 3 catches python3.11 t.py",
     "2 3", 0, "torchrun kills its workers after 30 s"},
    {"1 0 catches python3 -m torch.distributed.run t.py\n2 1 catches python3 t.py", "2", 0,
     "the same by its module"},
    {"1 0 catches python3 -um torch.distributed.launch t.py\n2 1 catches python3 t.py", "2", 0,
     "letters together"},
    {"1 0 catches python3 -X dev -W ignore -mtorch.distributed.run t.py\n2 1 catches python3 t.py", "2", 0,
     "options with a value of their own"},
    {"1 0 catches python3 t.py torchrun\n2 1 catches python3 t.py", "1", 0,
     "an argument of that name is no launcher"},
    {"1 0 catches python3 -c torchrun torchrun\n2 1 catches python3 t.py", "1", 0,
     "nor what follows a command"},
    {"1 0 catches python3 -m train torchrun\n2 1 catches python3 t.py", "1", 0, "nor what follows a module"},
    {"1 0 catches python3 - torchrun\n2 1 catches python3 t.py", "1", 0, "nor what follows standard input"},
    {"1 0 catches python3\n2 1 catches python3 t.py", "1", 0, "a python that has no words"},
    {"1 0 catches python3 /v/accelerate launch t.py\n2 1 catches python3 t.py", "2", 0, "accelerate"},
    {"1 0 catches python3 -m accelerate.commands.launch t.py\n2 1 catches python3 t.py", "2", 0,
     "and its module"},
    {"1 0 catches python3 /v/deepspeed t.py\n2 1 catches python3 -u -m deepspeed.launcher.launch\n3 2 "
     "catches python3 t.py",
     "3", 0, "deepspeed has two"},
    {"1 0 catches timeout 9 x\n2 1 catches python3 t.py", "2", 0, "timeout tells its whole group"},
    {"1 0 catches make all\n2 1 dies sh -c x\n3 2 catches python3 t.py", "3", 0, "make kills what it runs"},
    {"1 0 catches perl /usr/bin/parallel x\n2 1 catches python3 t.py", "2", 0, "parallel is a script"},
    {"1 0 catches strace -f x\n2 1 catches python3 t.py", "2", 0, "strace"},

    /* containers, runtimes and the rest */
    {"1 0 catches starter-suid x @uid=-1\n2 1 catches starter x @go\n3 2 dies sh\n4 3 catches python3 t.py",
     "4", 0, "apptainer"},
    {"1 0 catches podman run x @go\n5 0 catches conmon\n6 5 catches python3 t.py", "6", 0,
     "podman's container has its own parent"},
    {"1 0 waits tini -- x\n2 1 catches python3 t.py", "2", 0, "a container's init waits for all"},
    {"1 0 catches mystery @go\n2 1 catches python3 t.py", "2", 0,
     "a Go program, whatever its name, catches all there is"},
    {"1 0 catches mystery @go", "", 0, "and ends of it"},
    {"1 0 catches squashfuse_ll x\n2 0 catches python3 t.py", "2", 0,
     "without its file system a container is lost"},
    {"1 0 catches nvidia-cuda-mps-server\n2 0 catches python3 t.py", "2", 0, "and without MPS its GPU"},
    {"1 0 catches java -jar x", "", 0, "the JVM has handlers for all of its own, and ends"},
    {"1 0 catches java -jar x\n2 1 catches python3 t.py", "1", TARGET_JVM, "but where it was asked for"},
    {"1 0 catches java -jar x\n2 1 catches python3 t.py", "2", 0, "a python that Spark started"},
    {"1 0 catches node server.js", "", 0, "node has one that ends it"},
    {"1 0 catches tmux @tty\n2 1 ignores bash -i @tty\n3 2 catches python3 t.py @tty", "3", 0,
     "a training in tmux"},
    {"1 0 catches python3 /usr/bin/jupyter-lab\n2 1 catches python3 -m ipykernel_launcher", "2", 0,
     "a notebook's kernel"},
    {"", "", 0, "nothing at all"},
};

static enum ck_disposition disposition_of(const char *word) {
    static const char *const words[] = {"dies", "ignores", "catches", "waits", "blocks"};
    for (int i = 0; i < 5; i++)
        if (strcmp(word, words[i]) == 0)
            return (enum ck_disposition)i;
    fprintf(stderr, "no such disposition: %s\n", word);
    exit(2);
}

static void mark(struct ck_process *process, const char *word) {
    if (strncmp(word, "@uid=", 5) == 0)
        process->uid = (uid_t)atol(word + 5);
    else if (strncmp(word, "@start=", 7) == 0)
        process->start = (uint64_t)atol(word + 7);
    else if (strcmp(word, "@zombie") == 0)
        process->state = 'Z';
    else if (strcmp(word, "@tty") == 0)
        process->terminal = true;
    else if (strcmp(word, "@go") == 0)
        process->caught = UINT64_C(0xfffffffd7fc1feff);
}

/* Words go behind each other into `text`, as a command line stands in /proc. "box:sh" is the program box
 * called sh. */
static void read_line(char *line, struct ck_process *process, char **text) {
    char *save, *pid = strtok_r(line, " ", &save), *parent = strtok_r(NULL, " ", &save), *word;

    *process =
        (struct ck_process){.pid = atoi(pid), .ppid = atoi(parent), .uid = ME, .state = 'S', .comm = "comm"};
    process->start = (uint64_t)process->pid;
    process->disposition = disposition_of(strtok_r(NULL, " ", &save));
    char *program = strtok_r(NULL, " ", &save), *called = strchr(program, ':');
    if (called && called[1])
        *called++ = '\0';
    process->exe = program;
    process->argv = *text;
    for (word = called && *called ? called : program; word; word = strtok_r(NULL, " ", &save)) {
        if (*word == '@') {
            mark(process, word);
            continue;
        }
        size_t size = strlen(word) + 1;
        memcpy(*text, word, size);
        *text += size;
    }
    process->argv_size = (size_t)(*text - process->argv);
}

static void check(size_t number) {
    struct ck_process processes[MOST];
    struct ck_snapshot snapshot = {.process = processes};
    struct ck_scope scope = {.uid = ME, .signal = 15, .stepd = 5};
    enum ck_role role[MOST];
    char tree[2048], words[2048], *text = words, targets[256] = "", *save;

    scope.shells = cases[number].options & TARGET_SHELL;
    scope.jvms = cases[number].options & TARGET_JVM;
    scope.stepd = strstr(cases[number].tree, "5 0 catches anything") ? 5 : 0;
    snprintf(tree, sizeof tree, "%s", cases[number].tree);
    for (char *line = strtok_r(tree, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        read_line(line, &processes[snapshot.count++], &text);
    ck_snapshot_link(&snapshot);
    CASE(ck_choose_targets(&snapshot, &scope, role), "%s", cases[number].why);
    for (size_t i = 0; i < snapshot.count; i++)
        if (ck_is_target(role[i]))
            snprintf(targets + strlen(targets), sizeof targets - strlen(targets), "%s%d", *targets ? " " : "",
                     (int)snapshot.process[i].pid);
    CASE(strcmp(targets, cases[number].expected) == 0, "%s: [%s] and not [%s]", cases[number].why, targets,
         cases[number].expected);
}

/* Each parent is the child of the next, and the last one of the first. */
static void check_cycle(void) {
    struct ck_process processes[3] = {{.pid = 1, .ppid = 3}, {.pid = 2, .ppid = 1}, {.pid = 3, .ppid = 2}};
    struct ck_snapshot snapshot = {.process = processes, .count = 3};
    struct ck_scope scope = {.uid = ME, .signal = 15};
    enum ck_role role[3];

    for (int i = 0; i < 3; i++)
        processes[i].comm = processes[i].exe = processes[i].argv = "";
    ck_snapshot_link(&snapshot);
    CASE(ck_choose_targets(&snapshot, &scope, role), "a snapshot that contradicts itself ends all the same");
}

/* The deepest tree there may be: one below the other. */
static void check_chain(void) {
    struct ck_process *processes = calloc(CK_MAX_PROCESSES, sizeof *processes);
    struct ck_snapshot snapshot = {.process = processes, .count = CK_MAX_PROCESSES};
    struct ck_scope scope = {.uid = ME, .signal = 15};
    enum ck_role *role = calloc(CK_MAX_PROCESSES, sizeof *role);
    size_t targets = 0;

    for (int i = 0; i < CK_MAX_PROCESSES; i++)
        processes[i] =
            (struct ck_process){.pid = i + 1,
                                .ppid = i,
                                .uid = ME,
                                .state = 'S',
                                .comm = "",
                                .exe = "a.out",
                                .argv = "",
                                .disposition = i < CK_MAX_PROCESSES / 2 ? CK_SIG_DEFAULT : CK_SIG_CAUGHT};
    ck_snapshot_link(&snapshot);
    CASE(ck_choose_targets(&snapshot, &scope, role), "memory");
    for (size_t i = 0; i < CK_MAX_PROCESSES; i++)
        targets += ck_is_target(role[i]);
    CASE(targets == 1 && role[CK_MAX_PROCESSES / 2] == CK_ROLE_CATCHES, "%zu targets in a chain", targets);
    free(processes);
    free(role);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(i);
    check_cycle();
    check_chain();
    return DONE();
}
