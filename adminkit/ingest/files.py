"""adminkit import: one file or pipe of accounting text into the trace."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final, TypeVar, cast

from adminkit import actions
from adminkit.errors import TooManyRejected, UsageError
from adminkit.gres import GpuSettings
from adminkit.ingest.gpus import refresh
from adminkit.ingest.helper import Counts, OtherColumns, RunTwice, Statement, ingest, is_plain
from adminkit.ingest.machine import store_nodes, store_queues, store_site
from adminkit.ingest.months import with_months
from adminkit.ingest.nameless import without_forgotten
from adminkit.ingest.packed import open_source
from adminkit.ingest.sources import sacct_json
from adminkit.ingest.sources.headers import header_line, wide, words_of_headers
from adminkit.ingest.sources.mapping import TableMap, zone_of
from adminkit.ingest.sources.order import order_of, without_siblings
from adminkit.ingest.sources.sacct_fields import TWO_RUNS, TWO_TASKS, job_values, step_values
from adminkit.ingest.sources.sacct_json import is_json
from adminkit.ingest.sources.swf import binds, swf_values
from adminkit.ingest.sources.text import PEEK_BYTES, Layout, detect, named_columns
from adminkit.ingest.spec import outputs
from adminkit.owner import as_owner
from adminkit.slurm.site import Site
from adminkit.sqlite import sqlite3
from adminkit.trace import bulk_load, connect, runs
from adminkit.trace.actions import record_actions
from adminkit.trace.forgotten import drop_rejected
from adminkit.trace.load_log import record_load
from adminkit.trace.months.manifest import DROP as DROP_MONTHS
from adminkit.trace.transaction import transaction
from adminkit.trace.upsert import OTHER_JOB, REJECT, Apart
from adminkit.trace.windows import FROM_SUBMISSION, MAX_PROCS, set_fact

T = TypeVar("T")

#: Fewer rows than this are not worth rebuilding an index.
MANY_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Import:
    """The options of one import. `path` None: standard input; `map`: how to read a job table."""

    path: Path | None
    db: Path
    cluster: str | None = None
    timezone: str | None = None
    columns: Sequence[str] | None = None
    delimiter: str | None = None
    kind: str = "import"
    origin: str | None = None  # the rows' source, one of job.SOURCES; None: the format's
    site: Site | None = None  # the cluster's queues and nodes
    site_since: int = 0  # epoch seconds: since when they are so
    map: TableMap | None = None
    gpus: GpuSettings = field(default_factory=GpuSettings)

    @property
    def source(self) -> str:
        return str(self.path.absolute()) if self.path else "demo" if self.kind == "demo" else "standard input"


def import_file(
    wanted: Import, now: int, progress: Callable[[Counts, int | None], None] | None = None
) -> tuple[Counts, Layout]:
    """Read the whole source into the trace, in one transaction. A trace that is new is built beside its place.

    `progress` is called with the counts so far and the source's size in bytes, None where unknown.
    """
    with open_source(wanted.path) as stream, as_owner(wanted.db):
        return import_stream(wanted, stream, now, progress)


def rehearse(
    wanted: Import, load: Callable[[Import], Counts], look: Callable[[sqlite3.Connection], T]
) -> tuple[Counts, T]:
    """`load` the source into a temporary trace; returns the counts and what `look` returns for that trace."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "trace.db"
        counts = load(replace(wanted, db=scratch))
        with connect.reader(scratch) as db:
            return counts, look(db)


def import_stream(
    wanted: Import, stream: IO[bytes], now: int, progress: Callable[[Counts, int | None], None] | None = None
) -> tuple[Counts, Layout]:
    """Like import_file, from an open stream."""
    start = stream.tell() if is_plain(stream) else 0
    head = _peek(stream)
    if is_json(head):
        return _import_json(wanted, stream, head, now, progress)
    names = named_columns(wanted.columns) if wanted.columns is not None else None
    layout = detect(head, names, wanted.delimiter)
    plain, size = is_plain(stream), _size(stream)
    rest = b"" if plain else head[layout.skip :]
    tick = (lambda seen: progress(seen, size)) if progress else None
    rows = size and size * head.count(b"\n") // len(head)
    # What cannot be read a second time is read so that any header between its rows finds its places.
    used = layout if plain or layout.is_swf else wide(layout)
    once = plain and not layout.is_swf
    while True:
        if plain:
            stream.seek(start + layout.skip)
        begin = b"" if used is layout else header_line(layout)
        reading = _reading(used, wanted, now, lines=begin.count(b"\n"))

        def load(reading: Statement, target: Path, used: Layout = used, begin: bytes = begin) -> Counts:
            counts = _load(wanted, reading, used, target, now, (stream, begin + rest), tick)
            return replace(counts, headers=max(counts.headers - (used is not layout), 0))

        try:
            if not connect.is_there(wanted.db):
                return _first(replace(reading, once=once), wanted.db, load), layout
            return _more(reading, wanted.db, rows, load), layout
        except RunTwice:
            once = False
        except OtherColumns:
            if used is not layout:
                raise
            used, once = wide(layout), False


