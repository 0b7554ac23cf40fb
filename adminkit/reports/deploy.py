"""What an install would do, did, and what is installed, as Reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.render.report import Cell, Field, Meta, Report

PREVIEW_FIELDS: Final = (
    Field("file", help="below the folder of job_submit.lua"),
    Field("change", help="new, changed, same; the site's own: left alone"),
    Field("bytes", "count", "its size"),
)
DONE_FIELDS: Final = (
    Field("host", help="a slurmctld host"),
    Field("table", help="policy, incentives or hints"),
    Field("before", help="the generation until now"),
    Field("generation", help="the one that was put in place"),
    Field("state", help="confirmed: slurmctld answered with it"),
)
REFRESH_FIELDS: Final = (
    Field("uid", help="of a user"),
    Field("user", help="its name on this host"),
    Field("change", help="passes no longer: is no operator any more; passes from now on"),
)
STATUS_FIELDS: Final = (
    Field("table", help="policy, incentives or hints"),
    Field("installed", help="the generation of the file; damaged: slurmctld could not use it"),
    Field("running", help="the generation slurmctld decides by"),
    Field("good", help="that of the copy used when the file is damaged"),
    Field("previous", help="what rollback would bring back"),
    Field("written_at", "time", "when the file was written"),
    Field("state", help="in use; not in use; damaged; absent; unknown: slurmctld was not asked"),
)


def listing(
    title: str, cluster: str, fields: Sequence[Field], rows: Sequence[Sequence[Cell]], notes: Sequence[str]
) -> Report:
    """A report that is about files and hosts, not about jobs."""
    return Report(Meta.plain(title, notes, [cluster]), fields, rows)
