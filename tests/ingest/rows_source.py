"""A source over rows in memory, with words of its own: what sync, its rounds and the audit need, and no more."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from adminkit.errors import AdminkitError
from adminkit.ingest.helper import Statement
from adminkit.ingest.sources.base import CLAIMS, JOBS, STEPS, Part, Source, SourceFailed, Spool, cluster_parameter
from adminkit.ingest.spec import Column, parameters
from adminkit.ingest.window_plan import Window
from adminkit.trace import runs

#: column of the trace -> the output of a spool's column that feeds it
_JOB = {
    "job_id_raw": "number", "submit_time": "submitted", "job_id": "id", "user": "person", "state": "result",
    "start_time": "begun", "end_time": "over", "elapsed": "took", "time_limit": "allowed",
    "limit_kind": "allowed.kind", "derived_exit_code": "code", "job_name": "title",
}  # fmt: skip
_STEP = {
    "job_id_raw": "number", "submit_time": "submitted", "step": "id.step", "state": "result", "start_time": "begun",
    "end_time": "over", "elapsed": "took", "cpu_time": "worked",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A run, or a step of one where `step` is named. Times in epoch seconds."""

    number: int
    end: int | None = None
    state: str = "COMPLETED"
    submit: int = 0
    elapsed: int = 600
    limit: int = 120  # minutes
    cluster: str = "alpha"
    step: str = ""
    worked: str = ""
    record: str = ""
    title: str = "train"
    changed_at: int = 0  # in the accounting database

    @property
    def submitted(self) -> int:
        return self.submit or (self.end or 1_700_000_000) - self.elapsed - 5

    def cells(self, seal: str) -> list[str]:
        begun, over = f"{self.submitted + 5}{seal}", "" if self.end is None else f"{self.end}{seal}"
        return [
            "ada", f"{self.number}{'.' if self.step else ''}{self.step}", str(self.number), self.cluster,
            f"{self.submitted}{seal}", self.state if self.end else "RUNNING", begun, over, str(self.elapsed),
            str(self.limit), "0:0", self.worked, self.record, self.title,
        ]  # fmt: skip


@dataclass
class Book:
    """What the sources of a test know, and what they were asked."""

    rows: list[Row] = field(default_factory=list)
    claims_apart: bool = False
    sealed: bool = True
    strays: list[Row] = field(default_factory=list)  # in every answer about closed runs, whatever is asked
    fails: Callable[[Window], bool] = lambda window: False
    unreachable: bool = False
    asked: list[tuple[str, str, int, int, tuple[int, ...]]] = field(default_factory=list)
    backlog: int | None = 0
    started_at: int | None = None
    tells_changes: bool = False
    kept_since: tuple[int, int] | None = None
    unspelt: set[int] = field(default_factory=set)  # runs that are left out of every answer about closed runs

    def open(self, cluster: str, folder: Path, *, timeout: float, record: str) -> Rows:
        return Rows(cluster, folder, self)


