"""adminkit data cache, a command of `adminkit data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adminkit import actions, config
from adminkit.cli import options
from adminkit.data.cache import CACHE, look, parse_size, to_trim
from adminkit.data.cache import trim as remove
from adminkit.errors import UsageError
from adminkit.render.sink import Way, emit


def cache(
    folder: Annotated[
        Path, typer.Option("--cache", metavar="DIR", help="The cache, as plugstack.conf names it.")
    ] = CACHE,
    trim: Annotated[
        str | None, typer.Option("--trim", metavar="SIZE", help="Bring it down to this size, such as 100G; 0: all.")
    ] = None,
    apply: options.Apply = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show the copies of training data on this node. With --trim, show which would go: of those that no job uses,
    the ones that were used longest ago. With --apply, remove them. Only root may.

    Example: adminkit data cache --trim 100G
    """
    from adminkit.reports.data_cache import cache_report

    if apply and trim is None:
        raise UsageError("--apply removes what --trim names", "add --trim SIZE, such as --trim 100G")
    way, size = Way(format.value, output), None if trim is None else parse_size(trim)
    found = look(folder)
    if size is None:
        emit(cache_report(found), way)
    elif not apply:
        emit(cache_report(found, to_trim(found, size)), way)
    else:
        log = config.load().acts
        actions.check(log)
        gone = remove(folder, size)
        freed = sum(one.size for one in gone)
        actions.append(log, actions.act("data cache", None, None, {}, cache=str(folder), copies=len(gone), bytes=freed))
        emit(cache_report(look(folder), gone, applied=True), way)
