"""Files of measured trainings as rows: Zeus' power summaries and windows, tables of throughput, adminkit's own CSV.

Which one a file is, its first line says. A line that cannot be read is set aside with its reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from adminkit.errors import AdminkitError
from adminkit.ingest.sources.csv_rows import CsvRows
from adminkit.ingest.sources.mapping import UNKNOWN
from adminkit.trace.power_curve import Measurement

#: What a file may have at most.
MOST_ROWS: Final = 100_000
#: Bytes of a file.
MOST_BYTES: Final = 64 << 20
MOST_GPUS: Final = 65_536
#: A GPU that draws more than this is a mistake: of units, or of the counter.
MOST_WATTS: Final = 5000.0
#: What stands for a measurement that was not taken, in small letters.
_MISSING: Final = frozenset(word.lower() for word in (*UNKNOWN, "-", "--", "null", "n.a.", "-nan"))
_LONGEST_NAME: Final = 200
_OWN_NEEDED: Final = ("model", "gpus", "seconds")
_OWN: Final = (*_OWN_NEEDED, "gpu", "batch", "cap", "joules", "iterations")
_SUMMARY: Final = ("network", "batch_size", "power_limit", "time_per_epoch", "average_power")
_ENERGY: Final = re.compile(r"gpu\d{1,5}_energy", re.ASCII)
_CAP: Final = re.compile(r"_(\d{2,4})$", re.ASCII)
HINT: Final = "docs/power.md has the columns of each kind of file"

Row = Mapping[str, str]


class _Bad(Exception):
    """Why a line is set aside."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the operator says of a file that does not say it."""

    model: str | None = None
    gpu: str | None = None
    batch: float | None = None
    iterations: float | None = None  # of a window


@dataclass(slots=True)
class Read:
    """`rows` with their lines; `broken` are line, reason and text; `empty` counts cells without a measurement."""

    kind: str
    rows: list[tuple[int, Measurement]] = field(default_factory=list)
    broken: list[tuple[int, str, str]] = field(default_factory=list)
    empty: int = 0


def read(source: IO[bytes], name: str, given: Given) -> Read:
    """Every measurement of a file called `name`. AdminkitError where its first line is of no kind that is known."""
    records = CsvRows(source, ",")
    first = next(iter(records), None)
    header = [cell.strip().lower() for cell in (first[2] or ())] if first else []
    kind, rows = _kind(header, name)
    found = Read(kind)
    for line, text, cells, reason in records:
        if len(found.rows) > MOST_ROWS:
            raise AdminkitError(f"{name} has more than {MOST_ROWS:,} rows", "split it")
        if cells is None:
            found.broken.append((line, reason, text))
            continue
        row = dict(zip(header, map(_measured, cells), strict=True))
        try:
            found.rows += [(line, one) for one in rows(row, given, found)]
        except _Bad as error:
            found.broken.append((line, str(error), text))
    return found


def _kind(header: Sequence[str], name: str) -> tuple[str, Callable[[Row, Given, Read], Iterator[Measurement]]]:
    if not set(_OWN_NEEDED) - set(header) and not set(header) - set(_OWN):
        return "adminkit's columns", _own
    if not set(_SUMMARY) - set(header):
        return "Zeus' power summary", _summary(_of_name(name, r"(?:[\w-]+-)?summary_power_([\w-]+)"))
    if {"window_name", "elapsed_time"} <= set(header) and any(map(_ENERGY.fullmatch, header)):
        words = _of_name(name, r"([\w.-]+)\+([\w.-]+)\+gpu[\d,]+")
        return "Zeus' windows", _windows(words)
    if header[:1] == ["global_batch_size"] and len(header) > 1 and all(cell.isdecimal() for cell in header[1:]):
        return "a table of throughput", _throughput(_of_name(name, r"throughputs_([\w.-]+?)_([\w.-]+)"))
    if missing := set(_OWN_NEEDED) - set(header):
        raise AdminkitError(f"{name} is not a file of measurements: no column {', '.join(sorted(missing))}", HINT)
    raise AdminkitError(
        f"{name} has columns that adminkit does not know: {', '.join(sorted(set(header) - set(_OWN)))}", HINT
    )


def _of_name(name: str, form: str) -> tuple[str, ...]:
    """The words of a file's name, where it has the form that its makers give it."""
    match = re.fullmatch(form, Path(name).name.removesuffix(".csv"), re.ASCII)
    return match.groups() if match else ()


