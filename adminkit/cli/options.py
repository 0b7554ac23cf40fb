"""The options that several commands share, under one name each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit.messages import LANGUAGES


class Format(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"


class Counted(StrEnum):
    """How the counts of a load are written."""

    TABLE = "table"
    JSON = "json"


class JobClass(StrEnum):
    """How parallel a job is; job.CLASSES."""

    CPU = "cpu"
    SINGLE_GPU = "single-gpu"
    MULTI_GPU = "multi-gpu"
    MULTI_NODE = "multi-node"


class LimitSource(StrEnum):
    """Who chose a job's limit; job.LIMIT_SOURCES."""

    EXPLICIT = "explicit"
    DEFAULT = "default"
    UNKNOWN = "unknown"


if TYPE_CHECKING:
    Language = str
else:
    Language = StrEnum("Language", {one.upper(): one for one in LANGUAGES})


def complete_files(incomplete: str, endings: Sequence[str]) -> list[str]:
    """The files with one of these endings, and the folders, that what was typed may become."""
    folder = incomplete.rpartition("/")[0]
    there = Path(f"{folder}/" if incomplete.startswith("/") else folder or ".")
    shown = f"{folder}/" if "/" in incomplete else ""
    try:
        inside = sorted(there.iterdir())
    except OSError:
        return []
    names = [
        f"{shown}{one.name}{'/' if one.is_dir() else ''}" for one in inside if one.suffix in endings or one.is_dir()
    ]
    return [name for name in names if name.startswith(incomplete)]


def complete_site(incomplete: str) -> list[str]:
    """Files that may describe a cluster."""
    return complete_files(incomplete, (".toml", ".json"))


CountedOption = Annotated[Counted, typer.Option("--format", "-f", help="The output format of the counts.")]
Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The trace database. Default: $ADMINKIT_DB, the config's db, /var/lib/adminkit/trace.db, or your own.",
    ),
]
SiteFile = Annotated[
    Path | None,
    typer.Option(
        "--site",
        metavar="FILE",
        help="A file that `adminkit site` wrote, TOML or JSON, to use instead of this host's cluster.",
        autocompletion=complete_site,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="The output format.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of stdout.")]
Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without --apply, only show what would be done.")]
Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", "--partition", "-p", metavar="NAME", help="Only this queue. Repeat for more."),
]
Users = Annotated[
    list[str] | None, typer.Option("--user", "-u", metavar="NAME", help="Only this user. Repeat for more.")
]
Accounts = Annotated[
    list[str] | None, typer.Option("--account", "-A", metavar="NAME", help="Only this account. Repeat for more.")
]
Clusters = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster",
        "-M",
        metavar="NAME",
        help="Only this cluster, or those that this alias stands for. Repeat for more.",
    ),
]
OneCluster = Annotated[
    str | None, typer.Option("--cluster", "-M", metavar="NAME", help="The cluster to use, if the trace has several.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="Jobs that ended at or after WHEN: 2026-01-31, 2026-01-31T12:00, 30d (rounded down to the hour), 12h,"
        " epoch seconds.",
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Jobs that ended before WHEN.")]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="WHEN",
        help="Use the trace as it was at WHEN: later submissions are left out, and runs that ended later count"
        " as open. WHEN is 2026-01-31, 2026-01-31T12:00, 30d, 12h or epoch seconds.",
    ),
]
Classes = Annotated[
    list[JobClass] | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Only jobs of this class: cpu, single-gpu, multi-gpu, multi-node. Repeat for more.",
    ),
]
States = Annotated[
    str | None,
    typer.Option(
        "--states",
        metavar="STATE,…",
        help="Only jobs that ended in one of these states; default: COMPLETED,TIMEOUT; all: any state.",
    ),
]
MinElapsed = Annotated[
    str | None,
    typer.Option(
        "--min-elapsed",
        metavar="TIME",
        help="Only jobs that ran for more than TIME: seconds, 15m, 1h30m, 02:00:00; 60 s by default.",
    ),
]
LimitSourceOption = Annotated[
    LimitSource | None,
    typer.Option(
        "--limit-source",
        help="Only limits of this origin: explicit (set by the user), default (the queue's) or unknown.",
    ),
]
Plot = Annotated[bool, typer.Option("--plot", help="Also draw the plots in the terminal.")]
Picture = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", help="Also draw the plots into FILE, .png or .svg.")
]
