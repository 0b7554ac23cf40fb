"""Start daemons, write them down, end only what was written down.

The ledger is `processes.json` in the cluster's private folder. A process is known by its pid and its start time (and
the ledger by the boot of the machine), so a pid that was given to somebody else since is never signalled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LEDGER = "processes.json"
PROC = Path("/proc")


class ClusterError(Exception):
    """The cluster did not do what was asked; the message ends with what its logs say."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process that was started here. `started` is in clock ticks since boot, as in /proc/PID/stat."""

    name: str
    pid: int
    started: int


def start_time(pid: int, proc: Path = PROC) -> int | None:
    """When `pid` started, in clock ticks since boot; None when it is gone or only waits to be reaped."""
    try:
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def parent(pid: int, proc: Path = PROC) -> int:
    """The parent of `pid`; 0 when it is gone."""
    try:
        return int((proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def environment(pid: int, proc: Path = PROC) -> dict[str, str]:
    """The environment `pid` was started with; empty when it is gone or not ours to read."""
    try:
        raw = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.decode(errors="replace").partition("=") for item in raw.split(b"\0") if b"=" in item)
    return {key: value for key, _, value in pairs}


def program(pid: int, proc: Path = PROC) -> str:
    """The name of the program `pid` runs, from its executable (Debian's is slurmd-wlm: slurmd), else its short name."""
    folder = proc / str(pid)
    try:
        name = (folder / "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        try:
            name = (folder / "comm").read_text(errors="replace").strip()
        except OSError:
            name = ""
    return name.removesuffix("-wlm").removesuffix("-wlm-emulator")


def inside(pid: int, folder: Path, proc: Path = PROC) -> bool:
    """Whether `pid` works in `folder` or below it."""
    try:
        return (proc / str(pid) / "cwd").readlink().is_relative_to(folder)
    except OSError:
        return False


def pids(proc: Path = PROC) -> list[int]:
    return sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())


def boot_id(proc: Path = PROC) -> str:
    try:
        return (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def until(what: str, ready: Callable[[], Any], seconds: float, pause: float = 0.1) -> Any:
    """Ask `ready` until it says yes and return its answer; ClusterError after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        answer = ready()
        if answer:
            return answer
        if time.monotonic() > end:
            raise ClusterError(f"waited {seconds:g} s for {what}")
        time.sleep(pause)


class Ledger:
    """What was started under one folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def read(self) -> list[Process]:
        """Everything written down since this boot of the machine, oldest first."""
        book = self._book()
        return [Process(**entry) for entry in book["processes"]] if book["boot"] == boot_id() else []

    def alive(self) -> list[Process]:
        return [process for process in self.read() if start_time(process.pid) == process.started]

    def find(self, name: str) -> Process | None:
        """The living process of that name."""
        return next((process for process in reversed(self.alive()) if process.name == name), None)

    def owner(self) -> Process | None:
        """Who must be alive for the cluster to be in use; None where it was started to stay."""
        entry = self._book()["owner"]
        return Process(**entry) if entry else None

    def abandoned(self) -> bool:
        """Whether the cluster's owner died without stopping it."""
        owner = self.owner()
        return owner is not None and (self._book()["boot"] != boot_id() or start_time(owner.pid) != owner.started)

    def own(self, pid: int | None) -> None:
        """Begin a new ledger that belongs to `pid`, or to nobody in particular."""
        owner = Process("owner", pid, start_time(pid) or 0) if pid else None
        self._write({"boot": boot_id(), "owner": asdict(owner) if owner else None, "processes": []})

    def start(self, name: str, command: Sequence[str | Path], env: Mapping[str, str], log: Path) -> Process:
        """Start `command` in a session of its own, its output in `log`, and write it down."""
        with log.open("ab") as output:
            child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=log.parent,
                start_new_session=True,
            )
        process = Process(name, child.pid, start_time(child.pid) or 0)
        self._children[child.pid] = child
        book = self._book()
        book["processes"] = [asdict(old) for old in self.alive() if old.name != name] + [asdict(process)]
        self._write(book)
        return process

    def signal(self, process: Process, number: int) -> bool:
        """Send a signal to that very process; False when it is gone."""
        if start_time(process.pid) != process.started:
            return False
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def stop(self, process: Process, seconds: float = 15.0) -> None:
        """End it with SIGTERM, after `seconds` with SIGKILL, and wait until it is gone."""
        for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 10.0)):
            if not self.signal(process, number):
                break
            try:
                until(process.name, lambda: self._gone(process), patience, pause=0.05)
            except ClusterError:
                continue
            break
        if not self._gone(process):
            raise ClusterError(f"{process.name} (pid {process.pid}) does not end")

    def _gone(self, process: Process) -> bool:
        child = self._children.get(process.pid)
        if child is not None:
            child.poll()
        return start_time(process.pid) != process.started

    def _book(self) -> dict[str, Any]:
        try:
            book: dict[str, Any] = json.loads(self.path.read_text())
        except FileNotFoundError:
            book = {"boot": boot_id(), "owner": None, "processes": []}
        return book

    def _write(self, book: dict[str, Any]) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(book, indent=1) + "\n")
        fresh.chmod(0o644)  # whatever the umask: the guard trusts no ledger that others may write
        fresh.replace(self.path)
