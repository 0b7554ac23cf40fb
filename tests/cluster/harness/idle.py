"""`adminkit idle` on a cluster whose GPUs a made exporter measures, with times that are a few seconds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.cluster.harness.checkpoint import Job
from tests.cluster.harness.elastic import QUICK, Elastic
from tests.cluster.harness.gpu_exporter import Exporter
from tests.cluster.harness.processes import until

#: [idle] at its shortest; in force it is shorter still, as no test waits for an hour.
RULES: Final = """record = "admin_comment"
[idle]
enabled = true
grace = "0m"
warn = "10m"
act = "20m"
notice = "10m"
used_before = 1.0
acts = ACTS
"""
SHORT: Final = {"warn": 10, "act": 10, "notice": 2}


def in_force(site: Elastic, acts: list[str]) -> None:
    """Install the rules, and shorten their times in the compiled table, of which slurmctld reads nothing."""
    site.ruled.rules(RULES.replace("ACTS", json.dumps(acts)))
    (table,) = Path(site.ruled.inner).glob("policy.lua")
    text = table.read_text()
    for name, seconds in SHORT.items():
        text, many = re.subn(rf'(\["{name}"\] = )\d+', rf"\g<1>{seconds}", text)
        assert many == 1, name
    table.write_text(text)
    site.ruled.text = ""


def rows(site: Elastic, exporter: Exporter, *words: str, code: int | None = 0, **env: str) -> list[dict[str, Any]]:
    usage = {"PROMETHEUS": exporter.url, "STEP": "10", "WINDOW": "3600", "FRESH": "60"}
    asked = {**QUICK, **{f"ADMINKIT_USAGE_{name}": value for name, value in usage.items()}, **env}
    done = site.ruled.adminkit("idle", *words, "--format", "json", code=code, env=asked)
    return list(json.loads(done.stdout)["rows"])


def runs(site: Elastic, exporter: Exporter, job: Job, *use: float) -> None:
    """Wait until it runs; its GPUs are used from then on by these shares, percent."""
    until(f"job {job.id} to run", lambda: site.field(job, "JobState") == "RUNNING", 120)
    first = max((gpu for _, gpu in exporter.use), default=-1) + 1
    exporter.use |= {(job.id, first + nth): share for nth, share in enumerate(use)}


def until_due(site: Elastic, exporter: Exporter, *jobs: Job) -> None:
    """Wait until a round would do something about these jobs."""

    def are() -> bool:
        return {str(job.id) for job in jobs} <= {row["job"] for row in rows(site, exporter, "--all") if row["next"]}

    until("a round that would do something", are, 180)


def why(site: Elastic, exporter: Exporter, job: Job) -> str:
    """Why the job is not measured."""
    return next(row["why"] or "" for row in rows(site, exporter, "--all") if row["job"] == str(job.id))


def kept(site: Elastic, exporter: Exporter, job: Job) -> str:
    """Why a round would do nothing about the job."""
    return next(row["kept"] or "" for row in rows(site, exporter, "--all") if row["job"] == str(job.id))
