"""kind = "load": more jobs, or fewer. docs/simulate/load.md."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from adminkit.simulate.case import Case, take, together, with_columns, with_facts
from adminkit.simulate.change import Change, Factors, Given, Kind
from adminkit.simulate.core import NONE
from adminkit.simulate.luck import Luck, whole

_DAY: Final = 86_400
_WEEK: Final = 7 * _DAY


class Load(Change):
    """The keys."""

    swept: ClassVar[str] = "factor"

    kind: Literal["load"]
    factor: Factors
    method: Literal["resample", "compress"] = "resample"


def apply(case: Case, keys: Load, value: float, given: Given, luck: Luck) -> Case:
    """`resample`: users' days come once more, or not at all, until the work is `value` times as much.

    `compress`: the time between two submissions is divided by `value`; trap: days and weeks get shorter with it.
    """
    if keys.method == "compress":
        submit = case.column("submit")
        first = _first(case)
        return with_columns(case, submit=first + whole((submit - first) / value))
    return _fewer(case, value, luck) if value < 1 else _more(case, value, luck)


def _first(case: Case) -> int:
    """The first submission."""
    return int(case.column("submit").min()) if case.count else 0


def _days(case: Case) -> tuple[Any, int]:
    """For each job the number of its user's day of submission, and how many such days there are."""
    import numpy as np

    pairs = np.stack([case.facts["user"], case.column("submit") // _DAY])
    _, numbers = np.unique(pairs, axis=1, return_inverse=True)
    numbers = numbers.reshape(-1)
    return numbers, int(numbers.max(initial=-1)) + 1


def _work(case: Case) -> Any:
    """What each job takes: processors, GPUs where the jobs have some, times seconds."""
    import numpy as np

    gpus = case.column("gpus", 0)
    size = gpus if gpus.max(initial=0) > 0 else np.maximum(case.column("procs", 1), case.column("cpus", 1))
    return np.maximum(size, 0) * np.maximum(case.column("run"), 0)


def _drawn(case: Case, share: float, luck: Luck) -> tuple[Any, Any]:
    """Days in a random order, and how many of the first are needed for this share of the work."""
    import numpy as np

    numbers, many = _days(case)
    work = np.bincount(numbers, _work(case), many)
    order = luck.draw("load").permutation(many)
    upto = np.searchsorted(np.cumsum(work[order]), share * work.sum())
    return numbers, order[: int(upto)]


def _fewer(case: Case, value: float, luck: Luck) -> Case:
    import numpy as np

    numbers, gone = _drawn(case, 1 - value, luck)
    return take(case, np.flatnonzero(~np.isin(numbers, gone)))


def _more(case: Case, value: float, luck: Luck) -> Case:
    """A day that comes once more does so on that day of another week, at the same times; in a trace of less than four
    weeks, on another day.
    """
    import numpy as np

    grown, left = case, value - 1
    for turn in range(1, 1 + int(np.ceil(left))):
        share = min(left, 1.0)
        left -= share
        numbers, drawn = _drawn(case, share, luck)
        if share == 1.0:
            drawn = np.unique(numbers)
        places = np.flatnonzero(np.isin(numbers, drawn))
        copy = take(case, places)
        submit, first = copy.column("submit"), _first(case)
        span = int(case.column("submit").max(initial=first)) + 1 - first
        period = _WEEK if span >= 4 * _WEEK else _DAY
        many = max(1, span // period)
        shift = luck.draw(f"periods {turn}").integers(1 if many > 1 else 0, many, int(numbers.max(initial=-1)) + 1)
        number, within = np.divmod(submit - first, period)
        moved = first + (number + shift[numbers[places]]) % many * period + within
        none = np.full(copy.count, NONE, np.int64)
        grown = together(grown, with_facts(with_columns(copy, submit=moved), origin=none))
    return grown


KIND = Kind("load", Load, apply)
