"""The listings of adminkit fit and adminkit profiles, with all that they can say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adminkit.fit.place import Said
from adminkit.fit.profiles import Problem, Profile
from adminkit.fit.request import Request
from adminkit.fit.verdict import Answer, Start, verdict
from adminkit.render.report import Report
from adminkit.reports.fit import fit_report
from adminkit.reports.profiles import check_report, list_report
from tests.support.builders import HOUR, MONDAY
from tests.support.reports import HOSTILE


def fit(_: Path) -> Report:
    asked = Request(gpus=8, time_limit=90 * 60)
    now, later = (
        Said("now", MONDAY),
        Said("later", MONDAY + HOUR, "busy", "of the 4 nodes that are large enough: 3 busy, 1 drained"),
    )
    sources = {"vectors": later, "waiting": later, "limits": now, "test_only": Said("later", MONDAY + 2 * HOUR)}
    refused = {**sources, "vectors": now, "waiting": now, "test_only": Said("never", None, "rule", HOSTILE)}
    alone = {
        "vectors": now,
        "waiting": now,
        "limits": now,
        "test_only": Said("unknown", None, "", "this is based on node vectors only"),
    }
    return fit_report(
        [
            Answer(asked, verdict(sources), (replace(asked, gpus=2),)),
            Answer(asked, verdict(refused), ()),
            Answer(Request(queue="gq"), verdict(alone)),
            Answer(asked, Start("later", MONDAY + HOUR, "history", 600, "hidden", "busy until an unknown time")),
        ],
        {"user": "ada"},
    )


def some_profiles() -> list[Profile]:
    one = Profile("gpu", {"en": "One GPU", "ja": "GPU 1 枚"}, Request("gq", 4, 16 << 30, 1, time_limit=3 * HOUR), 6)
    return [one, replace(one, key="large", titles={"en": HOSTILE}, modules=("cuda",), image=HOSTILE)]


def profiles_check(_: Path) -> Report:
    problems = [
        Problem("large", "error", "it never starts: no node has that much"),
        Problem("large", "warning", HOSTILE),
    ]
    return check_report(some_profiles(), problems, "/etc/adminkit/profiles.toml")


def profiles_list(_: Path) -> Report:
    asked = some_profiles()
    starts = [
        Start("room", MONDAY, text="not asked"),
        Start("later", MONDAY + HOUR, "simulation", None, "busy", HOSTILE),
    ]
    said = [(one, Answer(one.request, start)) for one, start in zip(asked, starts, strict=True)]
    return list_report(said, [None, "gpu"], "ada", MONDAY)
