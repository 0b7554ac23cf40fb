"""adminkit sync: one run over one or more clusters, alone at the trace."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from adminkit import actions
from adminkit.errors import AdminkitError, UsageError
from adminkit.ingest import sync_windows
from adminkit.ingest.machine import store_events, store_nodes, store_queues
from adminkit.ingest.reconcile import reconcile
from adminkit.ingest.sync_windows import Options, Run, Site, Summary, Tick
from adminkit.slurm import cluster, partitions, release
from adminkit.slurm.events import node_events
from adminkit.trace import connect, runs, windows
from adminkit.trace.actions import record_acts
from adminkit.trace.load_log import record_intake
from adminkit.trace.lock import only_one
from adminkit.trace.transaction import transaction

#: Seconds for which an event may reach slurmdbd late: as long as past windows are compared.
EVENTS_LATE: Final = 35 * 86_400
#: The fact that says when events were asked for.
_EVENTS: Final = "node events"


def sync(
    options: Options, wanted: Sequence[str], talk: Callable[[str], None], tick: Tick = lambda *_: None
) -> list[Summary]:
    """Bring the trace up to date with slurmdbd for these clusters; none named means the local one.

    Raises AdminkitError: another run is at work, slurmdbd cannot be reached, a cluster is unknown, or a first run was
    not told where to begin. What was imported until then is kept, and the next run goes on from there.
    """
    connect.prepare(options.db)
    with only_one(options.db, "adminkit sync"), connect.writer(options.db) as db, _spool(options.db) as spool:
        _collect_acts(db, options.acts, talk)
        return [_sync_one(db, options, name, spool, talk, tick) for name in _clusters(wanted)]


def _collect_acts(db: Connection, log: Path | None, talk: Callable[[str], None]) -> None:
    """What was done to Slurm from this host. A log that cannot be read is said, and hinders nothing."""
    try:
        record_acts(db, actions.read(log) if log else ())
    except AdminkitError as error:
        talk(f"{error.message}: its acts are not collected")


def _sync_one(
    db: Connection, options: Options, name: str, spool: Path, talk: Callable[[str], None], tick: Tick
) -> Summary:
    now, started = int(time.time()), time.monotonic()
    run = Run(db, site_of(name), options, spool, talk, tick=tick)
    first = _first(db, options, name)
    sync_windows.doubt_after_restart(run, now)
    _note_machine(run, now)
    _note_events(run, first, now)
    mark = runs.watermark(db)
    sync_windows.ask_windows(run, windows.JOBS, first, now)
    sync_windows.ask_open(run, now)
    if options.steps:
        sync_windows.ask_windows(run, windows.STEPS, first, now)
    reconcile(run, now)
    sync_windows.notice_rebuilt(run, mark, now)
    sync_windows.tell_altered(run)
    done = run.summary.closed + run.summary.open
    record_intake(
        db, "sync", "sacct", name, now, time.monotonic() - started,
        (done.rows, done.new, done.changed, done.rejected + run.summary.steps.rejected, run.summary.revoked),
    )  # fmt: skip
    return run.summary


def _note_machine(run: Run, now: int) -> None:
    """Queues and nodes of today. slurmctld may be away: accounting is read all the same."""
    name = run.site.cluster
    try:
        queues, nodes = partitions.queues(name), partitions.nodes(name)
    except AdminkitError as error:
        run.talk(f"{error.message}; queue limits are as last seen, and what is asked for now stays provisional")
        return
    with transaction(run.db):
        store_queues(run.db, name, queues, now)
        if nodes:  # PrivateData=nodes may hide them all: that says nothing of any
            store_nodes(run.db, name, nodes, now)


def _note_events(run: Run, first: int, now: int) -> None:
    """What happened to nodes since `first`, or since a while before the last run: slurmdbd may learn of it late."""
    name = run.site.cluster
    last = windows.note(run.db, name, _EVENTS)
    try:
        events = node_events(name, max(0, first if last is None else max(first, last[1] - EVENTS_LATE)))
    except AdminkitError as error:
        run.talk(f"{error.message}; events of nodes are as last seen")
        return
    with transaction(run.db):
        store_events(run.db, name, events)
        windows.set_note(run.db, name, _EVENTS, str(len(events)), now)


def _clusters(wanted: Sequence[str]) -> list[str]:
    """The clusters to ask for. Trap: sacct -M with a name nobody has answers nothing, and exits with 0."""
    if not wanted:
        return [cluster.local_cluster()]
    cluster.refuse_unknown_clusters(wanted, cluster.known_clusters())
    return list(wanted)


def site_of(name: str) -> Site:
    """What Slurm says of itself now."""
    return Site(
        cluster=name,
        fields=release.sacct_fields(),
        finished=release.finished_states(),
        backlog=lambda: _backlog(name),
        dbd_started=cluster.accounting().booted_at,
    )


def _backlog(name: str) -> int | None:
    """None where slurmctld is away: what it still holds for slurmdbd then lies on its disk."""
    try:
        return cluster.dbd_backlog(name)
    except AdminkitError:
        return None


def _first(db: Connection, options: Options, name: str) -> int:
    """Where this cluster's trace begins: where it began, or --since where that is earlier."""
    known = windows.asked(db, name, windows.JOBS)
    if options.since is not None and options.since >= time.time():
        raise UsageError("--since is not in the past", "say when the trace shall begin: --since 2024-01-01")
    if options.since is not None:
        return min([options.since, *(window.since for window in known[:1])])
    if not known:
        raise UsageError(
            f"the trace knows nothing of {name} yet", "say how far back it shall go: adminkit sync --since 2024-01-01"
        )
    return known[0].since


@contextmanager
def _spool(db: Path) -> Iterator[Path]:
    """A folder for sacct's answers beside the trace, empty before and gone after."""
    folder = db.with_name(f".{db.name}.spool")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise AdminkitError(
            f"couldn't make {folder}: {(error.strerror or '').lower()}",
            "another user's run may have left it: remove it, and run sync as the user who owns the trace",
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