class Rows(Source):
    name: ClassVar[str] = "rows"

    def __init__(self, cluster: str, folder: Path, book: Book) -> None:
        self.cluster, self.folder, self.book = cluster, folder, book
        self.claims_apart, self.started_at = book.claims_apart, book.started_at

    def closed(self, part: Part, window: Window, ids: Sequence[int] = ()) -> Spool:
        rows = [row for row in self.book.rows if row.end is not None and window.since <= row.end < window.until]
        kept = [row for row in rows if row.number not in self.book.unspelt]
        return replace(self._spool("closed", part, window, ids, kept, ended=True), partial=len(kept) < len(rows))

    def open_snapshot(self, part: Part, moment: int, ids: Sequence[int] = ()) -> Spool:
        rows = [row for row in self.book.rows if row.end is None]
        return self._spool("open", part, Window(moment, moment + 1), ids, rows, ended=False)

    def lookup(self, part: Part, window: Window, ids: Sequence[int]) -> Spool:
        return self._spool("lookup", part, window, ids, self.book.rows, ended=False)

    def digest(self, window: Window) -> runs.Digest:
        self._ask("digest", "", window, ())
        rows = [
            row
            for row in self.book.rows
            if row.end is not None and window.since <= row.end < window.until and row.state != "GONE" and not row.step
        ]
        elapsed, end = sum(row.elapsed for row in rows), sum(row.end or 0 for row in rows)
        limit, states = sum(60 * row.limit for row in rows), [row.state for row in rows]
        return (len(rows), elapsed, end, limit, 0, *(states.count(state) for state in runs.DIGEST_STATES))

    def step_digest(self, window: Window) -> tuple[int, int] | None:
        if not self.book.tells_changes:
            return None
        ends = [row.end for row in self.book.rows if row.step and row.end and window.since <= row.end < window.until]
        return len(ends), sum(ends)

    def changed(self, since: int, among: Window) -> list[int] | None:
        if not self.book.tells_changes:
            return None
        self._ask("changed", "", Window(since, among.until), ())
        rows = [row for row in self.book.rows if row.changed_at >= since and row.end]
        return sorted({row.end // 3600 * 3600 for row in rows if row.end and among.since <= row.end < among.until})

    def kept_since(self) -> tuple[int, int] | None:
        return self.book.kept_since

    def backlog(self) -> int | None:
        return self.book.backlog

    def stop(self) -> None:
        self.book.asked.append(("stop", "", 0, 0, ()))

    def _ask(self, how: str, part: str, window: Window, ids: Sequence[int]) -> None:
        self.book.asked.append((how, part, window.since, window.until, tuple(ids)))
        if self.book.fails(window) or self.book.unreachable:
            raise SourceFailed(AdminkitError("the book is shut", "open it"), 0.0, self.book.unreachable)

    def _spool(
        self, how: str, part: Part, window: Window, ids: Sequence[int], rows: Sequence[Row], ended: bool
    ) -> Spool:
        self._ask(how, part, window, ids)
        columns = [
            Column("person", "text"), Column("id", "jobid", required=True), Column("number", "rawid", required=True),
            Column("cluster", "text"), Column("submitted", "time", required=True, inherit=True),
            Column("result", "state"), Column("begun", "time"), Column("over", "time", required=ended),
            Column("took", "seconds"), Column("allowed", "limit"), Column("code", "exit"), Column("worked", "cputime"),
            Column("record", "admin_comment" if part == CLAIMS or not self.claims_apart else "skip"),
            Column("title", "free"),
        ]  # fmt: skip
        within = (f"8={window.since}..{window.until}",) if ended else ()
        place = parameters(columns)
        values = {name: place[output] for name, output in (_STEP if part == STEPS else _JOB).items()}
        values["cluster"] = cluster_parameter(columns)
        if part == CLAIMS:
            values |= {"limit_original": place["record.limit"], "limit_source": place["record.source"]}
        mark, seal = (f"<{secrets.token_hex(4)}>", f"x{secrets.token_hex(8)}") if self.book.sealed else ("\x1e", "")
        path = self.folder / f"{how}-{part}-{window.since}-{window.until}"
        strays = self.book.strays if ended and part == JOBS else []
        wanted = [row for row in rows if (not ids or row.number in ids) and bool(row.step) <= (part == STEPS)] + strays
        path.write_text("".join(mark.join(row.cells(seal)) + "\n" for row in wanted))
        return Spool(
            path=path,
            seconds=0.0,
            reading=Statement(
                columns, mark, seal=seal, wants=(f"4={self.cluster}",), within=within, no_steps=part != STEPS
            ),
            values=values,
            only_where=f"{place['result']} IS NOT 'GONE'" if part == JOBS else "1",
            revoked=sum(row.state == "GONE" for row in wanted) if part == JOBS and ended else 0,
            job=1,
            user=0,
        )
