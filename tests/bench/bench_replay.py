"""`adminkit policy replay`, whole command, over the look-alike trace many times over: 100,000 jobs a second."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adminkit.demo import generate
from tests.bench import pairs
from tests.bench.tools import adminkit, fresh

TARGET = 100_000
POLICY = Path(__file__).parent.parent.parent / "etc" / "policy.toml"


def text(rows: int, folder: Path) -> tuple[Path, int]:
    """sacct text of the look-alike as often as makes about so many rows, each time with ids of its own; its jobs."""
    once = list(generate.jobs())
    times = max(1, round(rows / len(once)))
    path = folder / f"look-alike-{times}.txt"
    step = max(job.job_id_raw for job in once) + 1
    with path.open("wb") as out:
        for turn in range(times):
            shifted = (replace(job, job_id_raw=job.job_id_raw + turn * step, db_index=None) for job in once)
            lines = generate.sacct_text(shifted)
            header = next(lines)
            out.writelines([header] if turn == 0 else [])
            out.writelines(lines)
    return path, times * len(once)


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    source, jobs = text(rows, folder)
    db = fresh(folder / "look-alike.db")
    pairs.timed(adminkit("import", source, "--db", db))
    source.unlink()
    return [
        pairs.compare(
            f"policy replay over {jobs} look-alike jobs, against {TARGET} jobs/s",
            lambda: pairs.timed(adminkit("policy", "replay", "--policy", POLICY, "--db", db)),
            lambda: jobs / TARGET,
            1.0,
        )
    ]
