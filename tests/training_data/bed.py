"""A slow, shared file system to measure on: tests/training_data/slowfs.c, mounted for a while."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("slowfs.c")


@dataclass(frozen=True)
class Speed:
    """What the file system allows: calls and MB (10^6 bytes) a second, 0 for no limit; delays in milliseconds."""

    calls: float = 0
    latency: float = 0
    reading: float = 0
    rate: float = 0

    def words(self) -> list[str]:
        return [f"calls={self.calls}", f"latency={self.latency}", f"reading={self.reading}", f"rate={self.rate}"]


#: 62 files a second, of which each takes 2.2 calls; opens that take long, with no limit to their number; FUSE as it is.
BEDS: Final = {
    "cap": Speed(calls=136, latency=0.5, reading=0.5, rate=278),
    "latency": Speed(latency=5, reading=1, rate=278),
    "none": Speed(),
}


def missing() -> str | None:
    """Why there is no bed here; None where there is one."""
    for program in ("cc", "pkg-config", "fusermount3"):
        if shutil.which(program) is None:
            return f"no {program}: apt-get install gcc pkg-config fuse3 libfuse3-dev"
    if subprocess.run(["pkg-config", "--exists", "fuse3"]).returncode:
        return "no headers of FUSE: apt-get install libfuse3-dev"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened here"
    return None


def build(folder: Path) -> Path:
    """The program, compiled into this folder."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True)
    program = folder / "slowfs"
    warn = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["cc", *warn, "-o", str(program), str(SOURCE), *flags.stdout.split()], check=True)
    return program


@contextmanager
def mounted(program: Path, folder: Path, mount: Path, speed: Speed) -> Iterator[Path]:
    """`folder` as this file system, at `mount`."""
    mount.mkdir(exist_ok=True)
    more = ["-f", "-o", "ro,max_threads=64,max_idle_threads=64"]
    process = subprocess.Popen([str(program), str(folder), str(mount), *speed.words(), *more])
    try:
        until = time.monotonic() + 20
        while not mount.is_mount():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("slowfs did not start")
            time.sleep(0.02)
        yield mount
    finally:
        subprocess.run(["fusermount3", "-u", "-z", str(mount)], check=False, capture_output=True)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
