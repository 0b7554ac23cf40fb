"""The records of a CSV or TSV file, each with its first line. A broken one takes none of its neighbours with it.

Quoted cells may hold delimiters and newlines. A quote that is never closed would swallow the rest of the file: where
a line begins no record, only that line is set aside, and reading resumes with the next.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Final

#: The most that one record has.
MAX_LINES: Final = 1000
MAX_CHARS: Final = 1 << 20

#: (first line, text, cells, or why the line is not a record)
Record = tuple[int, str, Sequence[str] | None, str]


class _TooLong(Exception):
    pass


class CsvRows:
    """Iterates over the records of `source`. `columns` cells are a record; None: as many as the first one has.

    Empty lines are ignored. `source` is read as UTF-8; an invalid byte becomes a lone surrogate.
    """

    def __init__(self, source: IO[bytes], delimiter: str, columns: int | None = None) -> None:
        self._text = io.TextIOWrapper(source, "utf-8-sig", "surrogateescape", newline="")
        self.delimiter, self.columns = delimiter, columns
        self._again: deque[str] = deque()  # lines to read once more
        self._held: list[str] = []  # the lines of the current record
        self._line = 1  # the number of its first one
        self._chars = 0

    def peek(self) -> str:
        """The first line, which is read again as a record; "" for an empty source."""
        line = self._read()
        if line:
            self._again.append(line)
        return line

    def __iter__(self) -> Iterator[Record]:
        while True:
            rows = csv.reader(self._lines(), delimiter=self.delimiter, strict=True)
            try:
                yield from self._whole(rows)
                return
            except (csv.Error, _TooLong) as error:
                yield self._broken(_reason(error))
            except _Ragged as error:
                yield self._broken(str(error))

    def _whole(self, rows: Iterator[list[str]]) -> Iterator[Record]:
        """Records, up to the first broken one. Trap: a csv.reader that raised has lost what it had read."""
        for cells in rows:
            held, self._held = self._held, []
            line, self._line, self._chars = self._line, self._line + len(held), 0
            if not cells:
                continue
            if self.columns is None:
                self.columns = len(cells)
            text = held[0] if len(held) == 1 else "".join(held)
            if len(cells) == self.columns:
                yield line, text, cells, ""
            elif len(held) == 1:
                yield line, text, None, _counted(len(cells), self.columns)
            else:
                self._held, self._line = held, line
                raise _Ragged(_counted(len(cells), self.columns))

    def _broken(self, reason: str) -> Record:
        """Set aside the first line of the current record, and read the others once more."""
        first, *rest = self._held
        self._again.extendleft(reversed(rest))
        line, self._line = self._line, self._line + 1
        self._held, self._chars = [], 0
        return line, first, None, reason

    def _lines(self) -> Iterator[str]:
        while line := self._again.popleft() if self._again else self._read():
            self._held.append(line)
            self._chars += len(line)
            if len(self._held) > MAX_LINES or self._chars > MAX_CHARS:
                raise _TooLong
            yield line

    def _read(self) -> str:
        """One line; if it is too long only its beginning, which forms no record."""
        line = self._text.readline(MAX_CHARS + 1)
        if len(line) > MAX_CHARS and not line.endswith("\n"):
            while (rest := self._text.readline(MAX_CHARS)) and not rest.endswith("\n"):
                pass
        return line


class _Ragged(Exception):
    pass


def _counted(found: int, wanted: int) -> str:
    return f"{found} columns instead of {wanted}"


def _reason(error: Exception) -> str:
    if isinstance(error, _TooLong):
        return "a record of more than 1 MiB or 1000 lines, or a quote that is not closed"
    if "unexpected end" in str(error):
        return "a quote that is not closed"
    return f"not CSV: {error}"
