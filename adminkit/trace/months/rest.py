"""The runs that are in no file of the months: SQL for SQLite, by its index of ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.trace.months.manifest import Month, begin_of

_BETWEEN: Final = "end_time >= {} AND end_time < {}"


def others(months: Sequence[Month], clusters: Sequence[str]) -> tuple[str, dict[str, str]]:
    """SQL: a run of a trace with these clusters is in none of `months`; and the values of its parameters."""
    files: dict[str, set[str]] = {}
    for one in months:
        files.setdefault(one.month, set()).add(one.cluster)
    terms = ["end_time IS NULL"]
    given: dict[str, str] = {}
    last: int | None = None  # where the months so far end
    for month in sorted(files, key=begin_of):
        one = Month("", month)
        if last is None:
            terms.append(f"end_time < {one.since}")
        elif last < one.since:
            terms.append(_BETWEEN.format(last, one.since))
        last = one.until
        if missing := [name for name in clusters if name not in files[month]]:
            names = {f"c{clusters.index(name)}": name for name in missing}
            given |= names
            among = ", ".join(f":{name}" for name in names)
            terms.append(f"{_BETWEEN.format(one.since, one.until)} AND +cluster IN ({among})")
    terms.append("TRUE" if last is None else f"end_time >= {last}")
    return " OR ".join(f"({term})" for term in terms), given
