"""Staging (docs/staging.md): epochs over copied shards, the copy counted, against 16 readers of files, on a file system
that limits opens; and the copy itself, against cp. By the program that copies, without Slurm. Needs root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.bench.bench_data import ON_BED, STUDY, _Files, _make, _read
from tests.bench.pairs import Ratio, compare
from tests.spank.stage_program import Node, build, made
from tests.training_data import bed

READY, PART = 1, 2
PAIRS = 5
#: Files that are read one by one in a run.
AT_A_TIME = 200
#: Mode and epochs -> how many times as fast, at least.
TARGETS = {("first", 3): 10.0, ("behind", 3): 12.0, ("first", 1): 6.0, ("behind", 1): 9.0}


def run(rows: int, folder: Path) -> list[Ratio]:
    """`rows` is not used: the set is as large as that of the study's node, 432 MB."""
    why = bed.missing() or (None if os.geteuid() == 0 else "only root can stage")
    if why:
        print(f"staging: not run: {why}")
        return []
    place = (folder / "staging").resolve()
    shutil.rmtree(place, ignore_errors=True)
    (place / "root").mkdir(parents=True)
    try:
        return list(_ratios(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _ratios(place: Path) -> Iterator[Ratio]:
    root = place / "root"
    _make(root / "files", ON_BED, STUDY)
    words = [sys.executable, "-m", "adminkit", "data", "pack", str(root / "files"), str(root / "set")]
    subprocess.run([*words, "--shard-size", "26"], check=True, capture_output=True)
    slow, program = bed.build(place), build(place, "-O2")
    with bed.mounted(slow, root, place / "mount", bed.BEDS["cap"]) as mount:
        files = _Files(sorted((mount / "files").rglob("*.jpg")), AT_A_TIME)
        epoch = ON_BED * STUDY / 1e8  # files.seconds() is for 100 MB
        for (mode, epochs), target in TARGETS.items():
            yield compare(
                f"cap: --data=…:{mode}, {epochs} epochs with the copy, against files",
                lambda mode=mode, epochs=epochs: _staged(place, program, mount / "set", mode, epochs),
                lambda epochs=epochs: epochs * epoch * files.seconds(),
                target,
                pairs=PAIRS,
            )  # fmt: skip
        what = "cap: the copy, against cp"
        yield compare(what, lambda: _copied(place, program, mount / "set"), lambda: _cp(place, mount / "set"), 0.8)


@contextmanager
def _node(place: Path, program: Path) -> Iterator[Node]:
    """A node with an empty cache."""
    shutil.rmtree(place / "node", ignore_errors=True)
    (place / "node").mkdir()
    node = made(program, place / "node")
    node.user = pwd.getpwuid(0)  # the file system is root's
    yield node


def _evicted(shared: Path) -> None:
    for path in shared.iterdir():
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _until(node: Node, phase: int) -> None:
    while (now := node.phase()) < phase:
        if now == 0 and not node.runs():
            raise RuntimeError("the program ended at once")
        time.sleep(0.005)


def _staged(place: Path, program: Path, shared: Path, mode: str, epochs: int) -> float:
    """Seconds until two readers have read every shard so many times, the copy counted."""
    _evicted(shared)
    with _node(place, program) as node:
        began = time.monotonic()
        node.start(shared, mode=mode)
        _until(node, PART if mode == "first" else READY)
        for _ in range(epochs):
            _epoch(sorted(node.folder.glob("*.tar")))
        seconds = time.monotonic() - began
        node.ended()
    return seconds


def _epoch(shards: Sequence[Path]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_read, shards))


def _copied(place: Path, program: Path, shared: Path) -> float:
    _evicted(shared)
    with _node(place, program) as node:
        began = time.monotonic()
        node.start(shared)
        _until(node, PART)
        return time.monotonic() - began


def _cp(place: Path, shared: Path) -> float:
    _evicted(shared)
    shutil.rmtree(place / "copy", ignore_errors=True)
    began = time.monotonic()
    subprocess.run(["cp", "-r", shared, place / "copy"], check=True)
    return time.monotonic() - began