def _import_json(
    wanted: Import,
    stream: IO[bytes],
    head: bytes,
    now: int,
    progress: Callable[[Counts, int | None], None] | None,
) -> tuple[Counts, Layout]:
    """`sacct --json`, by way of the text that it stands for."""
    if wanted.columns is not None or wanted.delimiter is not None:
        raise UsageError(
            "JSON names its own columns, so it cannot be combined with --columns or --delimiter", "leave both out"
        )
    layout, text = sacct_json.layout(), sacct_json.JsonText(stream, head)
    reading = replace(_reading(layout, wanted, now), fields="", first_line=1)

    def load(reading: Statement, target: Path) -> Counts:
        tick = (lambda seen: progress(seen, None)) if progress else None
        return _load(wanted, reading, layout, target, now, (cast("IO[bytes]", text), b""), tick)

    if connect.is_there(wanted.db):
        return _more(reading, wanted.db, None, load), layout
    return _first(reading, wanted.db, load), layout


def _more(reading: Statement, db: Path, rows: int | None, load: Callable[[Statement, Path], Counts]) -> Counts:
    """Into the trace at `db`, which is there. `rows`: about how many are to come; None: unknown."""
    connect.prepare(db)
    with connect.writer(db) as trace:
        reading = _indexed_late(reading, trace, rows)
        reading = with_months(without_forgotten(reading, trace), trace)
    return load(reading, db)


def _first(reading: Statement, db: Path, load: Callable[[Statement, Path], Counts]) -> Counts:
    """A new trace at `db`, built beside it. RunTwice, with nothing built, where `reading.once` was wrong."""
    with bulk_load.made(db) as target:
        with bulk_load.opened(target) as built:
            before, after = bulk_load.later_indexes(built, reading.once)
        return load(replace(reading, fresh=True, before=before, after=after), target)


def _indexed_late(reading: Statement, db: sqlite3.Connection, rows: int | None) -> Statement:
    """Make the job table's indexes at the end, where the rows to come are many more than those stored."""
    stored, _ = runs.watermark(db)
    if rows is None or rows < MANY_ROWS or rows < 2 * stored:
        return reading
    before, after = bulk_load.later_indexes(db, key_too=False)
    return replace(reading, before=[*DROP_MONTHS, *before], after=after)


def _load(
    wanted: Import,
    reading: Statement,
    layout: Layout,
    target: Path,
    now: int,
    source: tuple[IO[bytes], bytes],
    tick: Callable[[Counts], None] | None,
) -> Counts:
    """The rows of `source` (a stream and what was read of it already) into the trace at `target`."""
    started = time.monotonic()
    opened = bulk_load.opened if reading.fresh else connect.writer
    with opened(target) as db, transaction(db):
        remember_site(db, wanted)
        stored, _ = runs.watermark(db)
    counts = ingest(_storing(reading, layout, wanted.origin), target, source[0], source[1], tick)
    totals = (counts.rows, counts.new, counts.changed, counts.rejected, counts.skipped)
    with opened(target) as db:
        if counts.rejected:
            drop_rejected(db, wanted.source, now)
        if counts.steps_new or counts.steps_changed:
            runs.fill_all_from_steps(db)
        if wanted.cluster and layout.swf and layout.swf.max_procs:
            set_fact(db, wanted.cluster, MAX_PROCS, str(layout.swf.max_procs), now)
        if layout.lacks_eligible and counts.new:
            waits_from_submission(db, runs.clusters_since(db, stored))
        with transaction(db):
            remember(db, wanted, now, time.monotonic() - started, totals)
    return counts


def waits_from_submission(db: sqlite3.Connection, clusters: Iterable[str]) -> None:
    """Remember that runs of these clusters came without the moment of being eligible."""
    for cluster in clusters:
        set_fact(db, cluster, FROM_SUBMISSION, "1", 0)


