"""The runs that held something, in the order of time: a measure of ten million holds those of a few weeks at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.window import END
from adminkit.trace.columns import Texts
from adminkit.trace.months.door import columns, count, exists
from adminkit.trace.wait_sql import CAUSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Runs that end in a block of time; more where no index has their ends (--as-of), as each block is a scan then.
BLOCK: Final = 1 << 17
_MORE: Final = 8
#: Runs that took longer from the moment they could start to their end are read first, as are those without an end:
#: all others that could start before a moment end at most these seconds after it.
LONG: Final = 7 * 86_400
_INDEX: Final = "job_end"
_NUMBERS: Final = (
    "start_time", END, "eligible_time", "elapsed", "req_limit", "size_nodes", "size_gpus", "size_cpus", "mem",
    CAUSES["queue"], "job_id_raw", "submit_time",
)  # fmt: skip
#: Trap: with a plain `cluster` SQLite would take the index of keys, and read the whole cluster for each block.
_RUNS: Final = f"""
FROM run WHERE +cluster = :cluster AND start_time > 0 AND start_time < :until AND {END} > start_time AND {END} > :since
"""
_TOOK: Final = (
    "end_time - CASE WHEN eligible_time > 0 AND eligible_time < start_time THEN eligible_time ELSE start_time END"
)
_STILL: Final = f"{_RUNS} AND end_time IS NULL"
_OVER: Final = f"{_RUNS} AND end_time > :since"
_LONG: Final = f"{_OVER} AND {_TOOK} > {LONG}"
_ENDING: Final = f"{_RUNS} AND end_time > :after AND end_time <= :upto AND {_TOOK} <= {LONG}"
_GPUS: Final = "AND size_gpus IS NOT NULL"
#: Counts all clusters: a block needs only a rough number, and SQLite reads only the index.
_ENDS: Final = "FROM run WHERE end_time > :since AND end_time < :until"


@dataclass(frozen=True, slots=True)
class Held:
    """Runs of a cluster as columns; an unknown number is nan. `queue` is a place among a Reader's queues, -1 where
    there is none. `places` has the nodes of one run after those of the other, `many` of each, -1 for unknown nodes.
    """

    start_time: NDArray[Any]
    end_time: NDArray[Any]
    eligible_time: NDArray[Any]
    elapsed: NDArray[Any]
    req_limit: NDArray[Any]
    size: NDArray[Any]  # nodes
    gpu: NDArray[Any]
    cpu: NDArray[Any]
    mem: NDArray[Any]
    for_queue: NDArray[Any]  # whether it waited for nothing but the queue
    job_id_raw: NDArray[Any]
    submit_time: NDArray[Any]
    queue: NDArray[Any]
    many: NDArray[Any]
    places: NDArray[Any]

    def __len__(self) -> int:
        return len(self.start_time)

    def of(self, which: NDArray[Any]) -> Held:
        """The runs for which `which` is true."""
        import numpy as np

        nodes = np.repeat(which, self.many)
        return Held(*(getattr(self, one.name)[nodes if one.name == "places" else which] for one in fields(self)))

    def and_of(self, other: Held) -> Held:
        """These runs, then those of `other`."""
        import numpy as np

        return Held(*(np.concatenate((getattr(self, one.name), getattr(other, one.name))) for one in fields(self)))

    def placed(self) -> NDArray[Any]:
        """Whether a run was on a known node."""
        import numpy as np

        known = np.append(0, np.cumsum(self.places >= 0))
        last = np.cumsum(self.many)
        found: NDArray[Any] = known[last] > known[last - self.many]
        return found

    def on_nodes(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Pairs of a run and one of its known nodes, and on how many nodes that run was."""
        import numpy as np

        known = self.places >= 0
        run = np.repeat(np.arange(len(self)), self.many)[known]
        return run, self.places[known], self.many[run]


def counted(db: sqlite3.Connection, cluster: str, window: tuple[int, int], now: int) -> int:
    """How many runs of the cluster held something in the window."""
    given = _given(cluster, window, now)
    return sum(count(db, rest, given) for rest in (_STILL, _OVER))


def _given(cluster: str, window: tuple[int, int], now: int) -> Mapping[str, Any]:
    return {"cluster": cluster, "since": window[0], "until": window[1], "now": now}


class Reader:
    """Reads the runs of a cluster that held something in the window, each once, as far as they are asked for."""

    def __init__(
        self, db: sqlite3.Connection, cluster: str, window: tuple[int, int], now: int, nodes: Sequence[str]
    ) -> None:
        self.queues: list[str] = []
        self.since, self.until = window
        self.ran = 0
        self.homeless = 0  # of these, without a known node
        self._db, self._upto = db, self.since
        self._given = _given(cluster, window, now)
        self._places = {name: place for place, name in enumerate(nodes)}
        # Whether those of any run are known.
        self.gpus = any(exists(self._db, f"{rest} {_GPUS}", self._given) for rest in (_STILL, _OVER))
        self._runs = self._read(_STILL).and_of(self._read(_LONG))

    def blocks(self, rows: int = BLOCK) -> Iterator[tuple[int, int]]:
        """Stretches of the window in each of which about `rows` runs end."""
        import numpy as np

        plan = self._db.execute(f"EXPLAIN QUERY PLAN SELECT 1 {_ENDING}", {**self._given, "after": 0, "upto": 0})
        if not any(_INDEX in row[3] for row in plan.fetchall()):
            rows *= _MORE
        (ends,) = columns(self._db, (), ("end_time",), _ENDS, self._given)[1]
        at = np.arange(rows, len(ends), rows)
        yield from pairwise(sorted({self.since, *np.partition(ends, at)[at].tolist(), self.until}))

    def known(self, since: int, until: int) -> Held:
        """Every run that ended after `since` and could start before `until`, and others. `since` only grows."""
        upto = max(until + LONG, self._upto)
        if since > self.since:
            self._runs = self._runs.of(self._runs.end_time > since)
        if upto > self._upto:
            self._runs = self._runs.and_of(self._read(_ENDING, after=self._upto, upto=upto))
            self._upto = upto
        return self._runs

    def _read(self, rest: str, **given: int) -> Held:
        import numpy as np

        (queues, lists), numbers = columns(self._db, ("queue", "node_list"), _NUMBERS, rest, {**self._given, **given})
        for name in queues.names:
            if name and name not in self.queues:
                self.queues.append(name)
        queue = np.array([self.queues.index(name) if name else -1 for name in queues.names], np.int32)[queues.codes]
        named = {one.name: column.astype(np.float64) for one, column in zip(fields(Held), numbers, strict=False)}
        found = Held(**named, **self._on(lists), queue=queue)
        self.ran += len(found)
        self.homeless += len(found) - int(found.placed().sum())
        return found

    def _on(self, lists: Texts) -> dict[str, NDArray[Any]]:
        """Held.many and Held.places."""
        import numpy as np

        found = [[self._places.get(host, -1) for host in hosts(text or "")] for text in lists.names]
        many = np.array([len(one) for one in found], np.int64)
        flat = np.array([place for one in found for place in one], np.int32)
        width = many[lists.codes]
        nth = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        places = flat[np.repeat((np.cumsum(many) - many)[lists.codes], width) + nth]
        return {"many": width, "places": places}
