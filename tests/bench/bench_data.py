"""`adminkit data`: the memory and speed of packing, and what shards and images give on three slow file systems.

The rates of the file systems are those of tests/training_data/bed.py; each file is evicted before it is read.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.bench.pairs import PAIRS, Ratio, compare
from tests.training_data import bed

#: Bytes of memory for a million files, and bytes per second of packing.
MEMORY, RATE = 300 << 20, 150e6
#: A sample of ImageNet as the benchmark DLIO has it, and one of the study.
IMAGENET, STUDY = 114_660, 270_000
#: Files that are packed to measure the rate, and files on the slow file systems.
PACKED, ON_BED = 6000, 1600
#: What a run reads of files one by one, on each.
AT_A_TIME = {"cap": 200, "latency": 800, "none": 800}
#: How many times as fast as 16 readers of files two readers of shards are, at least. Where nothing limits opens it is
#: printed, whatever it is.
TARGETS = {"cap": 10.0, "latency": 0.0, "none": 0.0}
_PACK = (
    "import sys, resource, time; from pathlib import Path; from adminkit.data.pack import Wanted, pack\n"
    "began = time.monotonic(); pack(Path(sys.argv[1]), Path(sys.argv[2]), Wanted())\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)"
)


def run(rows: int, folder: Path) -> list[Ratio]:
    """`rows` is the number of files whose packing is measured in memory."""
    place = folder / "data"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        return [*_packing(rows, place), *_beds(place)]
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _packing(rows: int, place: Path) -> list[Ratio]:
    _make(place / "many", rows, 100)
    memory = _pack(place / "many", place / "out")[2]
    shutil.rmtree(place / "many")
    ratios = [Ratio(f"pack: memory of {rows:,} files", [memory / 2**20], [MEMORY / 2**20], 1.0, at_most=True)]
    print(ratios[0].line().replace(" s,", " MB,").replace(" s)", " MB)"), flush=True)
    _make(place / "samples", PACKED, IMAGENET)
    runs = [_pack(place / "samples", place / "out") for _ in range(PAIRS)]
    shutil.rmtree(place / "samples")
    most = [PACKED * IMAGENET / RATE] * PAIRS
    # The second says what one processor can do where other work slows the first.
    for what, ours in (("", [run[0] for run in runs]), (", processor time", [run[1] for run in runs])):
        what = f"pack: {PACKED:,} files of {IMAGENET:,} B at 150 MB/s{what}"
        ratios.append(Ratio(what, ours, most, 1.0, at_most=True))
        print(ratios[-1].line(), flush=True)
    return ratios


def _make(folder: Path, count: int, size: int) -> None:
    block = random.randbytes(size + count)
    for number in range(count):
        inside = folder / f"{number // 1000:04}"
        if number % 1000 == 0:
            inside.mkdir(parents=True)
        (inside / f"{number:07}.jpg").write_bytes(block[number : number + size])


def _pack(source: Path, out: Path) -> tuple[float, float, float]:
    """Seconds, those of processors, and bytes of memory of a process that packs; what it made is removed."""
    done = subprocess.run([sys.executable, "-c", _PACK, source, out], capture_output=True, text=True, check=True)
    shutil.rmtree(out)
    seconds, processor, memory = map(float, done.stdout.split())
    return seconds, processor, memory


def _beds(place: Path) -> list[Ratio]:
    if why := bed.missing():
        print(f"shards on slow file systems: not run: {why}")
        return []
    root, program = place / "root", bed.build(place)
    _make(root / "files", ON_BED, STUDY)
    words = [sys.executable, "-m", "adminkit", "data", "pack", str(root / "files")]
    subprocess.run([*words, str(root / "set"), "--shard-size", "26"], check=True, capture_output=True)
    image = shutil.which("mksquashfs") and shutil.which("squashfuse_ll")
    if image:
        subprocess.run([*words, str(root / "image"), "--image", "squashfs"], check=True, capture_output=True)
    ratios = []
    for name, speed in bed.BEDS.items():
        with bed.mounted(program, root, place / "mount", speed) as mount:
            files = _Files(sorted((mount / "files").rglob("*.jpg")), AT_A_TIME[name])
            shards = sorted((mount / "set").glob("*.tar"))
            ratios.append(
                compare(
                    f"{name}: shards, 2 readers, against files, 16 readers",
                    lambda shards=shards: _seconds(shards, 2), files.seconds, TARGETS[name],
                )
            )  # fmt: skip
            if image:
                with _image(mount / "image", place / "inside") as inside:
                    those = _Files(sorted(inside.rglob("*.jpg")), AT_A_TIME[name])
                    what = f"{name}: a squashfs image, 16 readers, against files"
                    ratios.append(compare(what, those.seconds, files.seconds, 4.0 if name == "cap" else 0.0))
    return ratios


class _Files:
    """Files that are read in another order each time, a part of them."""

    def __init__(self, paths: list[Path], most: int) -> None:
        self._paths, self._most, self._luck = paths, most, random.Random(1)

    def seconds(self) -> float:
        return _seconds(self._luck.sample(self._paths, self._most), 16)


def _seconds(paths: list[Path], readers: int) -> float:
    """Seconds for 100 MB, read by this number of readers."""
    began = time.monotonic()
    with ThreadPoolExecutor(readers) as pool:
        size = sum(pool.map(_read, paths))
    return (time.monotonic() - began) * 1e8 / size


def _read(path: Path) -> int:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        read: Callable[[], bytes] = lambda: os.read(handle, 1 << 20)  # noqa: E731
        return sum(map(len, iter(read, b"")))
    finally:
        os.close(handle)


@contextmanager
def _image(image: Path, mount: Path) -> Iterator[Path]:
    """An image, mounted as any user may."""
    mount.mkdir(exist_ok=True)
    subprocess.run(["squashfuse_ll", str(image), str(mount)], check=True, capture_output=True)
    try:
        yield mount
    finally:
        subprocess.run(["fusermount3", "-u", "-z", str(mount)], check=False, capture_output=True)
