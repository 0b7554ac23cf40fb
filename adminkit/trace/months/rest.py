"""The runs that are in no file of the months: SQL for SQLite, by its index of ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adminkit.trace.months.asked import EVER
from adminkit.trace.months.manifest import Month, begin_of


def others(
    months: Sequence[Month], clusters: Sequence[str], window: tuple[int, int] = EVER
) -> tuple[str, dict[str, str]]:
    """SQL: a run of a trace with these clusters is in none of `months`, and ended in the window, [since, until); and
    the values of its parameters. Without a window also a run that has not ended.
    """
    files: dict[str, set[str]] = {}
    for one in months:
        files.setdefault(one.month, set()).add(one.cluster)
    terms = ["end_time IS NULL"] if window == EVER else []
    given: dict[str, str] = {}
    for since, until, missing in _parts(files, clusters):
        first, last = max(since, window[0]), min(until, window[1])
        if first >= last:
            continue
        bounds = [f"end_time >= {first}"] if first > EVER[0] else []
        bounds += [f"end_time < {last}"] if last < EVER[1] else []
        if missing is not None:
            names = {f"c{clusters.index(name)}": name for name in missing}
            given |= names
            bounds.append(f"+cluster IN ({', '.join(f':{name}' for name in names)})")
        terms.append(" AND ".join(bounds) or "TRUE")
    return " OR ".join(f"({term})" for term in terms) or "FALSE", given


def _parts(files: dict[str, set[str]], clusters: Sequence[str]) -> Iterator[tuple[int, int, list[str] | None]]:
    """All time but months of which every cluster has files: [since, until), and the clusters; None: all of them."""
    last = EVER[0]  # where the months so far end
    for month in sorted(files, key=begin_of):
        one = Month("", month)
        if last < one.since:
            yield last, one.since, None
        last = one.until
        if missing := [name for name in clusters if name not in files[month]]:
            yield one.since, one.until, missing
    yield last, EVER[1], None
