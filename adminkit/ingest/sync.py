"""adminkit sync: one run over one or more clusters; a lock keeps other runs off the trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adminkit import actions
from adminkit.errors import AdminkitError, UsageError
from adminkit.files import remove_folder
from adminkit.ingest.gpus import note_tracked, refresh
from adminkit.ingest.machine import store_events, store_nodes, store_queues, store_site
from adminkit.ingest.reconcile import reconcile
from adminkit.ingest.sources.base import JOBS, STEPS, Opener
from adminkit.ingest.sources.sacct import open_sacct
from adminkit.ingest.sources.verify import must_agree
from adminkit.ingest.sync_changes import ask_changed, read_until, tell_purged
from adminkit.ingest.sync_clock import clock_is_behind, now_of, take_back, tell_to_come
from adminkit.ingest.sync_open import ask_open
from adminkit.ingest.sync_run import Options, Summary, SyncRun, Tick
from adminkit.ingest.sync_windows import ask_windows
from adminkit.ingest.window_plan import DAY
from adminkit.quote import quote
from adminkit.slurm import cluster, gather, partitions
from adminkit.slurm.events import node_events
from adminkit.slurm.site import Site
from adminkit.slurm.tracked import lacking, tracked_tres
from adminkit.sqlite import sqlite3
from adminkit.trace import altered, connect, runs, windows
from adminkit.trace.actions import record_actions
from adminkit.trace.load_log import record_load
from adminkit.trace.lock import only_one
from adminkit.trace.transaction import transaction

#: Seconds by which a node event may reach slurmdbd late: as far back as windows are compared.
EVENTS_LATE: Final = 35 * 86_400
#: Seconds before a restart of slurmdbd whose rows may have come late.
RESTART_DOUBT: Final = 2 * DAY
#: Runs changed after their end that are named, at most.
TOLD: Final = 10
#: The fact that says when events were asked for.
_EVENTS: Final = "node events"


def sync(
    options: Options,
    wanted: Sequence[str],
    talk: Callable[[str], None],
    tick: Tick = lambda *_: None,
    *,
    opener: Opener = open_sacct,
) -> list[Summary]:
    """Bring the trace up to date with slurmdbd for these clusters; none named means the local one.

    `opener`: who is asked for their runs.

    Raises AdminkitError: another run is at work, slurmdbd cannot be reached, a cluster is unknown, or a first run was
    not told where to begin. What was imported until then is kept, and the next run resumes there.
    """
    connect.prepare(options.db)
    with only_one(options.db, "adminkit sync"), connect.writer(options.db) as db, _spool(options.db) as spool:
        _collect_acts(db, options.acts, talk)
        summaries = []
        for name in _clusters(wanted):
            now, began = int(time.time()), time.monotonic()
            source = opener(name, spool, timeout=options.timeout, record=options.record)
            must_agree(db, source, options.timeout, talk, options.verify)
            one = SyncRun(db, source, options, talk, tick=tick)
            summaries.append(_sync_one(one, now_of(one, now), began))
        return summaries


def _collect_acts(db: sqlite3.Connection, log: Path | None, talk: Callable[[str], None]) -> None:
    """Copy this host's action log. A log that cannot be read is reported, and the run continues."""
    try:
        record_actions(db, actions.read(log) if log else ())
    except AdminkitError as error:
        talk(f"{error.message}: its actions are not collected")


def _sync_one(run: SyncRun, now: int, began: float) -> Summary:
    first = _first(run.db, run.options, run.cluster, now)
    take_back(run, now)
    _doubt_after_restart(run, now)
    _note_machine(run, now)
    _note_events(run, first, now)
    mark, before = runs.watermark(run.db), read_until(run)
    ask_windows(run, JOBS, first, now)
    ask_open(run, now)
    if run.options.steps:
        ask_windows(run, STEPS, first, now)
    ask_changed(run, first, before, now)
    tell_purged(run, first, now)
    reconcile(run, now)
    tell_to_come(run, now)
    _notice_rebuilt(run, mark, now)
    _tell_altered(run)
    done = run.summary.closed + run.summary.open
    with transaction(run.db):
        refresh(run.db, run.options.gpus)
    record_load(
        run.db, "sync", run.source.name, run.cluster, now, time.monotonic() - began,
        (done.rows, done.new, done.changed, done.rejected + run.summary.steps.rejected, run.summary.revoked),
    )  # fmt: skip
    return run.summary


def _note_machine(run: SyncRun, now: int) -> None:
    """Store the queues and nodes as they are now. Where slurmctld is away this is reported, and the run continues."""
    name = run.cluster
    try:
        queues = partitions.queues(name)
    except AdminkitError as error:
        run.talk(f"{error.message}; queue limits are as last seen, and what is asked for now stays provisional")
        return
    with transaction(run.db):
        store_queues(run.db, name, queues, now)
    try:
        nodes = partitions.nodes(name)
    except AdminkitError as error:  # with PrivateData=nodes slurmctld refuses whoever is not an operator
        run.talk(f"{error.message}; nodes are as last seen")
        nodes = []
    with transaction(run.db):
        if nodes:  # no node at all: slurmctld hides them
            store_nodes(run.db, name, nodes, now)
    _note_site(run, Site(name, tuple(queues), nodes=tuple(nodes)), now)


