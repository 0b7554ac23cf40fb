"""The runs of a trace as columns, for the simulator: numbers in base units, names as codes.

Every row is a run: a job that was put back twice has three. Unknown is -1, in numbers and in codes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, LeftOut, select, snapshot, span
from adminkit.trace.run_view import TOO_LONG

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Codes = NDArray[np.int32]

#: Column -> SQL over the view run. Times are epoch seconds, durations seconds, `mem` bytes of the whole job.
#: The limit is the last one, which the scheduler planned with when the job started, but for a job that was given more
#: time: a simulated one would be ended at the limit that it asked for. Sizes are what was allocated; of an
#: SWF trace what was asked for, as published schedules of these have it.
NUMBERS: Final[Mapping[str, str]] = {
    "id": "job_id_raw",
    "submit": "submit_time",
    "eligible": "eligible_time",
    "start": "start_time",
    "end": "end_time",
    "elapsed": "elapsed",
    "suspended": "suspended",
    "limit": f"CASE WHEN time_limit > 0 AND time_limit < {TOO_LONG} THEN time_limit ELSE req_limit END",
    "nodes": "size_nodes",
    "cpus": "CASE WHEN source = 'swf' THEN coalesce(req_cpus, cpus) ELSE size_cpus END",
    "gpus": "size_gpus",
    "mem": "coalesce(mem, req_mem)",
    "priority": "priority",
    "array": "array_job",
    "het": "het_job",
}
TEXTS: Final[Mapping[str, str]] = {
    "queue": "queue",
    "class": "class",
    "user": "user",
    "account": "account",
    "qos": "qos",
    "gpu_type": "gpu_type",
    "state": "state",
    "reason": "reason",
    "limit_kind": "limit_kind",
    "limit_source": "limit_source",
}
#: What tells which program a run was.
NAMED: Final[Mapping[str, str]] = {"name": "job_name", "qos": "qos"}
#: Rows fetched at a time.
CHUNK: Final = 2000


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs in the order of (submit, id). `codes[name][i]` is the place of run i's word in `names[name]`."""

    numbers: Mapping[str, Numbers]
    codes: Mapping[str, Codes]
    names: Mapping[str, Sequence[str]]
    cluster: str
    excluded: Mapping[str, int]
    span: tuple[int | None, int | None]

    def __len__(self) -> int:
        return len(self.numbers["id"])


def read_runs(
    db: sqlite3.Connection,
    chosen: Filter,
    tick: Callable[[int], None] = lambda done: None,
    texts: Mapping[str, str] = TEXTS,
) -> Runs:
    """The runs of one cluster that `chosen` takes, whatever their state and length. `tick` is told how many are read.

    About 200 bytes are kept for each. `texts`: name -> column, of what is wanted in words.
    """
    import numpy as np

    selection = select(replace(chosen, states=(), min_elapsed=None), limits=False)
    wanted = ", ".join([*(f"coalesce({sql}, -1)" for sql in NUMBERS.values()), *texts.values()])
    tables: list[dict[str | None, int]] = [{None: -1} for _ in texts]
    numbers: list[Any] = []
    codes: list[Any] = []
    done = 0
    with snapshot(db):
        left_out = LeftOut(db, selection)
        cursor = db.execute(f"SELECT {wanted} FROM run WHERE {selection.counting}", selection.params)
        while rows := cursor.fetchmany(CHUNK):
            columns = list(zip(*rows, strict=True))
            numbers.append(np.array(columns[: len(NUMBERS)], dtype=np.int64))
            codes.append(_coded(columns[len(NUMBERS) :], tables))
            done += len(rows)
            tick(done)
        excluded = left_out.counts(done)
        ends = span(db)
    table = np.concatenate(numbers, axis=1) if numbers else np.empty((len(NUMBERS), 0), dtype=np.int64)
    words = np.concatenate(codes, axis=1) if codes else np.empty((len(texts), 0), dtype=np.int32)
    place = {name: number for number, name in enumerate(NUMBERS)}
    order = np.lexsort((table[place["id"]], table[place["submit"]]))
    return Runs(
        {name: table[number][order] for name, number in place.items()},
        {name: words[number][order] for number, name in enumerate(texts)},
        {name: [word for word in known if word is not None] for name, known in zip(texts, tables, strict=True)},
        "".join(chosen.clusters),
        excluded,
        ends,
    )


def _coded(columns: Sequence[Sequence[str | None]], tables: Sequence[dict[str | None, int]]) -> Codes:
    """Each word as the number of its first appearance; `tables` learn new ones."""
    import numpy as np

    coded = np.empty((len(columns), len(columns[0])), dtype=np.int32)
    for row, words, known in zip(coded, columns, tables, strict=True):
        for word in dict.fromkeys(words):
            known.setdefault(word, len(known) - 1)
        row[:] = [known[word] for word in words]
    return coded
