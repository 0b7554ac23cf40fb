"""adminkit sync."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.import_ import summary as counts_line
from adminkit.cli.months_kept import keep_up
from adminkit.cli.options import Counted, CountedOption, Database
from adminkit.cli.progress import progress
from adminkit.config import chosen
from adminkit.errors import AdminkitError, UsageError
from adminkit.ingest.sync_run import Options, Summary
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.trace.location import find_trace

if TYPE_CHECKING:
    from adminkit.ingest.sources.base import Opener


class Accounts(StrEnum):
    """Who is asked for runs."""

    SACCT = "sacct"
    SLURMDBD = "slurmdbd"


def sync(
    db: Database = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="Where the first sync begins: 2024-01-01, 90d, epoch seconds."),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option("--cluster", "-M", help="Sync this cluster instead of the local one. Repeat for more."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, max=16, metavar="N", help="How many sacct calls to run at once. Default: 1."),
    ] = None,
    steps: Annotated[
        bool | None,
        typer.Option("--steps/--no-steps", help="Also read steps: CPU time, peak memory, disk use. Default: yes."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=1, metavar="SECONDS", help="Stop a sacct call after this time. Default: 300."),
    ] = None,
    source: Annotated[
        Accounts | None,
        typer.Option(
            "--source",
            help="Read with sacct, or much faster from slurmdbd's database. Default: sacct, or [sync] source.",
        ),
    ] = None,
    verify: Annotated[
        int | None,
        typer.Option(
            "--verify",
            min=1,
            metavar="N",
            help="With the database: first compare N random jobs with sacct. Default: 200 before the first sync, and"
            " after an upgrade of slurmdbd.",
        ),
    ] = None,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Bring the trace up to date with slurmdbd. Continues from the last sync.

    Example: adminkit sync --since 2026-01-01
    """
    from adminkit.ingest.sync import sync as run
    from adminkit.units import parse_when

    settings = config.load()
    usual, begin = settings.sync, chosen(since, settings.sync.since)
    options = Options(
        find_trace(db, settings.db),
        since=parse_when(begin, now=int(time.time())) if begin else None,
        overlap=round(usual.overlap_hours * 3600),
        budget=usual.row_budget,
        jobs=chosen(jobs, usual.jobs),
        steps=chosen(steps, usual.steps),
        steps_pause=usual.steps_pause,
        timeout=chosen(timeout, usual.timeout),
        acts=settings.acts,
        record=usual.record,
        gpus=settings.gpus,
        verify=verify,
    )
    asked = source.value if source else usual.source
    opener = _opener(asked, usual.option_file)
    if verify and asked == "sacct":
        raise UsageError("--verify compares the database with sacct", "add --source slurmdbd")
    with progress(f"asking {asked}") as tick:
        done = run(options, cluster or usual.clusters, lambda text: say(f"note: {text}"), tick, opener=opener)
    keep_up(options.db, settings.months)
    if format is Counted.JSON:
        print(json.dumps({"meta": {"database": str(options.db)}, "rows": [asdict(one) for one in done]}))
        return
    for one in done:
        put(f"{one.cluster}: {counts_line(one.closed)}")
        for line in remarks(one):
            put(f"{one.cluster}: {line}")


def _opener(source: str, option_file: Path | None) -> Opener:
    """Who is asked. AdminkitError where the database is wanted and nothing says how to reach it."""
    from adminkit.ingest.sources import sacct, slurmdbd

    if source == "sacct":
        return sacct.open_sacct
    if option_file is None:
        raise AdminkitError(
            "nothing says how to reach slurmdbd's database",
            "write option_file in [sync]: a file with [client] and host, user, password and database",
        )
    return slurmdbd.opener(option_file)


def remarks(one: Summary) -> list[str]:
    """What else an operator should know of a run, a line each."""
    lines = [f"open now {one.open.rows}, {plural(one.windows, 'window')}"]
    if one.steps.rows:
        lines.append(
            f"steps: read {one.steps.steps_rows}, new {one.steps.steps_new}, changed {one.steps.steps_changed}"
        )
    for number, text in (
        (
            one.provisional,
            "windows are provisional: slurmctld still holds records for slurmdbd; the next run asks again",
        ),
        (one.looked_up, "runs left the queue without an end and were looked up"),
        (one.lost, "runs have had no end for 35 days and are no longer looked up"),
        (one.revoked, "revoked federation siblings were left out"),
        (
            one.closed.contradictory,
            "runs have times that contradict each other; impossible values are unknown in the trace",
        ),
        (one.reconciled, "past windows had changed and were asked for again"),
        (
            one.rebuilt,
            "runs share a DBIndex with another: the accounting database was rebuilt; nothing was overwritten",
        ),
    ):
        if number:
            lines.append(f"{number} {text}")
    return lines
