"""What simulate elastic is given: curves of programs, jobs of a file or of a trace, and who runs which program."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adminkit.errors import AdminkitError, cause
from adminkit.files import open_named
from adminkit.power.curves import sizes_of
from adminkit.quote import quote
from adminkit.simulate.core import NONE
from adminkit.stats.power_curve import Curve as Measured

if TYPE_CHECKING:
    from adminkit.stats.workload import Runs

#: Numbers of GPUs that a curve may know.
SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
#: The largest file that is read, bytes, and the most that a number in one may be.
LARGEST: Final = 1 << 28
MOST: Final = 2**31 - 1
CURVES: Final = ("model", "gpus", "batch", "iterations_per_s", "watts")
#: Column of a file of jobs -> its names. The second ones are those of ElasticFlow's workloads.
JOBS: Final[Mapping[str, Sequence[str]]] = {
    "submit": ("submit", "submit_time"),
    "gpus": ("gpus", "num_gpu"),
    "seconds": ("seconds", "duration"),
    "name": ("name", "model", "model_name"),
    "batch": ("batch", "batch_size"),
    "high": ("high",),
}

#: A program, and its batch; "" for one that the file does not name.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Curve:
    """One program with one batch: iterations a second, and the watts of all GPUs, for each number of GPUs."""

    gpus: tuple[int, ...]
    rate: tuple[float, ...]
    watts: tuple[float, ...]

    def fields(self) -> dict[str, int]:
        """The core's: rates in a unit in which they are large, milliwatts."""
        scale = (1 << 30) / max(self.rate)
        rates = {f"rate{gpus}": max(1, int(rate * scale)) for gpus, rate in zip(self.gpus, self.rate, strict=True)}
        watts = {f"watts{gpus}": round(1000 * one) for gpus, one in zip(self.gpus, self.watts, strict=True)}
        return rates | watts


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs of GPUs, in columns of one length. `curve`: a place in `curves`; NONE: the GPUs stay what they are.

    `left_out` counts, for each reason, what is not simulated.
    """

    submit_time: Sequence[int]
    run: Sequence[int]
    gpus: Sequence[int]
    curve: Sequence[int]
    high: Sequence[bool]
    curves: Sequence[Curve]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.submit_time)

    def changes(self, job: int) -> bool:
        """Whether its number of GPUs may change."""
        return self.curve[job] != NONE and not self.high[job]


def read_curves(path: Path) -> dict[Key, Curve]:
    """The curves of a CSV file with the columns of CURVES. AdminkitError, with the line, for what is not one."""
    points: dict[Key, dict[int, tuple[float, float]]] = {}
    for line, row in _rows(path, CURVES):
        gpus, rate, watts = (_number(row[name], path, line, name) for name in ("gpus", "iterations_per_s", "watts"))
        known = points.setdefault((row["model"], row["batch"]), {})
        if gpus not in SIZES or rate <= 0 or not 0 <= watts <= MOST // 1000:
            why = f"{path}, line {line}: GPUs are a power of two up to {SIZES[-1]}, iterations_per_s more than 0"
            raise AdminkitError(why, "leave out what was not measured, or was not possible")
        if int(gpus) in known:
            raise AdminkitError(
                f"{path}, line {line}: {quote(row['model'])} on {int(gpus)} GPUs appears a second time",
                "give its batch",
            )
        known[int(gpus)] = rate, watts
    if not points:
        raise AdminkitError(f"{path} has no curve", f"write a line for each number of GPUs: {','.join(CURVES)}")
    return {key: _curve(path, key, known) for key, known in points.items()}


def measured_curves(measured: Sequence[Measured]) -> dict[Key, Curve]:
    """The same of the trace's power_curve, each model at its highest power limit; what lies between measured numbers
    of GPUs is the model's. AdminkitError where no curve has watts, or a model was measured on several kinds of GPU.
    """
    found: dict[Key, Curve] = {}
    kinds: dict[str, str] = {}
    for one in measured:  # by model, kind of GPU and power limit, the highest first
        if kinds.setdefault(one.model, one.gpu) != one.gpu:
            raise AdminkitError(
                f"{quote(one.model)} was measured on {quote(kinds[one.model])} and on {quote(one.gpu)}",
                "name the kind of GPU with --gpu",
            )
        for batch in dict.fromkeys(place.batch for place in one.places):
            key = (one.model, "" if batch is None else f"{batch:g}")
            sizes = sizes_of(one, batch, SIZES) if key not in found else []
            if sizes:
                found[key] = Curve(*zip(*((size.gpus, size.rate, size.watts) for size in sizes), strict=True))
    if not found:
        raise AdminkitError("no measured curve has watts", "`adminkit power import` one, or name a file with --curves")
    return found


def _curve(path: Path, key: Key, known: Mapping[int, tuple[float, float]]) -> Curve:
    sizes = tuple(sorted(known))
    wanted = SIZES[SIZES.index(sizes[0]) : SIZES.index(sizes[-1]) + 1]
    if lacking := [size for size in wanted if size not in known]:
        raise AdminkitError(
            f"{path}: {quote(key[0])} lacks {lacking[0]} GPUs, between {sizes[0]} and {sizes[-1]}", "measure it"
        )
    if max(rate for rate, _ in known.values()) > 1000 * min(rate for rate, _ in known.values()):
        raise AdminkitError(f"{path}: {quote(key[0])} is 1000 times as fast on some GPUs as on others", "correct it")
    return Curve(sizes, tuple(known[size][0] for size in sizes), tuple(known[size][1] for size in sizes))


def read_names(path: Path) -> list[tuple[str, Key]]:
    """Patterns of job names, each with the program that these jobs run: name,model,batch."""
    return [
        (row["name"], (row["model"], row["batch"])) for _, row in _rows(path, ("name", "model", "batch"), ("batch",))
    ]


class Programs:
    """Which curve a job has: by the patterns, the first that fits; without any, by the model of that very name."""

    def __init__(self, curves: Mapping[Key, Curve], patterns: Sequence[tuple[str, Key]] | None) -> None:
        self.curves, self.patterns = [*curves.values()], patterns
        self._places = {key: place for place, key in enumerate(curves)}
        self._models: dict[str, list[int]] = {}
        for (model, _), place in self._places.items():
            self._models.setdefault(model, []).append(place)
        self._found: dict[Key, int] = {}
        for pattern, key in patterns or ():
            if self._place(key) == NONE:
                raise AdminkitError(
                    f"no single curve matches {quote(':'.join(filter(None, key)))}, the model of {quote(pattern)}",
                    "name a model of --curves, and its batch where it has several",
                )

    def of(self, name: str, batch: str, gpus: int) -> int:
        """The place of the curve; NONE where there is none, or none that knows this number of GPUs."""
        key = (name, batch)
        if key not in self._found:
            self._found[key] = self._place(self._key(name, batch))
        place = self._found[key]
        return place if place != NONE and gpus in self.curves[place].gpus else NONE

    def _key(self, name: str, batch: str) -> Key:
        if self.patterns is None:
            return name, batch
        for pattern, (model, known) in self.patterns:
            if fnmatchcase(name, pattern):
                return model, known or batch
        return "", ""

    def _place(self, key: Key) -> int:
        model, batch = key
        several = self._models.get(model, [])
        if key in self._places:
            return self._places[key]
        if len(several) == 1 and (not batch or (model, "") in self._places):
            return several[0]
        return NONE


def read_jobs(path: Path, programs: Programs) -> Workload:
    """The jobs of a CSV file with the columns of JOBS; batch and high may be missing. Bad rows are left out."""
    left_out: Counter[str] = Counter()
    rows = []
    for _, row in _rows(path, [], (), JOBS):
        numbers = [_finite(row[name]) for name in ("submit", "seconds", "gpus")]
        if any(one is None for one in numbers):
            left_out["with a number missing"] += 1
            continue
        submit, seconds, gpus = (round(one or 0) for one in numbers)
        if reason := _cannot(submit, seconds, gpus):
            left_out[reason] += 1
            continue
        high = row["high"].strip().lower() in ("1", "true", "yes")
        rows.append((submit, seconds, gpus, programs.of(row["name"], row["batch"], gpus), high))
    return _workload(path.name, rows, programs, left_out)


def jobs_of_runs(runs: Runs, programs: Programs, high: Sequence[str]) -> Workload:
    """The runs of a trace that had GPUs. Those of a QOS in `high` have high priority."""
    left_out: Counter[str] = Counter()
    rows = []
    columns = (runs.numbers[name].tolist() for name in ("submit", "elapsed", "gpus"))
    names, qoses = ([*runs.names[name], ""] for name in ("name", "qos"))
    codes = (runs.codes[name].tolist() for name in ("name", "qos"))
    for submit, seconds, gpus, name, qos in zip(*columns, *codes, strict=True):
        if reason := _cannot(submit, seconds, gpus):
            left_out[reason] += 1
            continue
        rows.append((submit, seconds, gpus, programs.of(names[name], "", gpus), qoses[qos] in high and qos >= 0))
    return _workload("the trace", rows, programs, left_out)


def _cannot(submit: int, seconds: int, gpus: int) -> str:
    if gpus < 1:
        return "without GPUs, or with an unknown number of them"
    if seconds < 1:
        return "ran for less than a second, or for an unknown time"
    return "" if abs(submit) <= 2**53 and seconds <= MOST and gpus <= MOST else "with a number that no job can have"


def _workload(
    source: str, rows: Sequence[tuple[int, int, int, int, bool]], programs: Programs, left_out: Mapping[str, int]
) -> Workload:
    if not rows:
        why = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise AdminkitError(
            f"no job of {source} can be simulated{f': {why}' if why else ''}",
            f"a job has {', '.join(JOBS)}; submit and seconds in seconds",
        )
    submit, run, gpus, curve, high = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    return Workload(submit, run, gpus, curve, high, programs.curves, dict(left_out))


def _rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), aliases: Mapping[str, Sequence[str]] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file, each with its line; of `aliases` the first name that the file has."""
    aliases = aliases or {name: (name,) for name in columns}
    optional = optional or ("batch", "high")
    try:
        with (
            open_named(path, LARGEST) as plain,
            io.TextIOWrapper(plain, "utf-8-sig", "surrogateescape", newline="") as file,
        ):
            reader = csv.DictReader(file, strict=True, restval="")
            known = [one.strip() for one in reader.fieldnames or ()]
            reader.fieldnames = known
            names = {column: next((one for one in words if one in known), "") for column, words in aliases.items()}
            if lacking := [column for column, name in names.items() if not name and column not in optional]:
                raise AdminkitError(
                    f"{path} has no column {lacking[0]}", f"its first line should be: {','.join(aliases)}"
                )
            for row in reader:
                yield reader.line_num, {column: (row.get(name) or "").strip() for column, name in names.items()}
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "check the path") from error
    except csv.Error as error:
        raise AdminkitError(f"{path}, line {reader.line_num}: {error}", "write it as CSV, with commas") from error


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _number(text: str, path: Path, line: int, name: str) -> float:
    value = _finite(text)
    if value is None:
        raise AdminkitError(
            f"{path}, line {line}: {name} is not a number: {quote(text)}", "leave out what is not known"
        )
    return value
