"""Real trees of processes: who hears the signal is asked of the processes themselves."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spank.stage import TRAIN, Stage, build

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    build(folder)
    return folder


@pytest.fixture
def stage(tmp_path: Path, tools: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, tools)
    yield stage
    stage.end()


@pytest.fixture
def everyones_stage(open_folder: Path, tools: Path) -> Iterator[Stage]:
    """Where another user may start the programs and write."""
    stage = Stage(open_folder / "stage", open_folder / "tools")
    stage.folder.mkdir()
    stage.folder.chmod(0o777)
    shutil.copytree(tools, stage.tools)
    stage.tools.chmod(0o755)
    yield stage
    stage.end()


# what one process does with the signal


@pytest.mark.parametrize("mode", ["catch", "sigwait", "sigwait-thread", "signalfd"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGRTMIN + 3])
def test_one_that_takes_it_is_signalled_once(stage: Stage, mode: str, number: int) -> None:
    pid = stage.start(stage.actor("one", mode, number=number), "one")
    delivery = stage.send("--signal", int(number))
    assert delivery.outcomes == {pid: "sent"}
    stage.wait_heard("one")


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("default", "which would die from it"),
        ("ignore", "which ignores it"),
        ("half-blocked", "which would die from it"),  # one thread holds the signal back, the other would die of it
    ],
)
def test_one_that_would_not_hear_is_let_be(stage: Stage, mode: str, line: str) -> None:
    pid = stage.start(stage.actor("one", mode), "one")
    delivery = stage.send()
    assert delivery.line == f"no process here catches SIGTERM: actor ({pid}), {line}"
    stage.wait_heard()
    assert stage.alive(pid)


def test_one_that_holds_the_signal_back_is_signalled_where_nothing_below_hears(stage: Stage) -> None:
    pid = stage.start(stage.actor("one", "block"), "one")
    assert stage.send().outcomes == {pid: "sent"}
    stage.wait_heard()
    assert stage.alive(pid)


def test_one_that_holds_the_signal_back_is_walked_through_where_something_below_hears(stage: Stage) -> None:
    stage.start(stage.actor("above", "block", *stage.actor("below", "catch")), "above", "below")
    assert stage.send().outcomes == {stage.pid("below"): "sent"}
    stage.wait_heard("below")


def test_a_wrapper_that_catches_is_the_topmost(stage: Stage) -> None:
    stage.start(stage.actor("above", "catch", *stage.actor("below", "catch")), "above", "below")
    stage.send()
    stage.wait_heard("above")


def test_one_that_has_ended_and_was_not_waited_for_is_no_target(stage: Stage) -> None:
    pid = stage.start(stage.actor("one", "default", "true"), "one")
    until = time.monotonic() + 20
    while any(map(stage.alive, stage.children(pid))) and time.monotonic() < until:
        time.sleep(0.01)
    assert stage.children(pid) != []
    assert stage.send().line == f"no process here catches SIGTERM: actor ({pid}), which would die from it"


@needs_root
def test_processes_of_others_are_let_be(everyones_stage: Stage) -> None:
    stage = everyones_stage
    stage.start(stage.actor("other", "catch"), "other", user=65534)
    delivery = stage.send(uid=1)
    assert delivery.line.endswith("which is another user's")
    stage.wait_heard()
    stage.send(uid=65534)
    stage.wait_heard("other")


# shells


SHELLS = {
    "bash": "trap 'echo shell >>heard' TERM",
    "dash": "trap 'echo shell >>heard' TERM",
    "zsh": "trap 'echo shell >>heard' TERM",
    "mksh": "trap 'echo shell >>heard' TERM",
    "fish": "trap 'echo shell >>heard' TERM",
    "tcsh": "onintr -",
    "busybox": "trap 'echo shell >>heard' TERM",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_with_a_trap_is_walked_through(stage: Stage, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell}")
    argv = [path, *(["sh"] if shell == "busybox" else []), "-c"]
    stage.start([*argv, f"cd '{stage.folder}'; {SHELLS[shell]}; {stage.train} train; true"], "train")
    assert stage.send().outcomes == {stage.pid("train"): "sent"}
    stage.wait_heard("train")
    assert stage.alive(stage.started[0].pid)


def test_a_shell_with_an_exit_trap_is_walked_through(stage: Stage) -> None:
    """Such a bash has a handler for every signal that ends it, and dies of it at once."""
    stage.start(
        ["bash", "-c", f"cd '{stage.folder}'; trap 'echo shell >>heard' EXIT; {stage.train} train; true"], "train"
    )
    stage.send()
    stage.wait_heard("train")
    assert stage.alive(stage.started[0].pid)


def test_a_script_is_a_shell_whatever_its_name(stage: Stage) -> None:
    script = stage.folder / "slurm_script"
    script.write_text(f"#!/bin/bash\ntrap 'echo shell >>heard' TERM\ncd '{stage.folder}'\n{stage.train} train\ntrue\n")
    script.chmod(0o755)
    pid = stage.start([str(script)], "train")
    assert Path(f"/proc/{pid}/comm").read_text() == "slurm_script\n"
    stage.send()
    stage.wait_heard("train")


def test_a_shell_is_signalled_where_that_was_asked_for(stage: Stage) -> None:
    script = f"cd '{stage.folder}'; trap 'echo shell >>heard' TERM; {stage.train} train & wait; wait"
    pid = stage.start(["bash", "-c", script], "train")
    assert stage.send("--shells").outcomes == {pid: "sent"}
    stage.wait_heard("shell")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interactive_shell_is_let_be_even_then(stage: Stage, number: int) -> None:
    """It ignores SIGTERM and has a handler for SIGHUP."""
    keyboard, terminal = pty.openpty()
    on_terminal = "import fcntl, os, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    on_terminal += "os.execlp('bash', 'bash', '--norc', '-i')"
    pid = stage.start([sys.executable, "-c", on_terminal], stdin=terminal)
    os.write(keyboard, f"{stage.train} train\n".encode())
    train = stage.pid("train")
    assert stage.send("--signal", int(number), "--shells").outcomes == {train: "sent"}
    stage.wait_heard("train")
    assert stage.alive(pid)
    os.close(keyboard)
    os.close(terminal)


# programs below a shell


def test_workers_live_until_the_checkpoint_is_written(stage: Stage) -> None:
    """They inherit the handler; after the signal the pool still computes."""
    stage.start(["bash", "-c", f"{stage.train} train workers; true"], "train")
    assert stage.send().outcomes == {stage.pid("train"): "sent"}
    stage.wait_heard("train", "checkpoint 285")


def test_every_branch_has_its_own_target(stage: Stage) -> None:
    stage.start(["bash", "-c", f"{stage.train} a & {stage.train} b & sleep 60 & wait"], "a", "b")
    delivery = stage.send()
    assert delivery.outcomes == {stage.pid("a"): "sent", stage.pid("b"): "sent"}
    assert delivery.line.startswith("SIGTERM to python") and "; python" in delivery.line
    stage.wait_heard("a", "b")


@pytest.mark.parametrize("name", ["srun", "mpirun", "strace"])
def test_a_launcher_that_kills_what_it_runs_is_walked_through(stage: Stage, name: str) -> None:
    launcher = stage.folder / name
    shutil.copy(stage.tools / "actor", launcher)
    argv = [str(launcher), "launcher", "deadly", "15", sys.executable, str(TRAIN), "train"]
    stage.start(argv, "launcher", "train")
    stage.send()
    stage.wait_heard("train")
    assert stage.alive(stage.pid("train"))


def test_the_launcher_of_that_test_would_have_killed_it(stage: Stage) -> None:
    """Under a name that nobody knows, so the test above can fail."""
    stage.start(stage.actor("launcher", "deadly", sys.executable, TRAIN, "train"), "launcher", "train")
    stage.send()
    stage.wait_heard("launcher")
    assert not stage.alive(stage.pid("train"))


@pytest.mark.parametrize("how", ["script", "module"])
def test_torchrun_is_walked_through(stage: Stage, how: str) -> None:
    """A stand-in with its name and its module's, which catches the signal as torchrun does."""
    code = "import signal, subprocess, sys\n"
    code += f"signal.signal(15, lambda *_: open({str(stage.folder / 'heard')!r}, 'a').write('torchrun\\n'))\n"
    code += "[process.wait() for process in [subprocess.Popen([sys.executable, *sys.argv[1:], n]) for n in 'ab']]\n"
    if how == "script":
        path = stage.folder / "torchrun"
        argv = [sys.executable, str(path), str(TRAIN)]
    else:
        path = stage.folder / "torch/distributed/run.py"
        path.parent.mkdir(parents=True)
        for package in (path.parent, path.parent.parent):
            (package / "__init__.py").touch()
        argv = ["env", f"PYTHONPATH={stage.folder}", sys.executable, "-um", "torch.distributed.run", str(TRAIN)]
    path.write_text(code)
    stage.start(argv, "a", "b")
    stage.send()
    stage.wait_heard("a", "b")


