/* known_programs.c - see known_programs.h. */
#include "known_programs.h"

#include <string.h>

/* Names between blanks; one that ends in * is a prefix. */
static const struct {
    enum ck_role role;
    const char *names;
} programs[] = {
    {CK_ROLE_STEPD, " slurmstepd "},
    {CK_ROLE_SHELL,
     " ash bash bsd-csh csh dash elvish fish ksh ksh93 lksh loksh mksh nu oksh osh pdksh posh rbash rksh "
     "sash sh tcsh yash zsh zsh-* zsh5 "},
    {CK_ROLE_LAUNCHER,
     " aprun hydra_* jsrun mpiexec mpiexec.* mpirun mpirun.* mpirun_rsh mpispawn orted orterun orterun.* "
     "palsd pmi_proxy prte prted prterun prun salloc sattach sbatch srun "},
    {CK_ROLE_WRAPPER,
     " doas expect gdb gdbserver gmake ltrace make ncu ninja nsys nsys-* perf runuser rr strace su sudo "
     "systemd-run timeout xargs "},
    {CK_ROLE_CONTAINER,
     " appinit apptainer bwrap catatonit ch-run conmon conmonrs containerd containerd-* crun docker "
     "docker-* dockerd dumb-init lxc-* nerdctl newgidmap newuidmap nsenter podman proot runc runsv "
     "runsvdir s6-* sarus shifter sinit singularity starter starter-suid systemd-nspawn tini tini-* "
     "unshare youki "},
    {CK_ROLE_SERVICE,
     " Xorg Xvfb Xvnc dbus-* faked fuse-overlayfs fuse2fs fusermount fusermount3 gcs_server gcsfuse "
     "gpg-agent mariadbd memcached mongod mysqld nginx nvidia-cuda-mps* passt pasta postgres raylet rclone "
     "redis-server s3fs slirp4netns squashfuse squashfuse_ll ssh-agent sshfs "},
    {CK_ROLE_TOOL,
     " emacs emacs-* htop less man more mosh-server nano nvim nvtop rsync screen script scp sftp "
     "ssh sshd sshd-* "
     "tmux top vi vim vim.* watch "},
    {CK_ROLE_JVM, " R beam.smp dotnet java jsvc julia node nodejs ruby ruby2* ruby3* "},
};

/* Scripts of an interpreter: the last part of the path, or the module after -m. */
static const struct {
    enum ck_role role;
    const char *names;
} scripts[] = {
    {CK_ROLE_SHELL, " xonsh "},
    {CK_ROLE_LAUNCHER,
     " accelerate accelerate-launch accelerate.commands.* colossalai composer composer.cli* deepspeed "
     "deepspeed.launcher.* ds fabric horovod.runner* horovodrun torch.distributed.launch "
     "torch.distributed.run torchrun paddle.distributed.* "},
    {CK_ROLE_WRAPPER, " parallel "},
    {CK_ROLE_CONTAINER, " podman-compose supervisord udocker "},
    {CK_ROLE_SERVICE, " ray "},
    {CK_ROLE_TOOL,
     " ipython jupyter jupyter-* jupyterhub-* jupyter_server jupyterlab marimo notebook streamlit "
     "tensorboard "},
};

static bool listed(const char *names, const char *word) {
    if (*word == '\0' || strchr(word, ' '))
        return false;
    for (const char *name = names + 1; *name; name++) {
        const char *c = word;
        while (*name == *c && *c) {
            name++;
            c++;
        }
        if (*name == '*' || (*name == ' ' && *c == '\0'))
            return true;
        while (*name != ' ')
            name++;
    }
    return false;
}

static bool begins(const char *word, const char *prefix) {
    return strncmp(word, prefix, strlen(prefix)) == 0;
}

static bool is_python(const char *exe) {
    return begins(exe, "python") || begins(exe, "pypy");
}

/* One file that is many programs; its first word says which. */
static bool is_multicall(const char *exe) {
    return listed(" busybox coreutils toybox busybox.* ", exe) || *exe == '\0';
}

static enum ck_role look_up(const char *word) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (listed(programs[i].names, word))
            return programs[i].role;
    return CK_ROLE_OUTSIDE;
}

bool ck_needs_argv(const char *exe) {
    return is_python(exe) || begins(exe, "perl") || is_multicall(exe) || look_up(exe) == CK_ROLE_SHELL;
}

static const char *base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A command line that is read from the front. */
struct words {
    const char *at, *end;
};

/* The next word, or NULL. The last one may have been cut: the snapshot ends it with a NUL. */
static const char *next(struct words *words) {
    const char *word = words->at;

    if (word >= words->end)
        return NULL;
    words->at += strnlen(word, (size_t)(words->end - word)) + 1;
    return word;
}

/* The script or module that python runs; "": none. Python's options: single letters may stand together; c, m,
 * W and X take the rest of the word, or the next word, as their value. */
static const char *python_runs(struct words *words) {
    for (const char *word; (word = next(words));) {
        if (word[0] != '-')
            return base(word);
        if (word[1] == '\0')
            return "";
        if (word[1] == '-') {
            if (strcmp(word, "--check-hash-based-pycs") == 0)
                next(words);
            continue;
        }
        const char *letter = word + 1 + strcspn(word + 1, "cmWX");
        const char *value = *letter == '\0' ? "" : letter[1] ? letter + 1 : next(words);
        if (*letter == 'c' || !value)
            return "";
        if (*letter == 'm')
            return value;
    }
    return "";
}

static const char *first_operand(struct words *words) {
    for (const char *word; (word = next(words));)
        if (word[0] != '-')
            return base(word);
    return "";
}

/* Whether a shell reads what a user types: by its options, or because it has a terminal and neither a script
 * nor commands. */
static bool interactive(const struct ck_process *process, struct words words) {
    for (const char *word; (word = next(&words));) {
        if ((word[0] != '-' && word[0] != '+') || word[1] == '\0')
            return word[0] == '-' && process->terminal;
        if (word[1] == '-') {
            if (strcmp(word, "--interactive") == 0)
                return true;
            if (strcmp(word, "--rcfile") == 0 || strcmp(word, "--init-file") == 0)
                next(&words);
            continue;
        }
        if (word[0] == '-' && strchr(word, 'i'))
            return true;
        if (word[0] == '-' && strchr(word, 'c'))
            return false;
        if (strchr(word, 'o') || strchr(word, 'O'))
            next(&words);
    }
    return process->terminal;
}

enum ck_role ck_program_role(const struct ck_process *process) {
    struct words words = {process->argv, process->argv + process->argv_size};
    const char *exe = process->exe, *first = next(&words), *runs = "";
    enum ck_role role = look_up(*exe ? exe : process->comm);

    if (is_multicall(exe) && first) {
        first = base(first + (*first == '-'));
        if (is_multicall(first))
            first = next(&words);
        role = first ? look_up(base(first)) : role;
    }
    if (role == CK_ROLE_SHELL)
        return interactive(process, words) ? CK_ROLE_INTERACTIVE : CK_ROLE_SHELL;
    if (role != CK_ROLE_OUTSIDE)
        return role;
    if (is_python(exe))
        runs = python_runs(&words);
    else if (begins(exe, "perl"))
        runs = first_operand(&words);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (listed(scripts[i].names, runs))
            return scripts[i].role;
    return CK_ROLE_OUTSIDE;
}
