"""sacct as a source: which fields are asked for, what a record must be to count as one, and how answers are summed.

docs/sync.md says why nothing else in an answer counts. This is the only module of ingest that knows sacct's words, its
delimiter and its seal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final

from adminkit.errors import AdminkitError
from adminkit.ingest.helper import Statement
from adminkit.ingest.sources.base import CLAIMS, JOBS, STEPS, Part, Source, SourceFailed, Spool, cluster_parameter
from adminkit.ingest.sources.cells import REVOKED
from adminkit.ingest.sources.order import order_of
from adminkit.ingest.sources.sacct_fields import (
    JOB_FIELDS,
    RECORD_FIELDS,
    STEP_FIELDS,
    columns_for,
    fields_of,
    job_values,
    step_values,
)
from adminkit.ingest.spec import Column
from adminkit.ingest.window_plan import Window
from adminkit.slurm import cluster as slurm
from adminkit.slurm import release
from adminkit.slurm.process import end_all
from adminkit.slurm.sacct import Answer, Query, SacctFailed, fetch
from adminkit.trace import runs

#: Epoch seconds, later than any end.
FOREVER: Final = 1 << 40
#: The last field of every record: a time with a seal, so that no user's text ends a record.
_SEALED: Final = "Submit"
#: The fields of a digest: users write none of them.
_DIGEST_FIELDS: Final = ("ElapsedRaw", "End", "TimelimitRaw", "State", "DerivedExitCode", "End")


class Accounting(Source):
    """What sources of slurmdbd's records have in common, whoever is asked for the records."""

    record: str  # where the policy's record is: a key of RECORD_FIELDS

    @property
    def claims_apart(self) -> bool:  # type: ignore[override]
        return self.record != "admin_comment"

    def backlog(self) -> int | None:
        """Trap: while slurmctld is down, the records that it has for slurmdbd are on its disk."""
        try:
            return slurm.dbd_backlog(self.cluster)
        except AdminkitError:
            return None

    def clock(self) -> int | None:
        try:
            return slurm.clock(self.cluster)
        except AdminkitError:
            return None

    def stop(self) -> None:
        end_all()

    def wanted(self, part: Part) -> Sequence[str]:
        """The fields of a part in the order of sacct's names, free text behind the others."""
        if part == CLAIMS:
            return ("JobID", "JobIDRaw", "Cluster", "Submit", "End", RECORD_FIELDS[self.record])
        return STEP_FIELDS if part == STEPS else JOB_FIELDS


@dataclass(frozen=True)
class Sacct(Accounting):
    """sacct's answers for one cluster, each spooled in `folder` with marks of its own."""

    name: ClassVar[str] = "sacct"
    cluster: str
    folder: Path
    timeout: float
    record: str  # where the policy's record is: a key of RECORD_FIELDS
    fields: frozenset[str]  # that this sacct has
    finished: Sequence[str]  # states that end a run, this release's
    started_at: int | None = None
    uid: int | None = None  # whose runs; None: everybody's

    def closed(self, part: Part, window: Window, ids: Sequence[int] = ()) -> Spool:
        # sacct's window includes both ends.
        span = Window(window.since, window.until - 1)
        answer = self._fetch(f"closed-{part}", span, self.finished, self._fields(part), part == STEPS, ids)
        spool = self._spool(part, answer, window.since, window.until, ended=True)
        return replace(spool, revoked=_revoked(answer)) if part == JOBS else spool

    def open_snapshot(self, part: Part, moment: int, ids: Sequence[int] = ()) -> Spool:
        # Trap: sacct leaves out what started in the last second of its window.
        span = Window(moment, moment + 1)
        answer = self._fetch(f"open-{part}", span, release.OPEN, self._fields(part), ids=ids)
        return self._spool(part, answer, moment, FOREVER, ended=False)

    def lookup(self, part: Part, window: Window, ids: Sequence[int]) -> Spool:
        answer = self._fetch(f"lookup-{part}", window, (), self._fields(part), part == STEPS, ids)
        spool = self._spool(part, answer, window.since, FOREVER, ended=False)
        return replace(spool, only_where=self._kept(spool.values, stored=True)) if part == JOBS else spool

    def digest(self, window: Window) -> runs.Digest:
        span = Window(window.since, window.until - 1)
        answer = self._fetch("digest", span, self.finished, _DIGEST_FIELDS)
        numbers = _digest(answer)
        answer.path.unlink()
        return numbers

    def _fields(self, part: Part) -> Sequence[str]:
        """The fields to ask for, free text behind the others."""
        return [*(field for field in self.wanted(part) if field in self.fields), _SEALED]

    def _fetch(
        self,
        name: str,
        span: Window,
        states: Sequence[str],
        fields: Sequence[str],
        steps: bool = False,
        ids: Sequence[int] = (),
    ) -> Answer:
        query = Query(self.cluster, span.since, span.until, states, fields, steps, ids, self.uid)
        try:
            return fetch(query, self.folder / f"{name}-{span.since}-{span.until}", self.timeout)
        except SacctFailed as error:
            raise SourceFailed(error, error.seconds, error.unreachable) from error

    def _spool(self, part: Part, answer: Answer, since: int, until: int, ended: bool) -> Spool:
        made = spool_of(part, answer, self._fields(part), (since, until), ended, self.cluster, self.record)
        return replace(made, only_where=self._kept(made.values)) if part == JOBS else made

    def _kept(self, values: Mapping[str, str], stored: bool = False) -> str:
        """SQL: which runs of an answer are kept."""
        whose = "" if self.uid is None else f" AND {values['uid']} = {self.uid:d}"
        return f"{own_runs(values, stored)}{whose}"


