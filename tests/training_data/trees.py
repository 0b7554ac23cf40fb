"""Folders of files to pack, and what is in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from adminkit.data.index import open_index
from adminkit.data.labels import Labels
from adminkit.data.pack import Packed, Wanted
from adminkit.data.pack import pack as pack_files

SMALL = 1 << 14


def make(folder: Path, files: Mapping[str, bytes | Path]) -> Path:
    """A folder with these files; a Path is what a link leads to."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    return folder


def some(count: int = 40, size: int = 3000) -> dict[str, bytes | Path]:
    """Two classes of samples of two files each, one empty file, one long one, a link."""
    files: dict[str, bytes | Path] = {}
    for number in range(count):
        name = f"{'cat' if number % 3 else 'dog'}/{number:04}"
        files[f"{name}.jpg"] = bytes([number % 251]) * (size + 7 * number)
        files[f"{name}.cls"] = str(number).encode()
    files["cat/empty.jpg"] = b""
    files["dog/long.bin"] = os.urandom(64) * (3 << 14)
    files["dog/link.jpg"] = Path("0000.jpg")
    return files


def found(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with what is in it; of a link what it leads to."""
    inside: dict[str, bytes | str] = {}
    for above, _, names in os.walk(folder):
        for name in names:
            path = Path(above, name)
            shown = str(path.relative_to(folder))
            inside[shown] = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return inside


def pack(source: Path, out: Path, seed: int | None = 0, labels: Path | None = None, size: int = SMALL) -> Packed:
    return pack_files(source, out, Wanted(seed, Labels(labels), size, readers=3))


def names(folder: Path) -> list[str]:
    """The names in a data set, in its order."""
    with open_index(folder) as index:
        return [entry.name for entry in index.entries()]
