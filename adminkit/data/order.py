"""Which files are packed, and in which order: by a hash of seed and sample, or as they are named.

A million names take about 100 MB: one object each, a digest and the name. So the order is the same whatever the order
in which the file system lists them, and no sample needs to be opened for it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from adminkit.data.names import ending_of, key_of, wrong
from adminkit.errors import AdminkitError, cause
from adminkit.files import kind
from adminkit.owner import of_somebody_else
from adminkit.quote import quote

#: Bytes of the digest before a name.
_DIGEST: Final = 16
#: Files of one sample that nobody means: names with a date and dots give all files of a day one key.
MANY: Final = 64
MOST: Final = 10_000
#: Names between two ticks.
_TICK: Final = 4096


@dataclass(slots=True)
class Sources:
    """The files of a folder in their order; `names` are relative to it."""

    folder: Path
    _records: list[bytes]
    _prefix: int
    empty: list[str] = field(default_factory=list)  # folders without anything in them
    bare: int = 0  # files that webdataset passes over: without an ending
    crowded: tuple[str, int] | None = None  # the first sample of more than MANY files, and how many

    def __len__(self) -> int:
        return len(self._records)

    def name(self, at: int) -> bytes:
        return self._records[at][self._prefix :]

    def names(self, first: int = 0) -> Iterator[bytes]:
        return (self.name(at) for at in range(first, len(self._records)))


def find(folder: Path, seed: int | None, tick: Callable[[int], None]) -> Sources:
    """All files and links below `folder`, in the order by `seed`, or by name where it is None.

    AdminkitError for what a shard cannot have: before anything is written, and without opening a file.
    """
    refuse_others(folder / "*")
    records: list[bytes] = []
    empty: list[str] = []
    salt = b"" if seed is None else f"{seed}\0".encode()
    for name in _walk(os.fsencode(folder), folder, empty):
        if len(records) % _TICK == 0:
            tick(len(records))
        if (why := wrong(name)) is not None:
            raise AdminkitError(f"{shown(folder, name)} {why}", "rename it, then pack again")
        records.append(_digest(salt, name) + name if salt else name)
    if not records:
        raise AdminkitError(f"{folder} has no files", "name the folder that has the samples")
    records.sort()
    found = Sources(folder, records, _DIGEST if salt else 0, sorted(empty))
    _look(found)
    return found


def _digest(salt: bytes, name: bytes) -> bytes:
    return hashlib.blake2b(salt + key_of(name), digest_size=_DIGEST).digest()


def _look(found: Sources) -> None:
    """Refuse two fields of one name in a sample; count what webdataset passes over and what it puts together."""
    for key, names in groupby(found.names(), key_of):
        endings: dict[bytes, bytes] = {}
        many = 0
        for many, name in enumerate(names, 1):
            ending = ending_of(name)
            if not ending:
                found.bare += 1
            elif ending in endings:
                raise AdminkitError(
                    f"{shown(found.folder, name)} and {shown(found.folder, endings[ending])} are two samples of one"
                    " key: readers of shards do not tell upper case from lower case in an ending",
                    "rename one of them, then pack again",
                )
            else:
                endings[ending] = name
            if many > MOST:
                raise AdminkitError(
                    f"more than {MOST} files, such as {shown(found.folder, name)}, are one sample: their names are the"
                    " same up to the first dot",
                    "rename them, with something else instead of the dots, then pack again",
                )
        if many > MANY and found.crowded is None:
            found.crowded = quote(key.decode()), many


def _walk(root: bytes, top: Path, empty: list[str]) -> Iterator[bytes]:
    """The path of each file and link below root, relative to it; no link is followed."""
    waiting = [b""]
    while waiting:
        inside = waiting.pop()
        found = False
        try:
            if os.geteuid() == 0 and (uid := Path(os.fsdecode(root + b"/" + inside)).stat().st_uid):
                raise _not_roots(shown(top, inside), uid)
            with os.scandir(root + b"/" + inside) as entries:
                for entry in entries:
                    found = True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(inside + entry.name + b"/")
                    else:
                        if not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                            _refuse(top, inside + entry.name, entry)
                        yield inside + entry.name
        except OSError as error:
            raise AdminkitError(
                f"couldn't read {shown(top, inside)}: {cause(error)}", "pack as a user who may read all of it"
            ) from error
        if not found and inside:
            empty.append(shown(top, inside))


def _refuse(top: Path, name: bytes, entry: os.DirEntry[bytes]) -> None:
    words = kind(entry.stat(follow_symlinks=False).st_mode) or "gone"
    raise AdminkitError(
        f"{shown(top, name)} is {words}, and shards have plain files and links only", "move it away, then pack again"
    )


def refuse_others(path: Path) -> None:
    """AdminkitError for root, where somebody else can change what a path leads to while it is used."""
    facts = of_somebody_else(path, itself=False) if os.geteuid() == 0 else None
    if facts is not None:
        raise _not_roots(str(path.parent), facts.st_uid)


def _not_roots(path: str, uid: int) -> AdminkitError:
    return AdminkitError(
        f"uid {uid} can change what is in {path}, so root does not use it", "run it as that user: runuser -u USER -- …"
    )


def shown(folder: Path, name: bytes) -> str:
    """The path of a file, for a message."""
    return f"{folder}/{quote(name.decode(errors='backslashreplace').rstrip('/'), 120)}"
