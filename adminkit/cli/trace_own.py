"""adminkit trace own: a file for each user with their points, charges and letters."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import KEPT, operators_only
from adminkit.cli.policy_input import PolicyFile
from adminkit.errors import AdminkitError
from adminkit.owner import as_owner
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put
from adminkit.trace import own_file
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.units import moment

if TYPE_CHECKING:
    from adminkit.render.report import Report
    from adminkit.sqlite import sqlite3

Folder = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="The folder to write to. Default: the setting `own`.")
]
#: Users whose file could not be written who are named.
_MOST = 20


def own(
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    folder: Folder = None,
    apply: options.Apply = False,
) -> None:
    """Write each user's own file: points, charges, letters. Only that user may read it. Without --apply, writes
    nothing.

    Example: adminkit trace own --apply
    """
    from adminkit.reports.own_file import written
    from adminkit.stats.people import people

    settings = config.load()
    path, now = find_trace(db, settings.db), int(time.time())
    place = folder or settings.own
    operators_only(path, KEPT)
    with as_owner(path), reader(path) as trace:
        own_file.check_folder(place)
        everybody, points = people(trace), _points(trace, policy, cluster, path, now)
        if not apply:
            put(f"{plural(len(everybody), 'file')} would be written into {place}: --apply writes them")
            return
        failed = []
        for uid, user in everybody:
            try:
                own_file.write(place, uid, written(trace, uid, user, now, points))
            except AdminkitError as error:  # one user's file never stops the others'
                failed.append(f"{quote(user)}: {error.message}")
        gone = own_file.keep_only(place, {uid for uid, _ in everybody})
    put(f"wrote {plural(len(everybody) - len(failed), 'file')} into {place}, removed {gone}")
    if failed:
        raise AdminkitError(
            f"couldn't write {plural(len(failed), 'file')}: {'; '.join(failed[:_MOST])}",
            "their old files stay as they were",
        )


def _points(
    trace: sqlite3.Connection, policy: Path | None, cluster: str | None, path: Path, now: int
) -> Callable[[str], Report] | AdminkitError:
    """How one user's points are explained; the reason where nobody's can be, such as that slurmctld is away."""
    from adminkit.cli.incentives import held_out_at, rules_of
    from adminkit.economy import build
    from adminkit.reports.incentives import user_report
    from adminkit.reports.own_file import RUNS
    from adminkit.stats.select import only_cluster

    code = config.load().checkpoint.code
    try:
        rules, worth = rules_of(policy, None, moment(None, now))
        where = only_cluster(trace, cluster)
    except AdminkitError as error:
        return error
    held_out = held_out_at(now)

    def explained(user: str) -> Report:
        found = build.explain(trace, rules, where, user, now, worth, RUNS, held_out, checkpoint_code=code)
        return user_report(found, rules.incentives, str(path))

    return explained
