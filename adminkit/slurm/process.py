"""The only module that starts Slurm's programs: an argument list, no shell, a time limit, errors with hints.

Programs are found below slurm_prefix or on PATH. Their environment is the caller's with the clock in UTC, times as
epoch seconds, messages in English, lists of array tasks whole, and without the variables that quietly change what is
asked (SLURM_CLUSTERS, SACCT_FORMAT, SQUEUE_STATES …).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from adminkit import config
from adminkit.errors import AdminkitError, cause
from adminkit.owner import of_children

#: Seconds a small question may take. Trap: scontrol itself tries for 30 s before it says that slurmctld is away.
TIMEOUT: Final = 60.0

#: Variables that would change the question.
_DROPPED: Final = ("SLURM_CLUSTERS", "SACCT_FORMAT", "SACCT_FEDERATION", "SACCT_LOCAL", "SLURM_FEDERATION")

#: What is running now, in whatever thread.
_RUNNING: Final[set[subprocess.Popen[bytes]]] = set()

#: Bytes of an answer that are read at once.
_CHUNK: Final = 1 << 20
#: Bytes of stderr that are kept.
_MOST: Final = 64 * 1024

#: program, kind of message, then the sentence
_PREFIX: Final = re.compile(r"^(?:\w+: )?(?:error|fatal): ")

#: A pattern in a program's output, and the hint for it. The first match counts.
_HINTS: Final = (
    ("Invalid field requested", "this release of sacct lacks the field; `adminkit doctor` lists what it lacks"),
    ("unrecognized job state", "this release of sacct lacks the state"),
    (
        "configuration source|cannot stat file|configuration file",
        "this host has no slurm.conf; run it where Slurm is configured, or set SLURM_CONF",
    ),
    (
        "munge|credential|authentication",
        "check that munged is running here and that the clocks agree: munge -n | unmunge",
    ),
    ("contact slurm controller", "check that slurmctld is running: scontrol ping"),
    (
        "slurm_persist_conn|PersistInit|talking to the database|slurmdbd",
        "check that slurmdbd is running and responds: sacctmgr show cluster",
    ),
    (
        "MaxQueryTimeRange|too (?:large|wide)|RESULT_TOO_LARGE",
        "ask for a shorter window, or raise MaxQueryTimeRange in slurmdbd.conf",
    ),
    ("permission denied|not authorized", "Slurm refuses this user; `adminkit doctor` says which AdminLevel it needs"),
)


@dataclass(frozen=True, slots=True)
class User:
    """Whom a program runs as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


class SlurmTimeout(AdminkitError):
    """The program was stopped at its time limit. Trap: the server may still be busy with the question."""


class Refused(AdminkitError):
    """The program ran and failed. `output` is all that it wrote on stderr, or on stdout where stderr is empty."""

    def __init__(self, message: str, hint: str, output: str) -> None:
        super().__init__(message, hint)
        self.output = output


class NoSuchProgram(AdminkitError):
    """The program is not installed, or not on PATH."""


class NoRoom(AdminkitError):
    """There was no room on the disk for the program's answer."""


def ask(argv: Sequence[str], timeout: float = TIMEOUT, seal: str = "", typed: str = "") -> str:
    """What the program printed. AdminkitError when it is missing, fails or takes more than `timeout` seconds.

    `seal` is a text behind each point in time that it prints (seal.py); `typed` is what it reads.
    """
    with tempfile.TemporaryFile() as answer:
        spool(argv, answer, timeout, seal, typed)
        answer.seek(0)
        return answer.read().decode("utf-8", "replace")


def spool(argv: Sequence[str], target: IO[bytes], timeout: float = TIMEOUT, seal: str = "", typed: str = "") -> float:
    """Run the program with its output into `target`, a real file. Returns the seconds it took; errors as `ask`.

    After an error `target` holds an incomplete answer. At the time limit, and on an interrupt,
    the program is ended with everything it started.
    """
    program = argv[0]
    path = find(program)
    if path is None:
        raise NoSuchProgram(
            f"{program} is not on PATH",
            f"install Slurm's client programs, set slurm_prefix, or add the folder of {program} to PATH",
        )
    started = time.monotonic()
    with tempfile.TemporaryFile() as stderr:
        # Trap: an interrupt inside Popen would leave a program running, so SIGINT waits until `process` is set.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process = None
        try:
            process = _start(path, argv[1:], stderr, seal, typed)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _RUNNING.add(process)
            code = _copy(process, target, timeout)
        except OSError as error:
            raise NoRoom(
                f"couldn't keep the output of {program}: {cause(error)}", "free some space beside the trace and in /tmp"
            ) from error
        except subprocess.TimeoutExpired:
            raise SlurmTimeout(
                f"couldn't run {program}: no response within {timeout:g} s",
                "ask for less, or give it longer ([sync] timeout); check that slurmdbd and slurmctld respond",
            ) from None
        finally:
            if process is not None:
                _end(process)
                _RUNNING.discard(process)
                if process.stdout:
                    process.stdout.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        stderr.seek(0)
        output = stderr.read(_MOST).decode("utf-8", "replace")
    if code:
        raise _failure(program, code, output or _tail(target))
    return time.monotonic() - started


