"""`adminkit idle` as its listings show it: jobs that hold GPUs, a round, and the acts of earlier ones."""

from __future__ import annotations

from pathlib import Path

from adminkit.deploy.idle_round import Done, Round
from adminkit.render.report import Report
from adminkit.reports.idle import idle_report, round_report, status_report
from adminkit.reports.idle_replay import replay_report
from adminkit.usage.held import held
from adminkit.usage.ladder import Act, plan
from adminkit.usage.recorded import Recorded
from adminkit.usage.replay import frontier
from adminkit.usage.usage import Answer
from tests.usage.jobs import NOW, SETTINGS, job, use

_HOSTILE = "\x1b[31m<b>|\n"
_FOUND = held(
    [job(11), job(12, user=_HOSTILE), job(13), job(14, gpus=0, kind="shard")],
    [Answer(source="dcgm", at=NOW, uses={11: [use(0), use(1)], 12: [use(2, quiet=0), use(3)], 13: [use(4)]})],
    NOW, 300,
)  # fmt: skip
_ACTS = plan(_FOUND, {}, SETTINGS, NOW)


def shown(_: Path) -> Report:
    return idle_report(_FOUND, {act.held.job.job_id: act for act in _ACTS}, 600, "alpha", ["Prometheus is away"], True)


def done(_: Path) -> Report:
    refused = Done(Act("cancel", _FOUND[1], "idle", 2), False, f"couldn't run scancel: {_HOSTILE}")
    settled = [{"job": 9, "user": "games", "did": "held", "why": "order", "held": True}]
    return round_report(Round(NOW, True, [*map(Done, _ACTS), refused], settled), "alpha")


def replayed(_: Path) -> Report:
    jobs = [Recorded("1", 0, 72_000, [[(0, 3600)]] * 2), Recorded("2", 0, 43_200, [[(0, 3600), (36_000, 39_600)]])]
    found = frontier(jobs, SETTINGS, [1800, 7200, 43_200], [1.0, 2.0])
    return replay_report(found, SETTINGS, 0.05, f"uses.csv{_HOSTILE}", 1, f"line 3: {_HOSTILE}")


def status(_: Path) -> Report:
    lines = [
        {"at": NOW, "did": "warned", "job": 11, "user": "games", "queue": "gq", "gpus": 2, "idle": 2, "why": "idle",
         "held": True},
        {"at": NOW, "did": "cancel", "job": "12", "user": _HOSTILE, "gpus": "?", "held": False, "said": "refused"},
    ]  # fmt: skip
    return status_report(lines, "alpha")
