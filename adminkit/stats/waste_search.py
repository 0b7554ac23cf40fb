"""The gaps into which a run would have fitted by its run time: a search in groups of gaps, most of which hold none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.waste_runs import Held

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Gaps that are looked at for one job.
LOOKS: Final = 100
#: Gaps of one group, and the groups in which those that one job looks at may be.
_GROUP: Final = 8
_WIDTH: Final = (LOOKS - 2) // _GROUP + 2


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps for one size, ordered by their end and place.

    A gap is open to a run that is eligible once the run that ended the gap was, at `kept`, or, where that was so when
    the gap began, to each that starts later than it `began`: of both, one is infinite. `groups` has the first of a
    group of gaps.
    """

    place: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    began: NDArray[Any]
    kept: NDArray[Any]
    groups: tuple[NDArray[Any], NDArray[Any]]

    @classmethod
    def of(cls, place: NDArray[Any], begin: NDArray[Any], end: NDArray[Any], since: NDArray[Any]) -> Gaps:
        """These gaps; the run that ended one was eligible `since`."""
        import numpy as np

        began, kept = np.where(since <= begin, begin, np.inf), np.where(since <= begin, np.inf, since)
        return cls(place, begin, end, began, kept, (_by_group(began), _by_group(kept)))


def _by_group(values: NDArray[Any]) -> NDArray[Any]:
    """The least of each group; row n has the groups since the n-th that one job may look at."""
    import numpy as np

    padded = np.full((-(-len(values) // _GROUP) + _WIDTH) * _GROUP, np.inf)
    padded[: len(values)] = values
    return np.lib.stride_tricks.sliding_window_view(padded.reshape(-1, _GROUP).min(axis=1), _WIDTH)


def searched(runs: Held, some: NDArray[Any], gaps: Gaps) -> tuple[NDArray[Any], NDArray[Any]]:
    """Pairs of a run, as its place in `some`, and a gap into which it would have fitted, ordered by run and gap.

    A run looks at LOOKS gaps that end when it could have ended, or later.
    """
    import numpy as np

    eligible, start, elapsed, limit = (
        getattr(runs, one)[some] for one in ("eligible_time", "start_time", "elapsed", "req_limit")
    )
    first = np.searchsorted(gaps.end, eligible + elapsed)
    after = np.minimum(np.searchsorted(gaps.end, start + limit), first + LOOKS)
    group = first // _GROUP
    began, kept = gaps.groups
    run, nth = np.nonzero((began[group] < start[:, None]) | (kept[group] <= eligible[:, None]))
    gap = (((group[run] + nth) * _GROUP)[:, None] + np.arange(_GROUP)).ravel()
    run = np.repeat(run, _GROUP)
    inside = (gap >= first[run]) & (gap < after[run])
    run, gap = run[inside], gap[inside]
    open_ = (gaps.began[gap] < start[run]) | (gaps.kept[gap] <= eligible[run])
    run, gap = run[open_], gap[open_]
    end, long = gaps.end[gap], gaps.end[gap] - gaps.begin[gap]
    fits = (end != start[run]) & (long >= elapsed[run]) & (np.minimum(long, end - eligible[run]) < limit[run])
    return run[fits], gap[fits]
