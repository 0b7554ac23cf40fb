"""Packed data sets for tests of what is staged: shards of random bytes, and an index of them."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

INDEX = "index.tsv"
MIB = 1 << 20


@dataclass(frozen=True)
class DataSet:
    """A folder with shards 000000.tar, 000001.tar … and their index."""

    folder: Path
    shards: tuple[str, ...]

    @property
    def sums(self) -> list[str]:
        return [hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in self.shards]

    def part(self, number: int) -> str:
        """The name in a node's store of a copy of that shard while it is made from this very file."""
        file = (self.folder / self.shards[number]).stat()
        place = f"{os.major(file.st_dev):x}-{os.minor(file.st_dev):x}-{file.st_ino:x}"
        return f"{self.sums[number]}.{place}.part"

    @property
    def bytes(self) -> int:
        return sum((self.folder / name).stat().st_size for name in self.shards)


def settle(packed: DataSet) -> DataSet:
    """Wait until its files count as written long ago, so that a copy of them is known again."""
    youngest = max((packed.folder / name).stat().st_ctime for name in packed.shards)
    time.sleep(max(0.0, youngest + 3 - time.time()))
    return packed


def data_set(folder: Path, *sizes: int, seed: bytes | None = None) -> DataSet:
    """Shards of these sizes, of bytes that no other call makes, or of a seed's."""
    folder.mkdir(parents=True)
    names = [f"{number:06}.tar" for number in range(len(sizes))]
    lines = []
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        data = os.urandom(size) if seed is None else hashlib.shake_128(seed + bytes([number])).digest(size)
        (folder / name).write_bytes(data)
        lines.append(f"shard\t{name}\t{size}\t1\t{hashlib.sha256(data).hexdigest()}\n")
    write_index(folder, lines)
    return DataSet(folder, tuple(names))


def write_index(folder: Path, shards: list[str]) -> None:
    """The lines of shards, as `adminkit data pack` writes them, without files."""
    text = f"adminkit-data\t1\nseed\t1\norder\tshuffled\nshards\t{len(shards)}\n{''.join(shards)}"
    (folder / INDEX).write_text(f"{text}end\t{hashlib.sha256(text.encode()).hexdigest()}\n")
