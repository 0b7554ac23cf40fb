"""The options that several commands share, under one name each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The trace database. Default: $ADMINKIT_DB, the config, /var/lib/adminkit/trace.db, your own.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to write it.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of the terminal.")
]
Queues = Annotated[
    list[str] | None, typer.Option("--queue", "--partition", "-p", help="Only this queue. Repeat for more.")
]
Users = Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user. Repeat for more.")]
Accounts = Annotated[list[str] | None, typer.Option("--account", "-A", help="Only this account. Repeat for more.")]
Clusters = Annotated[list[str] | None, typer.Option("--cluster", "-M", help="Only this cluster. Repeat for more.")]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="Jobs that ended at or after WHEN: 2026-01-31, 2026-01-31T12:00, 30d, 12h, epoch seconds.",
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Jobs that ended before WHEN.")]