def remember_site(db: sqlite3.Connection, wanted: Import) -> None:
    """The queues and nodes of a described cluster; without nodes, those that the trace has stay as they are."""
    if wanted.site is not None:
        store_queues(db, wanted.site.cluster, wanted.site.queues, wanted.site_since)
        store_site(db, wanted.site, wanted.site_since)
        if wanted.site.nodes:
            store_nodes(db, wanted.site.cluster, wanted.site.nodes, wanted.site_since)


def remember(
    db: sqlite3.Connection, wanted: Import, now: int, seconds: float, totals: tuple[int, int, int, int, int]
) -> None:
    """Add a row of `load`, and one of `action` where an operator vouched, and say what its GPUs are. `totals`: the
    counts of record_load. The caller holds a transaction.
    """
    record_load(db, wanted.kind, wanted.source, wanted.cluster, now, seconds, totals)
    refresh(db, wanted.gpus)
    if wanted.origin == "trusted":
        said = {"source": wanted.source, "rows": totals[0], "new": totals[1], "changed": totals[2]}
        record_actions(db, [actions.act("import trusted", None, None, {}, **said)])


def _reading(layout: Layout, wanted: Import, now: int, lines: int = 0) -> Statement:
    """How adminkit-ingest reads this layout, with `lines` before the text. Raises UsageError for what the text
    cannot say by itself.
    """
    if layout.civil_times and not wanted.timezone:
        raise UsageError(
            "the times are dates without a time zone",
            "say which clock wrote them: --timezone Asia/Tokyo, --timezone UTC, …",
        )
    if wanted.cluster is None and not layout.has_cluster:
        raise UsageError("the rows name no cluster", "name it: --cluster NAME")
    bind = (wanted.source, str(now), wanted.cluster or "")
    # Without --cluster a row has to say its own.
    columns = [replace(c, required=c.required or (c.name == "Cluster" and not wanted.cluster)) for c in layout.columns]
    return Statement(
        columns,
        layout.delimiter,
        reject_sql=REJECT,
        bind=(*bind, *binds(layout.swf)) if layout.swf else bind,
        ends=layout.ends,
        swf=layout.is_swf,
        without=() if layout.is_swf else without_siblings(columns),
        order=() if layout.is_swf else order_of(columns),
        timezone=wanted.timezone if zone_of(wanted.timezone) and wanted.timezone else "",
        fields="" if layout.is_swf else words_of_headers(columns),
        first_line=layout.skip_lines + 1 - lines,
    )


#: An SWF trace has a line for each job.
SWF_RUNS: Final = Apart(here="1", earlier=OTHER_JOB)
TEXT_RUNS: Final = Apart(here=TWO_RUNS, earlier=f"{OTHER_JOB} OR {TWO_TASKS}")


def _storing(reading: Statement, layout: Layout, origin: str | None) -> Statement:
    """`reading` with the statements that store the rows."""
    if layout.swf:  # names stand in the header, so the same line may mean another queue
        values, which = swf_values(reading)
        return reading.storing_jobs(values, origin or "swf", which, again=not layout.swf.names, apart=SWF_RUNS)
    cluster, origin = f"?{outputs(layout.columns) + 3}", origin or "text"
    values = job_values(layout.columns, cluster)
    reading = reading.storing_jobs(values, origin, apart=TEXT_RUNS)
    return replace(
        reading.storing_steps(step_values(layout.columns, cluster), origin),
        without_sql=runs.sibling(values),
        before=(runs.SIBLINGS, *reading.before),
        after=(*reading.after, runs.drop_siblings(origin)),
    )


def _peek(stream: IO[bytes]) -> bytes:
    """The first PEEK_BYTES, or all there is. Trap: one read of a pipe may give less."""
    head = b""
    while len(head) < PEEK_BYTES and (chunk := stream.read(PEEK_BYTES - len(head))):
        head += chunk
    return head


def _size(stream: IO[bytes]) -> int | None:
    return os.fstat(stream.fileno()).st_size or None if is_plain(stream) else None


MAX_REJECTED: Final = 0.01


def refuse_many_rejected(counts: Counts, share: float) -> None:
    """Raise TooManyRejected when more than `share` of the rows was set aside."""
    if counts.rows and counts.rejected > share * counts.rows:
        raise TooManyRejected(
            f"{counts.rejected} of {counts.rows} rows were rejected, more than --max-rejected {share:g}",
            "the good rows are kept; `adminkit trace rejected` shows the rejected rows with their reasons",
        )
