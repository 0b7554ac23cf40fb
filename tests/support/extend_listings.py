"""Listings of jobs that are given more time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.deploy.extend_round import Done, Round
from adminkit.extend.plan import Act
from adminkit.extend.words import Given
from adminkit.messages import message
from adminkit.render.report import Report
from adminkit.reports.extend_round import round_report, status_report
from tests.extend.jobs import opened, run, wait
from tests.fit.rooms import HOUR, NOW

_HOSTILE: Final = "$x$<script>|\u202e*red*</script>"
_GIVEN: Final = Act(
    "given", opened(run(7)), "free", message("no job waits for its nodes until then"), HOUR + 900, Given(HOUR, 4500, 1)
)
_BACK: Final = Act(
    "taken back",
    opened(run(8, limit=5400), "ak1:lim=3600,src=e,ext=auto xt1:asked=3600,lim=5400,n=2"),
    "planned",
    message("job {job} is planned for its end", job=12),
    4500,
    Given(HOUR, 4500, 2),
    wait(12),
)
_REFUSED: Final = Act(
    "refused",
    opened(run(9), user=_HOSTILE),
    "planned",
    message("job {job} is planned on its nodes", job=12),
    behind=wait(12),
)


def previewed(_: Path) -> Report:
    acts = [Done(_BACK), Done(_GIVEN), Done(_REFUSED)]
    return round_report(Round(NOW, True, acts, 5, 1), "alpha", ["nothing was done; add --apply to do it"])


def done(_: Path) -> Report:
    acts = [Done(_BACK, True), Done(_GIVEN, False, f"job 7: couldn't run scontrol: {_HOSTILE}"), Done(_REFUSED)]
    return round_report(Round(NOW, True, acts, 5, 1, [acts[1].said]), "alpha")


def status(_: Path) -> Report:
    lines = [
        {
            "at": NOW,
            "did": "given",
            "job": 7,
            "user": "games",
            "was": HOUR,
            "becomes": 4500,
            "why": "free",
            "held": True,
        },
        {"at": NOW, "did": "refused", "job": 9, "user": _HOSTILE, "was": HOUR, "why": "planned", "held": None},
        {"at": NOW, "did": "taken back", "job": "8", "was": "?", "becomes": 4500, "why": "planned", "held": False},
    ]
    return status_report(Round(NOW, True, (), 5, 1), lines, "alpha")
