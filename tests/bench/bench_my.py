"""`adminkit my` above sacct: the processor time of all of it, beside programs of Slurm's that answer at once."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, STEP_FIELDS, fields_of
from tests.bench.pairs import PAIRS, Ratio
from tests.support.own_slurm import HOUR, step
from tests.support.own_slurm import run as run_of

#: Seconds that it may take, and what of Slurm's it is measured with.
MOST = 0.3
RUNS = 200
SACCT = """#!/bin/sh
for word; do case $word in
--delimiter=*) mark=${word#*=} ;;
-V) echo slurm 24.11.5; exit ;;
-X) file=jobs ;;
esac; done
exec sed "s/|/$mark/g; s/!/${SLURM_TIME_FORMAT#%s}/g" FOLDER/${file:-steps}
"""
#: What it asks, by itself.
ALL = (["scontrol"], ["sacct", "-V"], ["sacct", "--delimiter=a", "-X"], ["sacct", "--delimiter=a"], ["squeue"])
ADMINKIT = [sys.executable, "-m", "adminkit.cli.main", "my"]
SCONTROL = '#!/bin/sh\necho "ClusterName             = alpha"\n'


def run(rows: int, folder: Path) -> list[Ratio]:
    """All of it is new to the copy; a copy that only squeue is asked beside."""
    place = (folder / "my").absolute()
    shutil.rmtree(place, ignore_errors=True)
    (place / "bin").mkdir(parents=True)
    _answers(place)
    for name, script in (("sacct", SACCT), ("scontrol", SCONTROL), ("squeue", "#!/bin/sh\n")):
        (place / "bin" / name).write_text(script.replace("FOLDER", str(place)))
        (place / "bin" / name).chmod(0o755)
    ratios = []
    for what, options, asked in (
        (f"my, {RUNS} runs that are new, above sacct", ["--fresh"], ALL),
        ("my, from its copy, above squeue", [], ALL[:1] + ALL[-1:]),
    ):
        ours = [_processor_time(place, [*ADMINKIT, *options]) for _ in range(PAIRS + 1)][1:]
        theirs = [MOST + sum(_processor_time(place, [str(place / "bin" / words[0]), *words[1:]]) for words in asked)
                  for _ in range(PAIRS)]  # fmt: skip
        ratios.append(Ratio(what, ours, theirs, 1.0, at_most=True))
        print(ratios[-1].line(), flush=True)
    return ratios


def _answers(place: Path) -> None:
    """What sacct says: a | for each delimiter, a ! behind each time."""
    here, now = fields_of((24, 11, 5)), int(time.time())
    jobs, steps = [], []
    for number in range(1, RUNS + 1):
        end = now - number * HOUR
        job = run_of(number, end)
        batch = step(number, "batch", Start=end - HOUR, TRESUsageInTot="cpu=01:00:00,mem=2G", TotalCPU="01:00:00")
        jobs.append(_line(job, [name for name in JOB_FIELDS if name in here]))
        fields = [name for name in STEP_FIELDS if name in here]
        steps += [_line(job, fields), _line(batch, fields)]
    (place / "jobs").write_text("".join(jobs))
    (place / "steps").write_text("".join(steps))


def _line(cells: dict[str, object], fields: list[str]) -> str:
    times = ("Submit", "Eligible", "Start", "End")
    shown = [f"{cells.get(name, '')}{'!' if name in times else ''}" for name in (*fields, "Submit")]
    return "".join(f"{cell}|" for cell in shown) + "\n"


def _processor_time(place: Path, command: list[str]) -> float:
    """Of a command and of all that it starts."""
    env = {**os.environ, "PATH": f"{place / 'bin'}:/usr/bin:/bin", "XDG_CACHE_HOME": str(place / "cache")}
    env.pop("ADMINKIT_DB", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
