"""adminkit export."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.options import Counted, CountedOption
from adminkit.cli.progress import progress
from adminkit.errors import UsageError
from adminkit.export.folder import Wanted, load_duckdb, write_folder
from adminkit.export.pseudonyms import Pseudonyms
from adminkit.export.swf import write_swf
from adminkit.key_file import read_key
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.sqlite import sqlite3
from adminkit.stats.exported import Rare, chosen_runs, counted, rare
from adminkit.stats.select import check_words, clusters, only_cluster, snapshot
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import whose
from adminkit.units import moment

#: What --anonymise counts as rare: combinations that fewer users have.
K: Final = 5
_WORDS: Final = {"job": "runs", "step": "steps", "queue": "queues", "node": "nodes", "node_event": "events of nodes"}


class To(StrEnum):
    """The kind of file."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SWF = "swf"


def export(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE.swf", help="The folder to make, with a file for each table, or the SWF file."
        ),
    ],
    db: options.Database = None,
    to: Annotated[
        To | None,
        typer.Option(
            "--to",
            help="The file format. Default: csv, or swf for FILE.swf. parquet writes a file for each month and needs"
            " adminkit[parquet].",
        ),
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option(
            "--anonymise", help="Replace the names of users, groups, accounts, nodes and jobs with keyed hashes."
        ),
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="With --anonymise: the file that holds the key, created if missing; the same key gives the same "
            "pseudonyms. Default: a key that is not kept.",
        ),
    ] = None,
    queue: options.Queues = None,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Write the trace for other programs. Writes every column of its runs, steps, queues and nodes, or an SWF trace.

    `adminkit import` can read both. The files have mode 0600.

    Example: adminkit export shared --to parquet --anonymise
    """
    if key is not None and not anonymise:
        raise UsageError("--key needs --anonymise", "add --anonymise, or leave --key out")
    kind = to or (To.SWF if target.suffix == ".swf" else To.CSV)
    if kind is To.SWF and target.suffix != ".swf":
        raise UsageError("an SWF trace is a file that ends in .swf", "name it FILE.swf")
    if kind is not To.SWF and target.suffix == ".swf":
        raise UsageError(f"--to {kind.value} makes a folder, not {target.name}", "leave --to out, or name a folder")
    if kind is To.PARQUET:
        load_duckdb()
    when, settings = moment(as_of, time.time()), config.load()
    path = find_trace(db, settings.db)
    pseudonyms = Pseudonyms(read_key(key)) if anonymise else None
    with progress(f"writing {target}") as bar, reader(path, when.as_of) as trace, snapshot(trace):
        named = ReportOptions(
            user=whose(user, path), queue=queue or (), account=account or (), cluster=cluster or (), since=since,
            until=until,
        )  # fmt: skip
        usual = job_filter(named, settings, when.now)
        chosen = check_words(trace, replace(usual, states=(), min_elapsed=None))
        runs, _, _ = counted(trace, chosen_runs(chosen))
        tick = lambda done: bar(done, None, done)  # noqa: E731
        if kind is To.SWF:
            one = _one(chosen.clusters, trace)
            chosen = replace(chosen, clusters=(one,))
            tables = {"job": write_swf(trace, target, one, chosen, pseudonyms, tick)}
        else:
            wanted = Wanted(chosen, kind.value, pseudonyms, tick, int(when.now))
            tables = write_folder(trace, target, chosen.clusters or clusters(trace), wanted)
        few = rare(trace, chosen, K) if anonymise else None
    _tell(target, tables, runs - tables["job"], few, format)


def _one(named: Sequence[str], trace: sqlite3.Connection) -> str:
    if len(named) > 1:
        raise UsageError(f"an SWF trace holds one cluster, not {', '.join(map(quote, named))}", "name one: --cluster")
    return only_cluster(trace, named[0] if named else None)


def _tell(target: Path, tables: dict[str, int], left: int, few: Rare | None, format: Counted) -> None:
    if format is Counted.JSON:
        print(json.dumps({"target": str(target), "rows": tables, "left_out": left, "rare": few and asdict(few)}))
    else:
        rows = ", ".join(f"{count:,} {_WORDS[table]}" for table, count in tables.items() if count)
        put(f"wrote {quote(str(target), 200)}: {rows or 'no rows'}")
    if left:
        say(f"note: {plural(left, 'run')} without an end left out: SWF has no place for them")
    if few is not None and few.rare:
        say(
            f"note: {few.rare:,} of {few.shapes:,} combinations of cluster, queue, nodes, CPUs, GPUs and limit, with"
            f" {plural(few.runs, 'run')}, belong to fewer than {few.k} users: anyone who recognises one of these jobs"
            " knows whose they are"
        )
