"""On a file system that limits how many files are opened: what is forecast is what packing then gives."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from adminkit.data.forecast import forecast
from adminkit.data.pack import Wanted, pack
from adminkit.data.probe import Asked, probe
from tests.training_data import bed
from tests.training_data.bed import Speed
from tests.training_data.trees import names

pytestmark = pytest.mark.soak

SAMPLE: Final = 270_000
#: The beds at a third of their speed, so that the limits are met on a busy machine, too.
THIRDS: Final = {
    "cap": Speed(calls=62, latency=0.5, reading=0.5, rate=93),
    "latency": Speed(latency=15, reading=3, rate=93),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bed")
    for number in range(1200):
        (folder := place / f"root/files/{number % 12:02}").mkdir(parents=True, exist_ok=True)
        (folder / f"{number:05}.jpg").write_bytes(random.randbytes(SAMPLE))
    pack(place / "root/files", place / "root/set", Wanted(shard_bytes=32 << 20))
    return place


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if why := bed.missing():
        pytest.skip(f"not run: {why}")
    return bed.build(tmp_path_factory.mktemp("slowfs"))


def rate(paths: list[Path], readers: int) -> float:
    """Bytes per second of reading these files, so many at a time."""

    def read(path: Path) -> int:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            return sum(map(len, iter(lambda: os.read(handle, 1 << 20), b"")))
        finally:
            os.close(handle)

    started = time.monotonic()
    with ThreadPoolExecutor(readers) as pool:
        size = sum(pool.map(read, paths))
    return size / (time.monotonic() - started)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Path]:
    """A fast local disk: in memory, where there is such a place."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def staged(shards: list[Path], to: Path, epochs: int) -> float:
    """Bytes per second of epochs that read a copy, which is made first."""
    started, size = time.monotonic(), 0
    copies = [to / path.name for path in shards]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(shutil.copyfile, shards, copies))
    for _ in range(epochs):
        size += sum(path.stat().st_size for path in copies)
        rate(copies, 1)
    return size / (time.monotonic() - started)


@pytest.mark.parametrize("name", THIRDS)
def test_the_forecast_of_each_way_to_read_is_within_a_fifth(data: Path, program: Path, local: Path, name: str) -> None:
    with bed.mounted(program, data / "root", data / "mount", THIRDS[name]) as mount:
        found = probe(Asked(mount / "files", mount / "set/000000.tar", local, seed=1))
        given = forecast(found.measured)
        files = sorted((mount / "files").rglob("*.jpg"))
        random.Random(5).shuffle(files)
        count = 150 if name == "cap" else 600
        shards = sorted((mount / "set").glob("*.tar"))[1:]
        read = {
            "files": (given.files, rate(files[:count], found.measured.best.readers)),
            "packed": (given.packed, rate(shards, 4)),
            "staged, three epochs": (given.staged_over(3), staged(shards, local, 3)),
        }
    assert found.measured.is_capped == (name == "cap")
    for what, (foretold, really) in read.items():
        assert foretold is not None
        print(f"{name}, {what}: {foretold / 1e6:.1f} MB/s foretold, {really / 1e6:.1f} MB/s read")
        assert 0.8 <= foretold / really <= 1.2, (name, what, foretold / 1e6, really / 1e6)


def test_a_pack_reads_many_files_at_a_time(data: Path, program: Path) -> None:
    """Where opens take long, and are not limited."""
    with bed.mounted(program, data / "root", data / "mount", Speed(latency=20)) as mount:
        started = time.monotonic()
        pack(mount / "files", data / "again", Wanted(shard_bytes=32 << 20))
        took = time.monotonic() - started
    assert names(data / "again") == names(data / "root/set")
    assert took < 1200 * 2 * 0.020, "one at a time takes longer"


def test_webdataset_reads_every_sample(tmp_path: Path, make_set: Callable[[Path], dict[str, bytes]]) -> None:
    """As it is on the package index today, in an environment of its own."""
    expected = make_set(tmp_path / "set")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    made = subprocess.run([python, "-m", "pip", "install", "-q", "webdataset"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"not run: {made.stderr.strip()[-200:]}")
    shards = sorted(map(str, (tmp_path / "set").glob("*.tar")))
    script = (
        "import sys, webdataset as wds\n"
        "for sample in wds.WebDataset(sys.argv[1:], shardshuffle=False):\n"
        "    fields = {name: sample[name] for name in sample if not name.startswith('__')}\n"
        "    for name, data in fields.items():\n"
        "        print(f\"{sample['__key__']}.{name}\\t{data.hex()}\\t{len(fields)}\")\n"
    )
    done = subprocess.run([python, "-c", script, *shards], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert {name: bytes.fromhex(data) for name, data, _ in rows} == expected
    assert {fields for _, _, fields in rows} == {"2"}, "a sample's two files come together"


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[[Path], dict[str, bytes]]:
    def make(out: Path) -> dict[str, bytes]:
        files = {}
        for number in range(300):
            for ending in ("jpg", "cls"):
                name = f"{'cat' if number % 2 else 'dog.v2'}/{number:04}.{ending}"
                files[name] = random.Random(name).randbytes(number * 7)
                (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "in" / name).write_bytes(files[name])
        pack(tmp_path / "in", out, Wanted(shard_bytes=64 << 10))
        assert len(list(out.glob("*.tar"))) > 5
        return files

    return make


def test_a_pack_that_is_killed_at_any_moment_continues(data: Path, tmp_path: Path) -> None:
    """Forty times, by SIGKILL."""
    script = "import sys; from adminkit.cli.main import main; sys.exit(main(sys.argv[1:]))"
    out = tmp_path / "out"
    words = [sys.executable, "-c", script, "data", "pack", str(data / "root/files"), str(out), "--shard-size", "4"]
    luck = random.Random(3)
    for _ in range(40):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(luck.uniform(0.3, 2.5))
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(words, check=False, capture_output=True)
    pack(data / "root/files", tmp_path / "whole", Wanted(shard_bytes=4 << 20))
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in out.iterdir()} == whole
