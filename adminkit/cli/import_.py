"""adminkit import."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit import config
from adminkit.cli.months_kept import keep_up
from adminkit.cli.options import Counted, CountedOption, Database, complete_files, complete_site
from adminkit.cli.progress import progress
from adminkit.errors import UsageError
from adminkit.ingest.files import MAX_REJECTED, Import, import_file, refuse_many_rejected, rehearse
from adminkit.ingest.helper import Counts
from adminkit.ingest.import_export import import_export, import_sidecar, sidecar_of
from adminkit.ingest.import_table import import_table, preview
from adminkit.ingest.sources import mapping
from adminkit.ingest.sources.exported import is_export
from adminkit.quote import clean, quote
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.slurm.site import Site
from adminkit.slurm.site_file import load_site
from adminkit.stats.sources import Held, held
from adminkit.trace.location import find_trace
from adminkit.units import show_time

#: How many rows --dry-run shows.
SHOWN: Final = 3


def _complete_map(incomplete: str) -> list[str]:
    """The maps that came with adminkit, and TOML files."""
    shipped = [name for name in mapping.shipped() if name.startswith(incomplete)]
    return [*shipped, *complete_files(incomplete, (".toml",))]


def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|FOLDER|-",
            help="sacct text, an SWF trace, or a job table with --map, also as .gz, .bz2 or .xz; - for standard input; "
            "or a folder that `adminkit export` wrote.",
        ),
    ],
    db: Database = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", "-M", help="The cluster's name, if the rows do not have it.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="The time zone of the dates in the file: Asia/Tokyo, UTC, …")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,C",
            help="sacct's names for the columns, if the text has no header; `-` skips a column.",
        ),
    ] = None,
    delimiter: Annotated[
        str, typer.Option("--delimiter", help="The text between two columns; one character or more.")
    ] = "auto",
    map: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="MAP",
            help="Read FILE as a job table (CSV, TSV); MAP is a TOML file that says what the columns are, or one of"
            " adminkit's own maps: eagle, helios, philly, pm100.",
            autocompletion=_complete_map,
        ),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--site",
            metavar="FILE",
            help="A file that describes the cluster at the time of the jobs, as `adminkit site` writes it: name,"
            " queues, limits, nodes.",
            autocompletion=complete_site,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --map: show how the first rows would be read, and write nothing.")
    ] = False,
    max_rejected: Annotated[
        float,
        typer.Option(
            "--max-rejected",
            min=0,
            max=1,
            metavar="SHARE",
            help="Exit with code 3 if more than this share of the rows is rejected.",
        ),
    ] = MAX_REJECTED,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted",
            help="Vouch for the rows, so that points, letters and hints use them like rows from slurmdbd. Without"
            " --apply, only shows what would be done.",
        ),
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --trusted: do it.")] = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Read accounting text into the trace. Reads sacct text of any Slurm release, SWF, or a job table. Reading the
    same file again changes nothing.

    Example: adminkit import sacct.txt.gz --cluster lab
    """
    if apply and not trusted:
        raise UsageError("--apply needs --trusted", "leave --apply out: an import without --trusted triggers no action")
    if map is not None and columns is not None:
        raise UsageError(
            "--columns names sacct's columns, and a map names those of a table", "leave one of the two out"
        )
    path = None if file == "-" else Path(file)
    if path is None and sys.stdin.isatty():
        raise UsageError("standard input is a terminal", "pipe sacct text into it, or name a file")
    described = load_site(site) if site is not None else None
    settings = config.load()
    wanted = Import(
        path=path,
        db=find_trace(db, settings.db),
        gpus=settings.gpus,
        cluster=_cluster(cluster, described),
        timezone=timezone,
        columns=columns.split(",") if columns is not None else None,
        delimiter=None
        if delimiter == "auto"
        else delimiter.encode().decode("unicode_escape")
        if "\\" in delimiter
        else delimiter,
        kind="import --trusted" if trusted else "import",
        origin="trusted" if trusted else None,
        site=described,
        map=mapping.load_map(mapping.find_map(map)) if map is not None else None,
    )
    if dry_run:
        _show_first_rows(wanted, format)
        return
    seen: Held | None = None
    with progress(f"reading {file}") as bar:
        tick = lambda read, size: bar(read.bytes, size, read.rows)  # noqa: E731
        if trusted and not apply:
            counts, seen = rehearse(wanted, lambda one: _import(one, tick), held)
        else:
            counts = _import(wanted, tick)
    if not trusted or apply:
        keep_up(wanted.db, settings.months)
    if format is Counted.JSON:
        meta = {"database": str(wanted.db), "source": wanted.source, **({"applied": apply} if trusted else {})}
        print(json.dumps({"meta": meta, "rows": [asdict(counts)]}))
    else:
        put(summary(counts))
    if seen is not None:
        say(vouched(seen))
    elif counts.rejected:
        say(f"note: {plural(counts.rejected, 'row')} rejected; `adminkit trace rejected` shows why")
    refuse_many_rejected(counts, max_rejected)


