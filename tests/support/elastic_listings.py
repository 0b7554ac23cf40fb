"""Listings of elastic jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.elastic.plan import Look
from adminkit.elastic.resize import Act
from adminkit.render.report import Report
from adminkit.reports.elastic_jobs import preview_report, run_report
from tests.elastic.jobs import open_job

_HOSTILE: Final = "$x$<script>|\u202e*red*</script>"


def previewed(_: Path) -> Report:
    grows = Look(open_job(7), 4, "it is done 02:35:00 earlier", 9600.0, 300.0, "7 runs of its own")
    shrinks = Look(open_job(8, gpus=4), 2, "job 9 could start 01:00:00 earlier", 3600.0, 2040.0, "a measured curve")
    keeps = Look(open_job(10, job_name=_HOSTILE), None, "how fast it is with 1 GPU is not known")
    return preview_report([grows, shrinks, keeps], "alpha", ["nothing was done; add --apply to do it"])


def done(_: Path) -> Report:
    acts = [
        Act("changed", open_job(6), 4, "from 1"),
        Act("released", open_job(6), 4),
        Act("ordered", open_job(7), 4, "it is done 02:35:00 earlier"),
        Act("refused", open_job(8, user=_HOSTILE), 2, f"couldn't run scontrol: {_HOSTILE}"),
    ]
    return run_report(acts, "alpha", [])


def revoked(_: Path) -> Report:
    return run_report([Act("revoked", open_job(7), 1)], "alpha", ["nothing was done; add --apply to do it"])
