"""Runs parts at the same time: prints the output of each when it ends, and leaves no process when all have ended."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

from tests.cluster.harness import ending
from tests.cluster.harness.processes import environment, pids, start_time
from tests.setup import memory
from tests.setup.parts import ROOT, Part

#: In the environment of everything that a part starts.
MARK: Final = "ADMINKIT_PART"
NOTHING_COLLECTED: Final = 5  # pytest's exit code
PATIENCE: Final = 30.0  # seconds that a part has to clean up in
WIDTH: Final = 200  # characters of a failed test's message
STILL: Final = 60.0  # seconds after which the running parts are printed again


@dataclass(frozen=True)
class Result:
    name: str
    state: str  # passed, failed, not run
    seconds: float = 0.0
    reason: str = ""
    tests: tuple[str, ...] = ()  # pytest's line on each that failed
    online: bool = False  # as Part.online

    def __str__(self) -> str:
        said = f"{self.state}: {self.reason}" if self.reason else self.state
        took = f"  ({self.seconds:.0f} s)" if self.state != "not run" else ""
        return "\n".join((f"  {self.name:28} {said}{took}", *(f"    {test[:WIDTH]}" for test in self.tests)))


@dataclass
class Running:
    """A part that was started. `output` is None where it writes to the terminal itself."""

    part: Part
    process: subprocess.Popen[bytes]
    output: IO[bytes] | None
    mark: str
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def too_long(self) -> bool:
        return self.part.seconds is not None and self.seconds > self.part.seconds

    def left(self) -> list[int]:
        """Processes of the part, in whatever session they are; those of its test clusters have another mark."""
        return [pid for pid in pids() if environment(pid).get(MARK) == self.mark and start_time(pid) is not None]


def run(parts: Sequence[Part], at_once: int = 2) -> list[Result]:
    """Run the parts in their order, so many at a time; their results in that order. A failure stops no other part.

    Interrupted, by Ctrl-C or SIGTERM, it ends all that they started and then itself.
    """
    waiting, running, results = list(parts), list[Running](), dict[str, Result]()
    said = time.monotonic()
    with _interruptible():
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    part = waiting.pop(0)
                    begun = _begin(part, at_once > 1)
                    if isinstance(begun, Result):
                        results[part.name] = begun
                    else:
                        running.append(begun)
                for one in [one for one in running if one.process.poll() is not None or one.too_long]:
                    results[one.part.name] = _finish(one)
                    running.remove(one)
                if time.monotonic() - said > STILL and running:
                    said = time.monotonic()
                    _say("-- at work: " + ", ".join(f"{one.part.name} ({one.seconds:.0f} s)" for one in running))
                time.sleep(0.1)
        except BaseException:
            _say("\nending what was started …")
            end(running)
            raise
    return [results[part.name] for part in parts]


def end(running: Sequence[Running]) -> None:
    """Interrupt parts as Ctrl-C does, give them time to clean up, then kill what is left, test clusters too."""
    with _deaf():
        for one in running:
            if one.process.poll() is None:
                os.killpg(one.process.pid, signal.SIGINT)
            else:
                _signal(one.left(), signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and any(one.process.poll() is None or one.left() for one in running):
            time.sleep(0.1)
        for one in running:
            _signal(one.left(), signal.SIGKILL)
            while one.left() and time.monotonic() < until + PATIENCE:
                time.sleep(0.05)
                _signal(one.left(), signal.SIGKILL)  # what was started meanwhile
            one.process.wait()
        if running and os.geteuid() == 0:
            for folder in ending.clear_abandoned():
                _say(f"ended the private Slurm in {folder}")


def _begin(part: Part, keep: bool) -> Running | Result:
    verdict = part.obstacle()
    if verdict is not None:
        lines = (f"\n== {part.name}", f"{part.name} part not run: {verdict.reason}", verdict.detail, verdict.hint)
        _say("\n".join(line for line in lines if line))
        return Result(part.name, "not run", reason=verdict.reason, online=part.online)
    _say(f"-- {part.name} begins" if keep else f"\n== {part.name}")
    output = tempfile.TemporaryFile() if keep else None  # noqa: SIM115
    mark = secrets.token_hex(8)
    command = memory.with_tmp(part.command) if part.in_memory else part.command
    command = ("nice", "-n", "10", *command) if part.gentle and keep else command
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if keep else None,
        process_group=0,
    )
    return Running(part, process, output, mark)


def _finish(one: Running) -> Result:
    code = one.process.poll()
    if code is None or one.left():
        end([one])
    text = b""
    if one.output is not None:
        one.output.seek(0)
        text = one.output.read()
        one.output.close()
    result = _judge(one, code, text.decode(errors="replace"))
    if one.output is not None:
        _say(f"\n== {one.part.name}: {result.state} ({result.seconds:.0f} s)")
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    return result


def _judge(one: Running, code: int | None, text: str) -> Result:
    name, pytest = one.part.name, "pytest" in one.part.command
    if code is None:
        return Result(name, "failed", one.seconds, f"no end within {one.part.seconds:.0f} s")
    if code == NOTHING_COLLECTED and pytest:
        return Result(name, "not run", reason="there is no such test")
    if code:
        tests = re.findall(r"^(?:FAILED|ERROR) .+", text, re.MULTILINE) if pytest else []
        return Result(name, "failed", one.seconds, f"exit {code}", tuple(tests))
    skipped = re.findall(r"(\d+) skipped.* in [\d.]+s", text) if pytest else []
    reason = f"{skipped[-1]} skipped, named above with the reason" if skipped else ""
    return Result(name, "passed", one.seconds, reason)


def _signal(processes: Sequence[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP leave the block as Ctrl-C does.

    A shell's `&` has SIGINT ignored and nohup SIGHUP, and both are inherited. nohup is kept to; SIGINT interrupts
    all the same, for a part that inherited the ignoring could not be told to clean up.
    """

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    handlers: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: leave}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = leave
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Ignore signals while cleaning up, which ends by itself."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
