"""Fake programs that answer from this process: real programs, but none that starts Python for each question.

answered(folder / "bin", ("sacct", "squeue"), answer)

`answer` is called in a thread of its own with a Question and returns an Answer; where it fails, so does the program.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socketserver
import struct
import subprocess
import tempfile
import threading
import traceback
from calendar import timegm
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """What a program was run with."""

    name: str
    args: list[str]
    time_format: str  # $SLURM_TIME_FORMAT, or empty
    typed: str = ""  # what it read


@dataclass(frozen=True, slots=True)
class Answer:
    out: str = ""
    err: str = ""
    code: int = 0


_ANSWERS: dict[Path, Callable[[Question], Answer]] = {}


def answered(folder: Path, names: Sequence[str], answer: Callable[[Question], Answer]) -> None:
    """Programs of these names in the folder, which is made."""
    folder.mkdir(parents=True)
    _ANSWERS[folder.resolve()] = answer
    for name in names:
        shutil.copy(_program(), folder / name)


def seconds(text: str) -> int:
    """Of a time that a program is given, in UTC."""
    date, _, clock = text.partition("T")
    return timegm((*map(int, date.split("-")), *map(int, clock.split(":"))))


def seal_of(asked: Question) -> str:
    """What the program is to print behind the digits of each time."""
    assert asked.time_format.startswith("%s"), "without a seal"
    return asked.time_format.removeprefix("%s")


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        program, time_format, typed, *args = map(os.fsdecode, self.rfile.read().split(b"\0")[:-1])
        path = Path(program)
        try:
            found = _ANSWERS[path.parent](Question(path.name, args, time_format, typed))
        except Exception:
            found = Answer(err=traceback.format_exc(), code=1)
        err = os.fsencode(found.err)
        self.wfile.write(struct.pack("=BI", found.code, len(err)) + err + os.fsencode(found.out))


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that was killed hears no answer."""


@cache
def _program() -> Path:
    """The program, which knows where this process listens from now on."""
    folder = Path(tempfile.mkdtemp(prefix="adminkit-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made, socket = folder / "program", folder / "socket"
    source = Path(__file__).with_suffix(".c")
    strict = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *strict, f'-DSOCKET="{socket}"', "-o", made, source], check=True)
    threading.Thread(target=_Server(str(socket), _Handler).serve_forever, daemon=True).start()
    return made
