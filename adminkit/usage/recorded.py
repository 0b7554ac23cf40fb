"""Recorded readings of the GPUs of jobs, from a file: what a site's Prometheus had, to replay rules on it.

The file is CSV with a header: `job`, `gpu`, `time` (epoch seconds), and `use` (0 to 1) or `percent` (0 to 100); other
columns are passed over. The rows of each GPU are in the order of time. A reading stands for the `step` seconds before
it; where readings are further apart than two steps, the time between is not known, and counts as used.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.errors import AdminkitError

#: Characters of a row, and of a name in it.
_LONGEST: Final = 4096
_NAME: Final = 128
#: Times are within these, epoch seconds.
_TIMES: Final = (1, 1 << 40)

_NEEDED: Final = "it needs a header with job, gpu, time, and use or percent, and a row for each reading"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A job: the times, epoch seconds, in which each of its GPUs was used, or in which nothing is known of it."""

    job: str
    start: int
    end: int
    used: Sequence[Sequence[Span]]  # by GPU, in the order of time, apart from each other

    @property
    def gpus(self) -> int:
        return len(self.used)


@dataclass(slots=True)
class _Gpu:
    first: int
    last: int
    used: list[Span] = field(default_factory=list)

    def add(self, since: int, until: int) -> None:
        if self.used and since <= self.used[-1][1]:
            self.used[-1] = self.used[-1][0], until
        else:
            self.used.append((since, until))


@dataclass(slots=True)
class Reading:
    """Reads rows; afterwards, `jobs`, and how many rows were `rejected`, the first with its line and reason."""

    step: int
    above: float
    rejected: int = 0
    first_rejected: str = ""
    _gpus: dict[str, dict[str, _Gpu]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> None:
        """AdminkitError for a header that lacks a column, and where there is no reading."""
        rows = csv.reader(_bounded(lines))
        try:
            at = _columns(next(rows, []))
            for row in rows:
                if row:
                    self._row(rows.line_num, row, at)
        except csv.Error as error:
            raise AdminkitError(f"line {rows.line_num}: {error}", "is it CSV, one reading a line?") from error
        if not self._gpus:
            raise AdminkitError(
                f"none of the {self.rejected} rows could be read, such as {self.first_rejected}"
                if self.rejected
                else "there is no reading below the header",
                _NEEDED,
            )

    def _row(self, line: int, row: Sequence[str], at: Mapping[str, int]) -> None:
        try:
            cells = {name: row[place].strip() for name, place in at.items()}
            time = int(float(cells["time"]))
            use = float(cells["use"]) if "use" in cells else float(cells["percent"]) / 100
        except (ValueError, IndexError, OverflowError):
            self._reject(line, "not a number, or a missing cell")
            return
        job, gpu = cells["job"], cells["gpu"]
        if not job or not gpu or len(job) > _NAME or len(gpu) > _NAME:
            self._reject(line, "no job, or no GPU")
        elif not 0 <= use <= 1 or not _TIMES[0] <= time <= _TIMES[1]:
            self._reject(line, "a use or a time that cannot be")
        else:
            self._reading(line, job, gpu, time, use)

    def _reading(self, line: int, job: str, gpu: str, time: int, use: float) -> None:
        known = self._gpus.setdefault(job, {})
        one = known.get(gpu)
        if one is None:
            one = known[gpu] = _Gpu(time, time)
        elif time <= one.last:
            self._reject(line, "earlier than the reading before it")
            return
        elif time - one.last > 2 * self.step:
            one.add(one.last, time)
        if use > self.above:
            one.add(max(one.first, time - self.step), time)
        one.last = time

    def _reject(self, line: int, why: str) -> None:
        self.rejected += 1
        self.first_rejected = self.first_rejected or f"line {line}: {why}"

    @property
    def jobs(self) -> Iterator[Recorded]:
        """In the order of the file. What is not known of one GPU while another was measured counts as used."""
        for job, gpus in self._gpus.items():
            start, end = min(one.first for one in gpus.values()), max(one.last for one in gpus.values())
            yield Recorded(job, start, end, [_whole(one, start, end, self.step) for one in gpus.values()])


def _whole(one: _Gpu, start: int, end: int, step: int) -> list[Span]:
    used = list(one.used)
    if one.first - start > 2 * step:
        used = [(start, one.first), *used]
    if end - one.last > 2 * step:
        used = [*used, (one.last, end)]
    return used


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Which column is where. Spreadsheets write a mark before the first name, which is not part of it."""
    names = [name.lstrip("\ufeff").strip().strip('"').lower() for name in header]
    if not any(names):
        raise AdminkitError("the file is empty", _NEEDED)
    use = "percent" if "percent" in names and "use" not in names else "use"
    lacks = [name for name in ("job", "gpu", "time") if name not in names]
    if use not in names:
        lacks += ["and use or percent" if lacks else "use or percent"]
    if lacks:
        raise AdminkitError(f"the header lacks: {', '.join(lacks)}", _NEEDED)
    return {name: names.index(name) for name in ("job", "gpu", "time", use)}


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if len(line) > _LONGEST:
            raise AdminkitError(f"a line is longer than {_LONGEST} characters", "is it CSV, one reading a line?")
        yield line
