"""The classes of samples, from a CSV file: `name,class`, where a name is a file's path or its sample's key."""

from __future__ import annotations

import csv
import hashlib
import io
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final, TextIO

from adminkit.data.names import class_of, key_of
from adminkit.errors import AdminkitError, cause
from adminkit.files import open_named
from adminkit.quote import quote

MOST_BYTES: Final = 256 << 20
#: Characters of a class; a line of the index has to stay short.
LONGEST: Final = 255
_DIGEST: Final = 12
_HEADERS: Final = ("name", "file", "filename", "path", "key", "sample", "image", "id")


class Labels:
    """Which class a file has. A million of them take about 60 MB: digests of names, sorted."""

    def __init__(self, path: Path | None = None) -> None:
        self._classes: list[str] = []
        self._records: list[bytes] = []
        self._path, self.digest, self.unknown = path, "", 0
        if path is not None:
            try:
                self._load(path)
            except OSError as error:
                raise AdminkitError(f"couldn't read {path}: {cause(error)}", "check the path of --labels") from error

    def of(self, name: bytes) -> str:
        """The class of a file: as the CSV says, else unknown (empty); without a CSV its folder's name."""
        if not self.digest:
            return class_of(name.decode())
        label = self._find(name)
        self.unknown += not label
        return label or ""

    def refuse_others(self, names: Iterable[bytes]) -> None:
        """AdminkitError where a CSV has a class of none of these files."""
        if self.digest and all(self._find(name) is None for name in names):
            raise AdminkitError(
                f"{self._path} has no class of a file in the folder that is packed",
                "write names as paths below SRC: a/0001.jpg for SRC/a/0001.jpg",
            )

    def _find(self, name: bytes) -> str | None:
        for one in (name, key_of(name)):
            digest = _digest(one)
            at = bisect_left(self._records, digest)
            if at < len(self._records) and self._records[at].startswith(digest):
                return self._classes[int.from_bytes(self._records[at][_DIGEST:], "big")]
        return None

    def _load(self, path: Path) -> None:
        numbers: dict[str, int] = {}
        digest = hashlib.sha256()
        with open_named(path, MOST_BYTES) as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
            file.seek(0)
            text = io.TextIOWrapper(file, "utf-8-sig", newline="")
            rows = csv.reader(text, strict=True)
            try:
                for line, row in enumerate(rows, 1):
                    if not row or (line == 1 and row[0].strip().lower() in _HEADERS):
                        continue
                    if len(row) != 2 or not row[0]:
                        raise _wrong(path, line, "it is not a name and a class")
                    if len(row[1]) > LONGEST:
                        raise _wrong(path, line, f"its class has more than {LONGEST} characters")
                    number = numbers.setdefault(row[1], len(numbers))
                    self._records.append(_digest(_name(row)) + number.to_bytes(4, "big"))
            except UnicodeError as error:
                raise AdminkitError(
                    f"couldn't use line {_line_of(file)} of {path}: it is not UTF-8", "save the file as CSV in UTF-8"
                ) from error
            except csv.Error as error:
                raise _wrong(path, rows.line_num, str(error)) from error
            self._records.sort()
            for one, other in zip(self._records, self._records[1:], strict=False):
                if one[:_DIGEST] == other[:_DIGEST] and one != other:
                    name = quote(_named(text, one[:_DIGEST]), 200)
                    raise AdminkitError(
                        f"{path} gives a name two classes: {name}", "let it have each name once, with its class"
                    )
        self._classes = list(numbers)
        self.digest = digest.hexdigest()


def _name(row: list[str]) -> bytes:
    """The name of a row, without the ./ that find writes before it."""
    return row[0].removeprefix("./").encode()


def _named(text: TextIO, digest: bytes) -> str:
    """The name that has this digest; empty where the file changed meanwhile."""
    text.seek(0)
    return next((_name(row).decode() for row in csv.reader(text) if row and _digest(_name(row)) == digest), "")


def _line_of(file: IO[bytes]) -> int:
    """The number of the first line that is not UTF-8."""
    file.seek(0)
    return next((number for number, line in enumerate(file, 1) if not _is_utf8(line)), 1)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeError:
        return False
    return True


def _digest(name: bytes) -> bytes:
    return hashlib.blake2b(name, digest_size=_DIGEST).digest()


def _wrong(path: Path, line: int, why: str) -> AdminkitError:
    return AdminkitError(f"couldn't use line {line} of {path}: {quote(why)}", "write lines such as a/0001.jpg,cat")
