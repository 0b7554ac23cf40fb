"""What every report of jobs begins with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from adminkit.errors import UsageError
from adminkit.messages import Message, joined, message
from adminkit.quote import clean
from adminkit.render.report import Meta
from adminkit.reports.spec import Query
from adminkit.units import show_time


class Measured(Protocol):
    """What every measure of jobs knows besides its numbers: jobs that each rule left out, first and last end."""

    @property
    def clusters(self) -> Sequence[str]: ...
    @property
    def excluded(self) -> Mapping[str, int]: ...
    @property
    def span(self) -> tuple[int | None, int | None]: ...


def header(
    title: str,
    measured: Measured,
    query: Query,
    jobs: int,
    notes: Sequence[str],
    *,
    unheeded: Sequence[str] = (),
    heeded: Mapping[str, str] | None = None,
    answers: Sequence[str] = (),
    moment: str = "ended",
) -> Meta:
    """The header of a report of `jobs` jobs. `unheeded` names filters that it does not go by, `heeded` has its own."""
    chosen = query.filter
    filters = {name: text for name, text in chosen.described().items() if name not in unheeded}
    excluded = {rule: left_out for rule, left_out in measured.excluded.items() if rule not in unheeded}
    return Meta(
        title,
        query.database,
        (chosen.since, chosen.until),
        measured.clusters,
        {**filters, **(heeded or {})},
        jobs,
        excluded,
        notes,
        measured.span,
        answers=answers,
        moment=moment,
    )


def outside(window: tuple[int | None, int | None], ends: tuple[int | None, int | None]) -> str:
    """That no job of the trace ended in [since, until), and which option looks elsewhere; "" where one may have."""
    (since, until), (first, last) = window, ends
    if first is None or last is None:
        return message("no job ended in this window, nor in the whole trace")
    if since is not None and last < since:
        return message(
            "no job ended in this window; the last in the trace ended at {last}. To look at the days"
            " before it: --as-of {after}",
            last=show_time(last),
            after=show_time(last + 1),
        )
    if until is not None and first >= until:
        return message(
            "no job ended in this window; the first in the trace ended at {first}. To include every job:"
            " --until {after}",
            first=show_time(first),
            after=show_time(last + 1),
        )
    return ""


def ends_early(until: int | None, query: Query) -> list[str]:
    """The note of a window that was asked for beyond `until`, after which nothing is known."""
    asked = query.filter.until
    if asked is None or until is None or until >= min(asked, query.now):
        return []
    return [message("the trace has no data after {time}: the window ends there", time=show_time(until))]


@contextmanager
def within_parts(hint: str = "name a shorter one with --since and --until") -> Iterator[None]:
    """UsageError with that hint where a measure finds more parts in the window than stats/calendar.py makes."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"the window has {error}", hint) from error


def several(clusters: Iterable[str | None]) -> bool:
    """Whether names need their cluster's before them."""
    return len(set(clusters)) > 1


def label(name: str, cluster: str | None, many: bool) -> str:
    """`name` as a picture shows it, of `many` clusters with its own."""
    shown = name if isinstance(name, Message) else clean(name)
    return joined(": ", (clean(cluster or ""), shown)) if many else shown
