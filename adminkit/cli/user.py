"""adminkit user: one user on one page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import whose
from adminkit.users import uid_of

if TYPE_CHECKING:
    from adminkit.findings.finding import Finding
    from adminkit.recommend.menu import Offer
    from adminkit.render.report import Report
    from adminkit.reports.my import Asked
    from adminkit.sqlite import sqlite3

#: Letters that are listed.
_LETTERS: Final = 20


def user(
    name: Annotated[str, typer.Argument(metavar="USER", help="The user's name.", show_default=False)],
    days: Annotated[
        int, typer.Option("--days", "-d", min=1, max=3650, metavar="N", help="Show the jobs of the last N days.")
    ] = 30,
    last: Annotated[
        int, typer.Option("--last", "-n", min=1, max=200, metavar="N", help="Show at most the last N jobs.")
    ] = 20,
    cluster: options.OneCluster = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="The policy file with the limits to recommend.")
    ] = None,
    db: options.Database = None,
    format: Annotated[options.Counted, typer.Option("--format", "-f", help="The output format.")] = (
        options.Counted.TABLE
    ),
    output: options.Output = None,
) -> None:
    """Show one user on one page. Covers use, accounts, findings, jobs, limits to recommend, why jobs wait, charges and
    letters. Only operators may see somebody else.

    Example: adminkit user alice
    """
    from adminkit.cli.my import offer_of
    from adminkit.render.sections import emit
    from adminkit.reports.my import tint

    path = find_trace(db, config.load().db)
    with reader(path) as trace:
        whose([name], path)
        emit(_page(trace, name, (days, last), cluster, str(path), offer_of(policy)), format.value, output, tint)


def _page(
    trace: sqlite3.Connection, name: str, size: tuple[int, int], cluster: str | None, where: str, offer: Offer
) -> dict[str, Report]:
    from adminkit.reports.my import Asked, measure
    from adminkit.reports.my import sections as of_my
    from adminkit.reports.user import PERIODS, UserPage, sections
    from adminkit.slurm.own_queue import own_queue
    from adminkit.stats.ledger import lines
    from adminkit.stats.one_user import by_account, letters_to, uid_in_trace, use
    from adminkit.stats.own import Owner
    from adminkit.stats.select import only_cluster

    settings, now = config.load(), int(time.time())
    uid = uid_in_trace(trace, name) if (known := uid_of(name)) is None else known
    owner = Owner(only_cluster(trace, cluster), -1 if uid is None else uid, name)
    asked = Asked(owner, size[0], size[1], now, settings.checkpoint.code, where, whose=f"{quote(name)}'s")
    queue, away = [], None
    try:
        queue = own_queue(owner.cluster, owner.uid) if uid is not None else []
    except AdminkitError as error:
        away = error.message
    used = [(days, use(trace, owner, now - days * 86_400, now + 1)) for days in PERIODS]
    page = UserPage(
        used, by_account(trace, owner, asked.since, now + 1), _found(trace, asked),
        [*lines(trace, users=[name], clusters=[owner.cluster])], letters_to(trace, owner, _LETTERS),
    )  # fmt: skip
    mine = measure(trace, asked, offer, queue)
    if uid is None and not mine.runs:
        raise UsageError(f"no user {quote(name)} in {where}, nor on this host", "adminkit report users lists them")
    return sections(asked, page, of_my(asked, mine, queue, offer, away))


def _found(trace: sqlite3.Connection, asked: Asked) -> list[Finding]:
    from adminkit.feedback.site_findings import of_users
    from adminkit.stats.select import Filter, by_window

    chosen = Filter(
        [asked.owner.cluster], asked.since, asked.now + 1, users=[asked.owner.user], checkpoint_code=asked.code
    )
    return [*of_users(trace, by_window(trace, chosen))]
