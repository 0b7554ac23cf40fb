"""The classes of samples, from a CSV file: `name,class`, where a name is a file's path or its sample's key."""

from __future__ import annotations

import csv
import hashlib
import io
from bisect import bisect_left
from pathlib import Path
from typing import Final

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
        self.digest, self.unknown = "", 0
        if path is not None:
            try:
                self._load(path)
            except OSError as error:
                raise AdminkitError(f"couldn't read {path}: {cause(error)}", "check the path of --labels") from error

    def of(self, name: bytes) -> str:
        """The class of a file: as the CSV says, else unknown (empty); without a CSV its folder's name."""
        if not self.digest:
            return class_of(name.decode())
        for one in (name, key_of(name)):
            digest = _digest(one)
            at = bisect_left(self._records, digest)
            if at < len(self._records) and self._records[at].startswith(digest):
                return self._classes[int.from_bytes(self._records[at][_DIGEST:], "big")]
        self.unknown += 1
        return ""

    def _load(self, path: Path) -> None:
        numbers: dict[str, int] = {}
        digest = hashlib.sha256()
        with open_named(path, MOST_BYTES) as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
            file.seek(0)
            rows = csv.reader(io.TextIOWrapper(file, "utf-8-sig", newline=""), strict=True)
            try:
                for line, row in enumerate(rows, 1):
                    if not row or (line == 1 and row[0].strip().lower() in _HEADERS):
                        continue
                    if len(row) != 2 or not row[0]:
                        raise _wrong(path, line, "it is not a name and a class")
                    if len(row[1]) > LONGEST:
                        raise _wrong(path, line, f"its class has more than {LONGEST} characters")
                    number = numbers.setdefault(row[1], len(numbers))
                    self._records.append(_digest(row[0].encode()) + number.to_bytes(4, "big"))
            except (csv.Error, UnicodeError) as error:
                raise _wrong(path, rows.line_num, str(error)) from error
        self._records.sort()
        self._classes = list(numbers)
        self.digest = digest.hexdigest()
        for one, other in zip(self._records, self._records[1:], strict=False):
            if one[:_DIGEST] == other[:_DIGEST] and one != other:
                raise AdminkitError(f"{path} gives a name two classes", "let it have each name once")


def _digest(name: bytes) -> bytes:
    return hashlib.blake2b(name, digest_size=_DIGEST).digest()


def _wrong(path: Path, line: int, why: str) -> AdminkitError:
    return AdminkitError(f"couldn't use line {line} of {path}: {quote(why)}", "write lines such as a/0001.jpg,cat")