def _note_site(run: SyncRun, site: Site, now: int) -> None:
    """Store how the cluster schedules, where this host belongs to it; what cannot be told stays as it was."""
    try:
        if cluster.local_cluster() != site.cluster:
            return
        described = gather.complete(site)
    except AdminkitError as error:
        run.talk(f"{error.message}; how jobs are scheduled is as last seen")
        return
    with transaction(run.db):
        store_site(run.db, described, now)
    _note_tracked(run, site, now)


def _note_tracked(run: SyncRun, site: Site, now: int) -> None:
    """Store which GPUs accounting tracks, and say so where the nodes have others."""
    try:
        tres = tracked_tres()
    except AdminkitError:  # said of the site already
        return
    if tres is None:
        return
    with transaction(run.db):
        note_tracked(run.db, site.cluster, tres, now)
    if missing := lacking(site.nodes, tres):
        run.talk(
            f"AccountingStorageTRES lacks {', '.join(missing)}: GPUs of the runs of queues with such nodes are unknown"
            " (docs/gpus.md)"
        )


def _note_events(run: SyncRun, first: int, now: int) -> None:
    """Store node events since `first`, or since EVENTS_LATE before the last run, as slurmdbd may get them late."""
    name = run.cluster
    last = windows.fact(run.db, name, _EVENTS)
    try:
        events = node_events(name, max(0, first if last is None else max(first, min(last[1], now) - EVENTS_LATE)))
    except AdminkitError as error:
        run.talk(f"{error.message}; events of nodes are as last seen")
        return
    with transaction(run.db):
        store_events(run.db, name, events)
        windows.set_fact(run.db, name, _EVENTS, str(len(events)), now)


def _clusters(wanted: Sequence[str]) -> list[str]:
    """The clusters to ask for. Trap: sacct -M with a name nobody has answers nothing, and exits with 0."""
    if not wanted:
        return [cluster.local_cluster()]
    cluster.refuse_unknown_clusters(wanted, cluster.known_clusters())
    return list(wanted)


def _doubt_after_restart(run: SyncRun, now: int) -> None:
    """After a restart of slurmdbd ask for the time before it again: rows it had not written may have come since."""
    started = run.source.started_at
    if started is None:
        return
    last = windows.fact(run.db, run.cluster, "dbd_started")
    if last and last[0] != str(started):
        for part in (JOBS, STEPS):
            windows.doubt(run.db, run.cluster, part, min(last[1], now) - RESTART_DOUBT)
        run.talk("slurmdbd was restarted since the last run: asking for its last two days again")
    windows.set_fact(run.db, run.cluster, "dbd_started", str(started), now)


def _notice_rebuilt(run: SyncRun, mark: tuple[int, int], now: int) -> None:
    """Say that slurmdbd numbers its rows from the start again; `mark` is the trace's watermark before this run."""
    shared = runs.same_db_index(run.db, run.cluster, mark)
    if shared:
        run.summary.rebuilt += shared
        windows.set_fact(run.db, run.cluster, "rebuilt", str(shared), now)


def _tell_altered(run: SyncRun) -> None:
    """Report the runs that were changed after their end, the first few by number."""
    changes = altered.take(run.db, run.cluster)
    for one in changes[:TOLD]:
        whose = f" of {quote(one.user)}" if one.user else ""
        run.talk(f"job {one.job_id_raw}{whose}: {one.column} was {one.before} at its end and is {one.after} now")
    if len(changes) > TOLD:
        run.talk(f"and {len(changes) - TOLD:,} more that were changed after their end")


def _first(db: sqlite3.Connection, options: Options, name: str, now: int) -> int:
    """Where this cluster's trace begins: the first window's begin, or --since where that is earlier. Epoch seconds."""
    known = windows.recorded(db, name, windows.JOBS)
    if known and known[0].since >= now:
        raise clock_is_behind(name, known[0].since, now)
    if options.since is not None and options.since >= now:
        raise UsageError("--since is not in the past", "choose a start date: --since 2024-01-01")
    if options.since is not None:
        return min([options.since, *(window.since for window in known[:1])])
    if not known:
        raise UsageError(
            f"the trace has no data for {name} yet", "choose a start date: adminkit sync --since 2024-01-01"
        )
    return known[0].since


@contextmanager
def _spool(db: Path) -> Iterator[Path]:
    """A folder for the source's answers beside the trace, empty before and gone after."""
    folder = db.with_name(f".{db.name}.spool")
    remove_folder(folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise AdminkitError(
            f"couldn't make {folder}: {(error.strerror or '').lower()}",
            "another user's run may have left it: move it away, and run sync as the user who owns the trace",
        ) from error
    try:
        yield folder
    finally:
        remove_folder(folder)
