"""adminkit import: one file or pipe of accounting text into the trace."""

from __future__ import annotations

import io
import os
import time
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

from adminkit.errors import TooManyRejected, UsageError, unknown_word
from adminkit.ingest.fields import job_values, outputs, step_values
from adminkit.ingest.layout import PEEK_BYTES, Layout, detect, named_columns
from adminkit.ingest.run import Counts, Statement, ingest, open_source
from adminkit.ingest.swf import swf_statement
from adminkit.trace import build, connect
from adminkit.trace.intake import record_intake, record_queue
from adminkit.trace.upsert import REJECT, upsert_job, upsert_step

#: name -> (default limit, maximum limit, nodes); seconds
Queues = Mapping[str, tuple[int | None, int | None, int | None]]


@dataclass(frozen=True, slots=True)
class Import:
    """One import as asked for. `path` None is standard input."""

    path: Path | None
    db: Path
    cluster: str | None = None
    timezone: str | None = None
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    kind: str = "import"
    queues: Queues | None = None
    queues_since: int = 0  # from when on the limits in `queues` hold

    @property
    def source(self) -> str:
        return str(self.path.absolute()) if self.path else self.kind if self.kind != "import" else "standard input"


def import_file(
    wanted: Import, now: int, progress: Callable[[Counts, int | None], None] | None = None
) -> tuple[Counts, Layout]:
    """Read the whole source into the trace, in one transaction. A trace that is new is built beside its place.

    `progress` is called with the counts so far and the source's size in bytes, None where unknown.
    """
    with open_source(wanted.path) as stream:
        return import_stream(wanted, stream, now, progress)


def import_stream(
    wanted: Import, stream: IO[bytes], now: int, progress: Callable[[Counts, int | None], None] | None = None
) -> tuple[Counts, Layout]:
    """As import_file, from an open stream."""
    start = stream.tell() if _is_plain(stream) else 0
    head = _peek(stream)
    names = named_columns(wanted.columns) if wanted.columns is not None else None
    layout = detect(head, names, wanted.delimiter)
    statement = statement_for(layout, wanted, now)
    size = _size(stream)
    started = time.monotonic()
    rest = head[layout.skip :]
    if _is_plain(stream):
        stream.seek(start + layout.skip)
        rest = b""
    fresh = not wanted.db.exists()
    target = build.beside(wanted.db) if fresh else wanted.db
    if fresh:
        connect.create(target)
        before, after = build.later_indexes(target)
        statement = replace(statement, fresh=True, before=before, after=after)
    else:
        connect.prepare(wanted.db)
    with build.opened(target) if fresh else connect.writer(target) as db:
        for queue, (default, maximum, nodes) in (wanted.queues or {}).items():
            record_queue(db, wanted.cluster or "", queue, wanted.queues_since, default, maximum, nodes)
    try:
        counts = ingest(
            statement,
            target,
            stream,
            rest,
            progress=(lambda seen: progress(seen, size)) if progress else None,
        )
        _settle(wanted, target, fresh, now, time.monotonic() - started, counts)
    except BaseException:
        if fresh:
            target.unlink(missing_ok=True)
        raise
    if fresh:
        build.install(target, wanted.db)
    return counts, layout


def statement_for(layout: Layout, wanted: Import, now: int) -> Statement:
    """What adminkit-ingest is told for this layout. Raises UsageError for what the text cannot say by itself."""
    if layout.civil_times and not wanted.timezone:
        raise UsageError(
            "times are dates without a zone", "say which clock wrote them: --timezone Asia/Tokyo, --timezone UTC, …"
        )
    if wanted.cluster is None and not layout.has_cluster:
        raise UsageError("the rows name no cluster", "name it: --cluster NAME")
    common: dict[str, Any] = {
        "columns": layout.columns,
        "delimiter": layout.delimiter,
        "ends": layout.ends,
        "timezone": _zone(wanted.timezone),
        "first_line": layout.skip_lines + 1,
        "reject_sql": REJECT,
        "bind": (wanted.source, str(now), wanted.cluster or ""),
    }
    if layout.is_swf:
        return swf_statement(layout, common)
    cluster = f"?{outputs(layout.columns) + len(common['bind'])}"
    return Statement(
        **common,
        job_sql=upsert_job(job_values(layout.columns, cluster)),
        step_sql=upsert_step(step_values(layout.columns, cluster)),
    )


def _settle(wanted: Import, target: Path, fresh: bool, now: int, seconds: float, counts: Counts) -> None:
    opened = build.opened(target) if fresh else connect.writer(target)
    with opened as db:
        db.execute("BEGIN IMMEDIATE")
        totals = (counts.rows, counts.new, counts.changed, counts.rejected, counts.skipped)
        record_intake(db, wanted.kind, wanted.source, wanted.cluster, now, seconds, totals)
        db.execute("COMMIT")


def _peek(stream: IO[bytes]) -> bytes:
    """The first PEEK_BYTES, or all there is. Trap: one read of a pipe may give less."""
    head = b""
    while len(head) < PEEK_BYTES and (chunk := stream.read(PEEK_BYTES - len(head))):
        head += chunk
    return head


def _is_plain(stream: IO[bytes]) -> bool:
    """A file as it lies on disk, which the helper may read by itself from wherever it stands."""
    return isinstance(stream, io.FileIO) and stream.seekable()


def _size(stream: IO[bytes]) -> int | None:
    return os.fstat(stream.fileno()).st_size or None if _is_plain(stream) else None


def _zone(name: str | None) -> str:
    if name is None:
        return ""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise unknown_word("time zone", name, zoneinfo.available_timezones()) from error
    return name


MAX_REJECTED: Final = 0.01


def refuse_many_rejected(counts: Counts, share: float) -> None:
    """Raise TooManyRejected when more than `share` of the rows was set aside."""
    if counts.rows and counts.rejected > share * counts.rows:
        raise TooManyRejected(
            f"{counts.rejected} of {counts.rows} rows were set aside, more than --max-rejected {share:g}",
            "the good rows are kept; `adminkit trace rejected` shows the others with their reasons",
        )