def _cluster(named: str | None, site: Site | None) -> str | None:
    """The cluster of rows that do not say it: --cluster, else the one that --site describes."""
    if site is not None and named not in (None, site.cluster):
        raise UsageError(f"--site describes {site.cluster}, not {quote(named)}", "leave --cluster out")
    return site.cluster if site is not None else named


def _import(wanted: Import, tick: Callable[[Counts, int | None], None]) -> Counts:
    now = int(time.time())
    if wanted.map is not None:
        if wanted.map.lacks_eligible:
            _note_waits("the map has no eligible_time")
        return import_table(wanted, now, tick)
    if is_export(wanted.path):
        return import_export(wanted, now, lambda read, rows: tick(replace(read, bytes=read.rows), rows))
    counts, layout = import_file(wanted, now, tick)
    if layout.is_swf and (beside := sidecar_of(wanted.path)):
        named = import_sidecar(wanted, beside, now)
        say(f"note: {named.changed} of these runs have names from {quote(str(beside), 200)}")
    if layout.lacks_eligible:
        _note_waits("there is no column Eligible")
    if counts.rows == 0 and not layout.is_swf:
        say("note: the input has a header and no rows; sacct -a asks for every user, -S for an earlier time")
    if counts.headers:
        say(f"note: headers with other columns among the rows: {counts.headers}; each applies to the rows after it")
    if layout.unknown:
        say(f"note: ignored columns that are not sacct's: {', '.join(layout.unknown)}")
    return counts


def _note_waits(why: str) -> None:
    say(f"note: {why}: waits count from the submission, even for jobs that could not start yet")


def _show_first_rows(wanted: Import, format: Counted) -> None:
    from adminkit.render.sink import Way, emit
    from adminkit.reports.preview import preview_report

    if wanted.map is None:
        raise UsageError("--dry-run shows how a map reads a table", "name one with --map")
    columns, rows = preview(wanted, SHOWN)
    emit(preview_report(wanted.map.name, wanted.map.fields, columns, rows), Way(format.value))


def vouched(seen: Held) -> str:
    """What `--trusted --apply` would do, for an operator to think about."""
    span = f", ended from {show_time(seen.first)} to {show_time(seen.last)}" if seen.first and seen.last else ""
    return (
        f"note: nothing was written; --apply vouches for {plural(seen.runs, 'run')} of {plural(seen.users, 'user')} on"
        f" {clean(', '.join(seen.clusters)) or 'no cluster'}{span}: points, letters and hints then follow from them"
    )


def summary(counts: Counts) -> str:
    """The counts in one line; what is zero and unusual is left out."""
    c = counts
    text = f"read {c.rows}, new {c.new}, changed {c.changed}, unchanged {c.unchanged}, rejected {c.rejected}"
    extra = {
        "steps": counts.steps_rows,
        "skipped": counts.skipped,
        "with repaired delimiters": counts.repaired,
        "with invalid UTF-8": counts.utf8,
        "at ambiguous hours": counts.ambiguous,
        "repeated word for word": counts.repeated,
        "with times that contradict each other": counts.contradictory,
    }
    return text + "".join(f", {number} {what}" for what, number in extra.items() if number)