def spool_of(
    part: Part,
    answer: Answer,
    names: Sequence[str],
    span: tuple[int, int],
    ended: bool,
    cluster: str,
    record: str,
    kinds: Mapping[str, str] | None = None,
) -> Spool:
    """How an answer with these fields, the last one Submit, is read. An end must be in [since, until) of `span`.

    `ended`: a record without an end does not count. `kinds`: field -> how it is read, where that is not as sacct's;
    then a step has its run's Submit, and no row of its run stands before it. Runs that another cluster of a federation
    took are left out.
    """
    columns = _columns(names, ended)
    if kinds is not None:
        columns = [replace(one, inherit=False, kind=kinds.get(one.name, one.kind)) for one in columns]
    whose = cluster_parameter(columns)
    reading = Statement(
        columns, answer.marks.delimiter, ends=True, timezone="UTC", seal=answer.marks.seal,
        wants=_each(columns, "Cluster", cluster), within=_each(columns, "End", f"{max(span[0], 0)}..{span[1]}"),
        no_steps=part != STEPS, order=order_of(columns),
    )  # fmt: skip
    values = step_values(columns, whose) if part == STEPS else job_values(columns, whose, record)
    return Spool(
        path=answer.path,
        seconds=answer.seconds,
        reading=reading,
        values=values,
        only_where=own_runs(values) if part == JOBS else "1",
        job=names.index("JobID"),
        user=names.index("User") if "User" in names else None,
    )


def own_runs(values: Mapping[str, str], stored: bool = False) -> str:
    """SQL: the runs of an answer but for siblings that another cluster took. `stored`: those too that the trace has as
    open, because they end.
    """
    kept = f"{values['state']} IS NOT '{REVOKED}'"
    return f"({kept} OR {runs.stored_open(values)})" if stored else kept


def open_own(cluster: str, folder: Path, *, timeout: float, uid: int, probe: bool = False) -> Sacct:
    """One user's runs, with the fields of this release; `probe` asks sacct for its fields."""
    fields = release.sacct_fields() if probe else fields_of(release.release())
    return Sacct(cluster, folder, timeout, "admin_comment", fields=fields, finished=release.FINISHED, uid=uid)


def open_sacct(cluster: str, folder: Path, *, timeout: float, record: str) -> Sacct:
    """Everybody's runs, with sacct's present fields. AdminkitError where sacct or slurmdbd is not responding."""
    return Sacct(
        cluster,
        folder,
        timeout,
        record,
        fields=release.sacct_fields(),
        finished=release.finished_states(),
        started_at=slurm.accounting().booted_at,
    )


def _columns(names: Sequence[str], ended: bool) -> list[Column]:
    """How the fields are read; the last one must be a time with a seal."""
    columns = columns_for(names[:-1])
    if ended:
        columns = [replace(one, required=True) if one.name == "End" else one for one in columns]
    return [*columns, Column(_SEALED, "time", required=True)]


def _each(columns: Sequence[Column], name: str, value: str) -> tuple[str, ...]:
    """ "3=alpha" for each column of this name."""
    return tuple(f"{place}={value}" for place, one in enumerate(columns, 1) if one.name == name)


def _revoked(answer: Answer) -> int:
    """How many runs of an answer are siblings of federated jobs that run elsewhere."""
    mark = answer.marks.delimiter
    return answer.path.read_bytes().count(f"{mark}{REVOKED}{mark}".encode())


def _digest(answer: Answer) -> runs.Digest:
    mark = answer.marks.delimiter.encode()
    count = elapsed = end = limit = derived = 0
    states = dict.fromkeys(runs.DIGEST_STATES, 0)
    with answer.path.open("rb") as lines:
        for line in lines:
            cells = line.split(mark)
            if len(cells) != len(_DIGEST_FIELDS) + 1:
                continue
            ended = answer.marks.epoch(cells[1].decode("ascii", "replace"))
            if ended is None or cells[3] == REVOKED.encode():
                continue
            count += 1
            elapsed += int(cells[0] or 0)
            end += ended
            limit += 60 * int(cells[2]) if cells[2].isdigit() else 0
            code = cells[4].split(b":")[0]
            derived += int(code) if code.isdigit() else 0
            state = cells[3].split(b" ")[0].decode("ascii", "replace")
            if state in states:
                states[state] += 1
    return (count, elapsed, end, limit, derived, *states.values())
