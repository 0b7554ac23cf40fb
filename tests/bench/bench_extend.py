"""One round of `adminkit extend` on a site of 10,000 running jobs, beside two seconds, which is the target.

Slurm's programs are fakes that answer from a thread of their own: what counts is the processor time of the round.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from adminkit.deploy import extend_round
from adminkit.deploy.in_force import Answer, Rules
from tests.bench.pairs import PAIRS, Ratio
from tests.extend.jobs import SETTINGS
from tests.extend.site import Site
from tests.support.answered import answered

#: Seconds of processor time, and calls of Slurm's programs, that a round may take.
MOST, CALLS = 2.0, 3
#: What is going on -> the site.
SITES = {
    "nobody near the end": {"running": 10_000, "planned": 5000},
    "200 near their ends": {"running": 10_000, "near": 200, "planned": 5000},
    "200 near, 1,000 hold extra time": {
        "running": 10_000,
        "near": 200,
        "holding": 1000,
        "planned": 4000,
        "unplanned": 1000,
    },
}


def run(rows: int, folder: Path) -> list[Ratio]:
    """A preview of each: its updates are what slurmctld has to do, one for each job that is given time."""
    ratios = []
    for what, jobs in SITES.items():
        now = int(time.time())
        site = Site(now, users=3000, **jobs)
        with (
            tempfile.TemporaryDirectory(prefix="adminkit-bench-") as private,
            patch.object(extend_round, "settings_in_force", lambda folder: SETTINGS),
            patch.object(Rules, "of_limit", lambda self, job, limit: Answer()),
        ):
            answered(Path(private) / "bin", ("squeue", "scontrol"), site.answer)
            with patch.dict(os.environ, {"PATH": f"{private}/bin:/usr/bin:/bin"}):
                ours = [_round(Path(private), now, site) for _ in range(PAIRS + 1)][1:]
        ratios.append(Ratio(f"extend: {what}", ours, [MOST] * PAIRS, 1.0, at_most=True))
        print(f"{ratios[-1].line()}  {site.calls.total()} calls", flush=True)
        if site.calls.total() > CALLS:
            raise SystemExit(
                f"error: a round asks Slurm's programs {site.calls.total()} times, at most {CALLS} are right"
            )
    return ratios


def _round(folder: Path, now: int, site: Site) -> float:
    site.calls.clear()
    before = time.thread_time()
    extend_round.look(folder, now)
    return time.thread_time() - before