@pytest.mark.soak
def test_the_real_torchrun_is_walked_through(stage: Stage) -> None:
    """Of Debian's python3-torch; its words for "no redirection" do not work with Python 3.11."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        pytest.skip("no torch: apt-get install python3-torch")
    options = ["--nproc_per_node", "2", "--redirects", "1", "--tee", "1"]
    pid = stage.start([python, "-m", "torch.distributed.run", *options, str(TRAIN), "rank"])
    ranks = [stage.pid("rank0"), stage.pid("rank1")]
    assert stage.send().outcomes == dict.fromkeys(ranks, "sent")
    stage.wait_heard("rank0", "rank1")
    assert stage.alive(pid)


def test_timeout_is_walked_through(stage: Stage) -> None:
    """It would pass the signal to its whole group, so that workers hear it too and the training twice."""
    pid = stage.start(["timeout", "60", sys.executable, str(TRAIN), "train", "workers"], "train")
    assert stage.send().outcomes == {stage.pid("train"): "sent"}
    stage.wait_heard("train", "checkpoint 285")
    assert stage.alive(pid)


def test_a_go_program_is_let_be(stage: Stage) -> None:
    gron = shutil.which("gron")
    if gron is None:
        pytest.skip("no Go program: apt-get install gron")
    pid = stage.start([gron], stdin=subprocess.PIPE)
    stage.wait_catches(pid)
    assert stage.send().line == f"no process here catches SIGTERM: gron ({pid}), which is a Go program"
    time.sleep(0.2)
    assert stage.alive(pid)


def test_a_java_program_is_signalled_only_where_that_was_asked_for(stage: Stage) -> None:
    java = shutil.which("java")
    if java is None:
        pytest.skip("no Java: apt-get install default-jre-headless")
    pid = stage.start([java, "-Xmx32m", "-m", "java.rmi/sun.rmi.registry.RegistryImpl", "0"])
    until = time.monotonic() + 20
    while "which is a runtime" not in stage.send().line and time.monotonic() < until:
        time.sleep(0.1)
    assert (
        stage.send().line
        == f"no process here catches SIGTERM: java ({pid}), which is a runtime that always exits on it"
    )
    assert stage.alive(pid)
    assert stage.send("--jvms").outcomes == {pid: "sent"}
    assert stage.started[0].wait(20) == 143


# where the tree alone does not lead


@needs_root
def test_a_python_in_a_pid_namespace_is_found(stage: Stage) -> None:
    argv = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, str(TRAIN), "train"]
    pid = stage.start(argv, "train")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert stage.pid("train") == 1
    stage.known = {int(child) for child in children}
    assert stage.send().outcomes == {int(children[0]): "sent"}
    stage.wait_heard("train")
    assert stage.alive(pid)


def test_a_daemon_that_went_to_the_step_daemon_is_found(stage: Stage) -> None:
    command = ["bash", "-c", f"setsid {stage.train} daemon & exit"]
    stepd = stage.start(stage.actor("stepd", "reaper", *command), "stepd", "daemon")
    assert Path(f"/proc/{stage.pid('daemon')}/stat").read_text().rpartition(")")[2].split()[1] == str(stepd)
    assert stage.send("--stepd", stepd, roots=()).outcomes == {stage.pid("daemon"): "sent"}
    stage.wait_heard("daemon")


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A step's folder with one of its own below, as a container or Slurm itself makes it."""
    for top in map(Path, ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup", "/sys/fs/cgroup/unified")):
        step = top / f"adminkit_test_{os.getpid()}" / "job_1" / "step_0"
        if not (top / "cgroup.procs").exists() or not os.access(top, os.W_OK):
            continue
        (step / "user" / "task_0").mkdir(parents=True)
        yield step
        for folder in (step / "user" / "task_0", step / "user", step, step.parent, step.parent.parent):
            until = time.monotonic() + 5
            while (folder / "cgroup.procs").read_text().strip() and time.monotonic() < until:
                time.sleep(0.02)
            folder.rmdir()
        return
    pytest.skip("no cgroup can be made here")


def test_a_daemon_is_found_through_the_cgroup(stage: Stage, cgroup: Path) -> None:
    """Nothing connects it with the task but the folder; workers in the same folder are still below their parent."""
    enter = f"echo $$ >'{cgroup}/user/task_0/cgroup.procs'"
    script = (
        f"{enter}; (setsid {stage.train} daemon workers &); echo $$ >'{cgroup}/cgroup.procs'; exec {stage.train} task"
    )
    stage.start(["bash", "-c", script], "daemon", "task")
    delivery = stage.send("--cgroup", cgroup, roots=())
    assert delivery.outcomes == {stage.pid("daemon"): "sent", stage.pid("task"): "sent"}
    stage.wait_heard("daemon", "task", "checkpoint 285")
    stage.end()


def test_a_cgroup_that_is_gone_leaves_the_tree(stage: Stage) -> None:
    stage.start(["bash", "-c", f"{stage.train} train; true"], "train")
    assert stage.send("--cgroup", "/sys/fs/cgroup/no/such/step").outcomes == {stage.pid("train"): "sent"}
    stage.wait_heard("train")
