"""adminkit doctor."""

from __future__ import annotations

import typer

from adminkit.cli.options import Database, Format, FormatOption, Output
from adminkit.render.say import put


def doctor(db: Database = None, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Check what adminkit needs on this host. Prints a hint for each thing that is missing. Exit code 1 if anything
    is missing.

    Example: adminkit doctor
    """
    from adminkit.doctor.examine import examine, lacking
    from adminkit.render.sink import Way, emit
    from adminkit.reports.checks import checks_report, checks_text

    path, checks = examine(db)
    rows = [(check.name, check.status, check.found, check.hint) for check in checks]
    if format is Format.TABLE and output is None:
        put(checks_text(rows), end="")
    else:
        emit(checks_report(rows, str(path)), Way(format.value, output))
    if lacking(checks):
        raise typer.Exit(1)