def told(argv: Sequence[str], who: User, timeout: float, seal: str, most: int = 64 * 1024) -> tuple[int, str]:
    """The exit code and all that the program said, stdout and stderr together, run as that user.

    Where that is another one, as root: with nothing of root's environment, and in the root folder. That user may stop
    the program or speak in its place, so its words count only for that user, end at `timeout` and at `most` bytes.
    """
    path = find(argv[0])
    if path is None:
        raise NoSuchProgram(f"{argv[0]} is not on PATH", "install Slurm's client programs, or set slurm_prefix")
    own = who.uid == os.geteuid()
    base = None if own else bare()
    env = {name: value for name, value in environment(base, seal).items() if not name.startswith("SBATCH_")}
    ids: dict[str, Any] = (
        {} if own else {"user": who.uid, "group": who.gid, "extra_groups": list(who.groups), "cwd": "/"}
    )
    try:
        process = subprocess.Popen(
            [path, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env if own else {**env, "HOME": who.home},
            start_new_session=True,
            **ids,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise AdminkitError(f"couldn't run {argv[0]} as uid {who.uid}: {error}", f"look at {path}") from error
    _RUNNING.add(process)
    try:
        with tempfile.TemporaryFile() as target:
            code = _copy(process, target, timeout, most)
            target.seek(0)
            return code, target.read(most).decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        raise SlurmTimeout(
            f"couldn't run {argv[0]}: no response within {timeout:g} s", "check that slurmctld responds: scontrol ping"
        ) from None
    finally:
        _end(process)
        _RUNNING.discard(process)
        assert process.stdout
        process.stdout.close()


def bare() -> dict[str, str]:
    """What a program that runs as another user gets of our environment. Trap: that user can read it, and ours may hold
    passwords and keys.
    """
    return {name: os.environ[name] for name in ("PATH", "SLURM_CONF") if name in os.environ}


def find(program: str) -> str | None:
    """Where a program is: below slurm_prefix of the settings, else on PATH; None when it is nowhere."""
    try:
        prefix = config.load().slurm_prefix
    except AdminkitError:
        prefix = None  # the command that reads the settings reports the mistake
    if prefix is not None and (inside := shutil.which(program, path=f"{prefix}/bin:{prefix}/sbin")):
        return inside
    return shutil.which(program)


def _copy(process: subprocess.Popen[bytes], target: IO[bytes], timeout: float, most: int | None = None) -> int:
    """The answer into `target` until the program has ended; its exit code. OSError where there is no room for it.

    An answer longer than `most` bytes is a TimeoutExpired at once.

    Trap: on a full disk a program of Slurm's that writes the file itself cuts its answer short and exits with 0.
    Children that it leaves hold the pipe open, and are not waited for.
    """
    assert process.stdout
    source, end = process.stdout.fileno(), time.monotonic() + timeout
    with contextlib.suppress(OSError):  # a user may have too many pipes; then it stays as it is
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _CHUNK)
    ready = select.poll()
    ready.register(source, select.POLLIN)
    while True:
        if ready.poll(100):
            chunk = memoryview(os.read(source, _CHUNK))
            if not chunk:
                break
            while chunk:
                chunk = chunk[os.write(target.fileno(), chunk) :]
            if most is not None and os.fstat(target.fileno()).st_size > most:
                raise subprocess.TimeoutExpired(process.args, timeout)
        elif process.poll() is not None:
            break
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, timeout)
    return process.wait(max(0.0, end - time.monotonic()))


def _start(path: str, args: Sequence[str], stderr: IO[bytes], seal: str, typed: str) -> subprocess.Popen[bytes]:
    """The program in a session of its own, so that it can be ended with everything it starts."""
    try:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(typed.encode())
            stdin.seek(0)
            return subprocess.Popen(
                [path, *args],
                stdin=stdin if typed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment(seal=seal),
                start_new_session=True,
                **of_children(),
            )
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't run {Path(path).name}: {why}", f"look at {path}") from error


def end_all() -> None:
    """End every program that is running; the calls that wait for them raise."""
    for process in tuple(_RUNNING):
        _end(process)


def environment(environ: Mapping[str, str] | None = None, seal: str = "") -> dict[str, str]:
    """The environment of a Slurm program."""
    # Without the last, Slurm cuts the tasks of an array that wait to 64 characters, and squeue their id to 31.
    ours = {"TZ": "UTC", "SLURM_TIME_FORMAT": f"%s{seal}", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}
    base = {**(os.environ if environ is None else environ), **ours}
    return {name: value for name, value in base.items() if name not in _DROPPED and not name.startswith("SQUEUE_")}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started: SIGTERM to its process group, after two seconds SIGKILL."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(2)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _tail(target: IO[bytes]) -> str:
    """The end of the answer: scontrol writes its errors to stdout."""
    try:
        size = os.fstat(target.fileno()).st_size
        return os.pread(target.fileno(), 1024, max(0, size - 1024)).decode("utf-8", "replace")
    except OSError:
        return ""


def _failure(program: str, code: int, output: str) -> AdminkitError:
    """The error with the first line of the output, which names the cause, and the last, which names the result."""
    lines = [_PREFIX.sub("", line.strip()) for line in output.splitlines() if line.strip()]
    if code < 0:
        lines.append(f"ended by signal {-code}")
    message = "; ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else f"exit code {code}"
    hint = next(
        (hint for pattern, hint in _HINTS if re.search(pattern, output, re.IGNORECASE)),
        f"run it by hand: {program} says more",
    )
    return Refused(f"couldn't run {program}: {message}", hint, output)
