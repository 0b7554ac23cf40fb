"""What is searched on, and what is looked at once: the first part of the trace's days, and the last.

The first part ends at the cut: no job that was submitted later is in it. The last one is simulated with all that came
before, and only its own jobs are counted, so that the machine is not empty when they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.render.format import number
from adminkit.simulate.case import Case, take, with_facts, with_site
from adminkit.simulate.change import Sources
from adminkit.simulate.groups import DECILE, Days, Groups, groups_of, with_deciles
from adminkit.simulate.today import window_of
from adminkit.tune.measured import Frame, frame_of

DAY: Final = 86_400
#: Days that are held out at least: a month, whatever its name.
LEAST_DAYS: Final = 28
#: The parts that stand for days where they are fewer, in a search that was forced.
_PARTS: Final = 10
#: The groups of the answer whose waits are judged, by the names of the file.
PARTS: Final = {"size": "size", "queue": "queue", "users": DECILE}


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the trace's days: what is simulated, whose waits are counted, and when use is measured."""

    sources: Sources
    groups: Groups
    window: tuple[int, int]
    frame: Frame


def split(sources: Sources, share: Fraction, parts: Sequence[str], *, tail: bool, force: bool) -> tuple[Part, Part]:
    """The days that are searched on, and the last `share` of them. `tail`: whether a quantile is measured by day.

    AdminkitError where a month cannot be held out, unless it is forced.
    """
    case = _promising(sources.case)
    submit = case.column("submit")
    first, last = (int(submit.min()), int(submit.max())) if case.count else (0, 0)
    held = (last - first) * share
    if held < LEAST_DAYS * DAY and not force:
        raise AdminkitError(
            f"the trace has {number((last - first) // DAY)} days, of which {number(int(held // DAY))} would be held "
            f"out; {LEAST_DAYS} are needed to see whether a change carries over",
            "choose a longer window or a larger held_out; --force searches all the same, and marks the answer",
        )
    cut = last - int(held)
    cut -= (cut - first) % DAY if held >= _PARTS * DAY else 0
    early = submit < cut
    if not early.any() or early.all():
        raise AdminkitError("no job was submitted on one side of the cut", "choose a longer window")
    return _train(replace(sources, case=case), cut, parts, tail), _held(replace(sources, case=case), cut, parts, tail)


def _promising(case: Case) -> Case:
    """The same, which also says what start each job was promised first: the schedule stays as it is."""
    return with_site(case, settings={**case.request.settings, "promises": 1})


def _train(sources: Sources, cut: int, parts: Sequence[str], tail: bool) -> Part:
    import numpy as np

    places = np.flatnonzero(sources.case.column("submit") < cut)
    case = with_facts(take(sources.case, places), origin=np.arange(len(places), dtype=np.int64))
    keys = None if sources.keys is None else {name: column[places] for name, column in sources.keys.items()}
    since, _ = window_of(case)
    first = int(case.column("submit").min())
    groups = _by_day(with_deciles(groups_of(case), case), case, (first, cut), parts, tail)
    return Part(replace(sources, case=case, keys=keys, known={}), groups, (since, cut), frame_of(groups))


def _held(sources: Sources, cut: int, parts: Sequence[str], tail: bool) -> Part:
    case = sources.case
    submit = case.column("submit")
    window = (cut, int(submit.max()))
    groups = _by_day(with_deciles(groups_of(case), case), case, (cut, window[1] + 1), parts, tail)
    groups = replace(groups, which=submit >= cut)
    return Part(replace(sources, known={}), groups, window, frame_of(groups))


def _by_day(groups: Groups, case: Case, window: tuple[int, int], parts: Sequence[str], tail: bool) -> Groups:
    """With sums by day since the beginning of the window; by a part of it where it has few days."""
    import numpy as np

    since, until = window
    length = DAY if until - since >= _PARTS * DAY else max(-(-(until - since) // _PARTS), 1)
    count = -(-(until - since) // length)
    of = ((case.column("submit") - since) // length).clip(0, count - 1).astype(np.int64)
    judged = tuple(part for part in parts if part in groups.parts)
    return replace(groups, days=Days(of, int(count), judged, tail))