def _own(row: Row, given: Given, found: Read) -> Iterator[Measurement]:
    def optional(word: str) -> float | None:
        return _amount(row, word) if row.get(word) else None

    yield _checked(
        Measurement(
            _named(row["model"]),
            _named(row.get("gpu") or given.gpu or "", empty=True),
            _count(row["gpus"]),
            optional("batch") or given.batch,
            optional("cap"),
            _amount(row, "seconds"),
            optional("joules"),
            optional("iterations"),
        )
    )


def _summary(words: Sequence[str]) -> Callable[[Row, Given, Read], Iterator[Measurement]]:
    """One GPU; the time and mean power of an epoch, whose steps are not told."""

    def rows(row: Row, given: Given, found: Read) -> Iterator[Measurement]:
        seconds = _amount(row, "time_per_epoch")
        model = given.model or "/".join(
            word for word in (row.get("dataset"), row["network"], row.get("optimizer")) if word
        )
        yield _checked(
            Measurement(
                _named(model),
                _named(given.gpu or next(iter(words), ""), empty=True),
                1,
                _amount(row, "batch_size"),
                _amount(row, "power_limit"),
                seconds,
                seconds * _amount(row, "average_power"),
                None,
            )
        )

    return rows


def _windows(words: Sequence[str]) -> Callable[[Row, Given, Read], Iterator[Measurement]]:
    """The joules of each GPU in a window, whose name may end in the power limit; its steps are for the operator."""
    gpu, model = words if words else (None, None)

    def rows(row: Row, given: Given, found: Read) -> Iterator[Measurement]:
        if not (given.model or model):
            raise _Bad("no model: name it with --model")
        energies = [name for name in row if _ENERGY.fullmatch(name)]
        cap = _CAP.search(row["window_name"])
        yield _checked(
            Measurement(
                _named(given.model or model or ""),
                _named(given.gpu or gpu or "", empty=True),
                len(energies),
                given.batch,
                float(cap[1]) if cap else None,
                _amount(row, "elapsed_time"),
                math.fsum(_amount(row, name) for name in energies),
                given.iterations,
            )
        )

    return rows


def _throughput(words: Sequence[str]) -> Callable[[Row, Given, Read], Iterator[Measurement]]:
    """Iterations a second by batch (rows) and GPUs (columns); 0 and an empty cell were not run."""
    gpu, model = words if words else (None, None)

    def rows(row: Row, given: Given, found: Read) -> Iterator[Measurement]:
        if not (given.model or model):
            raise _Bad("no model: name it with --model")
        batch = _amount(row, "global_batch_size")
        for word, cell in row.items():
            if word == "global_batch_size":
                continue
            if cell == "" or _number(cell) == 0:
                found.empty += 1
                continue
            yield _checked(
                Measurement(
                    _named(given.model or model or ""), _named(given.gpu or gpu or "", empty=True), _count(word),
                    batch, None, 1 / _amount(row, word), None, 1.0,
                )
            )  # fmt: skip

    return rows


def _checked(one: Measurement) -> Measurement:
    if one.joules is not None and one.joules > MOST_WATTS * one.gpus * one.seconds:
        raise _Bad(
            f"more than {MOST_WATTS:,.0f} W per GPU: check that joules are not kilojoules, and seconds not milliseconds"
        )
    return one


def _measured(cell: str) -> str:
    """A cell without the blanks around it; "" for the words that stand for a missing measurement."""
    text = cell.strip()
    return "" if text.lower() in _MISSING else text


def _named(text: str, *, empty: bool = False) -> str:
    if not text and not empty:
        raise _Bad("the model has no name")
    if len(text) > _LONGEST_NAME or not text.isprintable():
        raise _Bad(f"a name of more than {_LONGEST_NAME} characters, or with some that cannot be printed")
    return text


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _Bad(f"not a number: {text[:40]!r}") from None
    if not math.isfinite(value) or "_" in text:
        raise _Bad(f"not a number: {text[:40]!r}")
    return value


def _amount(row: Row, word: str) -> float:
    """A number above 0."""
    if not row[word]:
        raise _Bad(f"{word} is missing")
    value = _number(row[word])
    if not 1e-9 <= value <= 1e15:
        raise _Bad(f"{word} is not above 0, or is far too large: {row[word][:40]!r}")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= MOST_GPUS or len(text) > 9:
        raise _Bad(f"not a number of GPUs: {text[:40]!r}")
    return int(text)
