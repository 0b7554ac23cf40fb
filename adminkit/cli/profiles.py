"""adminkit profiles: what is wrong with a site's interactive environments, and which can start now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from adminkit.cli import options
from adminkit.cli.fit import File, Who
from adminkit.cli.group import group

app = group("Check the interactive environments that users are offered.")

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write JSON to FILE, completely or not at all, for forms that read it."),
]
Test = Annotated[
    bool, typer.Option("--test", help="Also ask sbatch --test-only about each, as the user; each uses up a job id.")
]


@app.command()
def check(
    profiles: File = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Check the profiles against the nodes. Exit code 1 if one never starts.

    Example: adminkit profiles check
    """
    from adminkit.fit.ask import current
    from adminkit.fit.profiles import SYSTEM_PROFILES, load_profiles
    from adminkit.fit.profiles import check as check_profiles
    from adminkit.render.sink import Way, emit
    from adminkit.reports.profiles import check_report

    path = profiles or SYSTEM_PROFILES
    found = load_profiles(path)
    problems = check_profiles(found, current())
    emit(check_report(found, problems, str(path)), Way(format.value, output))
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(1)


@app.command("list")
def list_(
    profiles: File = None,
    user: Who = None,
    test: Test = False,
    out: Out = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """List which profiles a user can start now. While slurmctld is down, all are unknown, with the reason.

    Example: adminkit profiles list --user alice
    """
    from adminkit.fit.ask import answers, nearest
    from adminkit.fit.profiles import SYSTEM_PROFILES, load_profiles
    from adminkit.render import text
    from adminkit.render.sink import Way, emit, write_aside
    from adminkit.reports.profiles import list_report
    from adminkit.slurm.will_run import user_of

    found, who, now = load_profiles(profiles or SYSTEM_PROFILES), user_of(user), int(time.time())
    said, notes = answers(found, who, test=test)
    report = list_report(list(zip(found, said, strict=True)), nearest(found, said), who.name, now, notes)
    if out is not None:
        write_aside(out, text.as_json(report).encode(), 0o644)
    else:
        emit(report, Way(format.value, output))
