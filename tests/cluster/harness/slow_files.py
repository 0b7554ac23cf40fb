"""A mounted file system that answers slowly (tests/support/slow_files.c)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "support/slow_files.c"


def build(into: Path) -> Path:
    program = into / "slow_files"
    flags = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread")
    subprocess.run(["cc", *flags, "-o", program, SOURCE], check=True)
    return program


@contextmanager
def mounted(program: Path, folder: Path, *numbers: float) -> Iterator[Path]:
    """`folder`, mounted until the end. `numbers`: FILES SIZE META_MS META_OPS MB_S of the program."""
    folder.mkdir()
    words = [str(program), str(folder), *map(str, numbers)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield folder
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)
    folder.rmdir()


@contextmanager
def stopped(folder: Path) -> Iterator[None]:
    """The program that answers for `folder` answers nobody until the end."""
    (process,) = (
        int(one.parent.name)
        for one in Path("/proc").glob("[0-9]*/cmdline")
        if str(folder).encode() in one.read_bytes().split(b"\0")[1:2]
    )
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
