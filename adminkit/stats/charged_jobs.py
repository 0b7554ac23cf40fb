"""Whole jobs, whose runs are charged: all runs of one job, of which each but the last was put back into the queue.

Which run continues another one is the view's to say (trace/continued_runs.py). A task of an array and a component of
a het job are jobs of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.bundles import BUNDLE, MIN_CPU_USE
from adminkit.stats.select import ENDED_STATES
from adminkit.trace.continued_runs import RESIZED
from adminkit.trace.run_view import TOO_LONG

_ENDED: Final = ", ".join(f"'{state}'" for state in ENDED_STATES)
#: What a run reserved: a run past the limit that it asked for reserved what it was given, or asking for less would pay.
_REQUESTED: Final = "CASE WHEN more_used > 0 AND last_limit > req_limit THEN last_limit ELSE req_limit END"
#: A demo's energy, like that of a site without a plugin that measures it, is 0.
_RUNS: Final = f"""
SELECT cluster, job_id_raw, job_id, submit_time, user, uid, account, queue, qos, state,
    CASE WHEN end_time IS NOT NULL OR state IN ({_ENDED}) THEN 1 ELSE 0 END,
    coalesce(start_time, end_time - elapsed), coalesce(end_time, start_time + elapsed),
    CASE WHEN elapsed >= 0 AND elapsed < {TOO_LONG} THEN elapsed END, {_REQUESTED},
    size_nodes, size_cpus, size_gpus, gpu_type, coalesce(mem, req_mem), nullif(energy, 0), acting,
    CASE WHEN class IN ('multi-gpu', 'multi-node') THEN coalesce({BUNDLE}, 0) ELSE 0 END, previous_submit,
    coalesce(CASE WHEN gpus IS NULL AND gpu_parts IS NULL THEN req_gpu_parts ELSE gpu_parts END, '')
FROM run
WHERE (end_time >= :since OR end_time IS NULL OR continued){{clusters}}
ORDER BY cluster, job_id_raw, submit_time
"""
_MANY: Final = "SELECT count(*) FROM run WHERE end_time >= :since"


class Piece(NamedTuple):
    """One run of a job. Where it has no end, `end_time` is its start and what it ran; where no start, likewise."""

    cluster: str
    job_id_raw: int
    job_id: str | None
    submit_time: int
    user: str | None
    uid: int | None
    account: str | None
    queue: str | None
    qos: str | None
    state: str | None
    is_over: int
    start_time: int | None
    end_time: int | None
    elapsed: int | None
    req_limit: int | None  # of a run that ran past it, with what it was given
    nodes: int | None
    cpus: int | None
    gpus: float | None
    gpu_type: str | None
    mem: int | None
    energy: int | None
    acting: int
    bundle: int
    previous_submit: int | None  # of the run that it continues
    gpu_parts: str = ""


@dataclass(frozen=True, slots=True)
class WholeJob:
    """All runs of one job, by submission."""

    pieces: Sequence[Piece]

    @property
    def last(self) -> Piece:
        return self.pieces[-1]

    @property
    def ended(self) -> bool:
        """Whether none of its runs is open."""
        return all(piece.is_over for piece in self.pieces)

    @property
    def first_submit(self) -> int:
        return self.pieces[0].submit_time

    def run(self, place: int, free_states: Collection[str]) -> Piece:
        """The run at that place. Parts of a resized run asked for the limit once: the largest that is not free has
        it, and of the others `req_limit` is what they ran.
        """
        one, first, last = self.pieces[place], place, place
        if one.req_limit is None:
            return one
        while first and self.pieces[first - 1].state == RESIZED:
            first -= 1
        while last + 1 < len(self.pieces) and self.pieces[last].state == RESIZED:
            last += 1
        for at in range(first, last + 1):
            other = self.pieces[at]
            if at != place and other.state not in free_states and _covers(other, one, at < place):
                return one._replace(req_limit=min(one.req_limit, one.elapsed or 0))
        return one


def whole_jobs(db: sqlite3.Connection, clusters: Sequence[str], since: int) -> Iterator[WholeJob]:
    """The jobs with a run that is open or ended at or after `since`, in the order of cluster, number and submission."""
    names = {f"cluster{number}": name for number, name in enumerate(clusters)}
    among = f" AND cluster IN ({', '.join(f':{name}' for name in names)})" if names else ""
    rows = db.execute(_RUNS.format(clusters=among), {"since": since, "min_cpu_use": MIN_CPU_USE, **names})
    for _, runs in groupby(map(Piece._make, rows), key=lambda piece: piece[:2]):
        for job in _chains(runs):
            if any(not piece.is_over or piece.end_time is None or piece.end_time >= since for piece in job):
                yield WholeJob(job)


def whole_jobs_of(db: sqlite3.Connection, cluster: str, number: int) -> Iterator[WholeJob]:
    """The jobs of one number (job_id_raw), the oldest first: numbers are used again."""
    rows = db.execute(
        _RUNS.format(clusters=" AND cluster = :cluster AND job_id_raw = :number"),
        {"since": 0, "min_cpu_use": MIN_CPU_USE, "cluster": cluster, "number": number},
    )
    yield from map(WholeJob, _chains(map(Piece._make, rows)))


def how_many(db: sqlite3.Connection, since: int) -> int:
    """About how many jobs whole_jobs() has, for a progress bar."""
    return int(db.execute(_MANY, {"since": since}).fetchone()[0])


def _chains(runs: Iterator[Piece]) -> Iterator[list[Piece]]:
    """The runs of one number, cut where a job ended: numbers are used again."""
    chain: list[Piece] = []
    for piece in runs:
        if chain and chain[-1].submit_time != piece.previous_submit:
            yield chain
            chain = []
        chain.append(piece)
    if chain:
        yield chain


def _covers(other: Piece, one: Piece, is_before: bool) -> bool:
    """Whether another part of its run asked for as much as `one`, and is charged; of equal ones the first."""
    if not (other.is_over and other.acting and other.elapsed) or _names(other) != _names(one):
        return False
    sizes = [*zip(_sizes(other), _sizes(one), strict=True)]
    if not all(of == own if of is None or own is None else of >= own for of, own in sizes):
        return False
    return is_before or any(of != own for of, own in sizes)


def _names(run: Piece) -> tuple[str | bool | None, ...]:
    """What a run is weighed by. Trap: a weight may make a GPU cheaper than none."""
    return run.qos, run.queue, run.gpu_type, run.gpu_parts, bool(run.gpus)


def _sizes(run: Piece) -> tuple[float | None, ...]:
    return run.req_limit, run.nodes, run.cpus, run.gpus, run.mem
