"""A stage for real processes: starts them, has spank/ckpt/signal_send.c signal them, and asks them which heard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
SPANK = HERE.parents[1] / "spank"
TRAIN = HERE / "train.py"
PARTS = (
    *("common/cgroup", "common/proc_parse"),
    *("ckpt/known_programs", "ckpt/proc_read", "ckpt/signal_send", "ckpt/snapshot", "ckpt/targets"),
)
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread", f"-I{SPANK}")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build(folder: Path) -> None:
    """`send`, with sanitizers, and `actor`, without: neither it nor what it is copied to is looked into."""
    sources = [str(SPANK / f"{part}.c") for part in PARTS]
    subprocess.run(["cc", *FLAGS, *SANITIZE, "-o", folder / "send", HERE / "send.c", *sources], check=True)
    subprocess.run(["cc", *FLAGS, "-o", folder / "actor", HERE / "actor.c"], check=True)


@dataclass(frozen=True)
class Delivery:
    line: str  # for the job's stderr
    outcomes: Mapping[int, str]  # by pid: sent, not-target, gone, changed, refused


@dataclass
class Stage:
    folder: Path
    tools: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    known: set[int] = field(default_factory=set)  # pids to end with the stage, whoever started them

    @property
    def train(self) -> str:
        """The start of a shell's command that runs train.py."""
        return f"'{sys.executable}' '{TRAIN}'"

    def actor(self, name: str, mode: str, *command: str | Path, number: int = signal.SIGTERM) -> list[str]:
        return [str(self.tools / "actor"), name, mode, str(int(number)), *map(str, command)]

    def start(
        self, argv: list[str], *names: str, stdin: int | None = subprocess.DEVNULL, user: int | None = None
    ) -> int:
        """Its pid, once all processes with these names are ready."""
        env = {**os.environ, "STAGE": str(self.folder)}
        process = subprocess.Popen(argv, env=env, stdin=stdin, start_new_session=True, user=user)
        self.started.append(process)
        for name in names:
            self.pid(name)
        return process.pid

    def pid(self, name: str) -> int:
        """The pid of one that is ready, waited for; as seen from here also where it is in a pid namespace."""
        path = self.folder / f"ready.{name}"
        until = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < until, f"{name} has not started"
            time.sleep(0.01)
        pid = int(path.read_text())
        self.known.add(pid)
        return pid

    def children(self, process: int) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]

    def heard(self) -> list[str]:
        path = self.folder / "heard"
        return sorted(path.read_text().split("\n")[:-1]) if path.exists() else []

    def wait_heard(self, *expected: str) -> None:
        """These and no others hear: one that is signalled by mistake would within the same 0.2 s."""
        until = time.monotonic() + 10
        while self.heard() != sorted(expected) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        assert self.heard() == sorted(expected)

    def send(self, *flags: object, roots: Sequence[int] | None = None, uid: int | None = None) -> Delivery:
        """ck_deliver() for us, with the first started process as the task, unless something else is said."""
        who = os.getuid() if uid is None else uid
        tasks = [self.started[0].pid] if roots is None else roots
        argv = [str(self.tools / "send"), "--uid", str(who), *map(str, (*flags, *tasks))]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == "", done.stderr + done.stdout
        line, *rest = done.stdout.splitlines()
        return Delivery(line, {int(pid): outcome for pid, outcome, *_ in map(str.split, rest)})

    def wait_catches(self, process: int, number: signal.Signals = signal.SIGTERM) -> None:
        """Until it has a handler: a program that starts has none yet."""
        until = time.monotonic() + 60
        while True:
            status = Path(f"/proc/{process}/status").read_text(errors="replace")
            caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
            if int(caught.split()[1], 16) >> (number - 1) & 1:
                return
            assert time.monotonic() < until, f"{process} catches no {number.name}"
            time.sleep(0.01)

    def alive(self, process: int) -> bool:
        """Runs, rather than being a zombie or gone."""
        try:
            text = Path(f"/proc/{process}/stat").read_text(errors="replace")
        except FileNotFoundError:
            return False
        return text.rpartition(")")[2].split()[0] not in "ZX"

    def end(self) -> None:
        for pid in sorted(self.known):
            if self.alive(pid) and self._is_ours(pid):
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _is_ours(self, pid: int) -> bool:
        try:
            return f"STAGE={self.folder}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
