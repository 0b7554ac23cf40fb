"""AccaSim, another simulator, with its EASY on the first jobs of KTH-SP2; it gets a Python environment of its own.

Both sides are processor time inside one process, without reading the jobs. Why its waits differ: docs/simulate.md.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from adminkit.simulate.core import Request, simulate
from tests.bench import pairs
from tests.bench.rival_rules import Rules
from tests.support.swf import public, read_jobs

KTH = "KTH-SP2-1996-2.swf.gz"
JOBS = 3000
VERSION = "1.1.3"
TARGET = 1000.0
SIDE = f"AccaSim {VERSION}, EASY, {JOBS} jobs of KTH-SP2"

#: One core a node, as AccaSim's nodes are what SWF calls processors. Its Python is older: `collections` had Mapping.
_RUN = """
import collections, collections.abc, json, sys, time
collections.Mapping = collections.abc.Mapping
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator
jobs, site, folder = sys.argv[1:]
simulator = Simulator(
    jobs, site, EASYBackfilling(FirstFit()), RESULTS_FOLDER_PATH=folder, scheduling_output=False,
    statistics_output=False, show_statistics=False, LOG_LEVEL="WARNING",
)
read, reading = simulator.reader.next, 0.0
def timed(*words, **named):
    global reading
    began = time.process_time()
    try:
        return read(*words, **named)
    finally:
        reading += time.process_time() - began
simulator.reader.next = timed
began = time.process_time()
simulator.start_simulation()
seconds = time.process_time() - began
print(json.dumps({"seconds": seconds - reading, "reading": reading, "waits": simulator.mapper.wtimes}))
"""


def _install(folder: Path) -> Path:
    """The Python of the environment. Raises CalledProcessError or OSError."""
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for words in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"accasim=={VERSION}"],
        ):
            subprocess.run(words, check=True, capture_output=True, text=True)
        (folder / "complete").touch()
    return python


def _why(error: OSError | subprocess.CalledProcessError) -> str:
    """The last line of what failed."""
    said = (error.stderr or error.stdout or "") if isinstance(error, subprocess.CalledProcessError) else ""
    return said.strip().rpartition("\n")[2] or str(error)


def run(folder: Path) -> list[pairs.Ratio]:
    path = public(KTH)
    if path is None:
        print(f"{SIDE}: not run: no {KTH} under $ADMINKIT_TRACES")
        return []
    procs, jobs = read_jobs(path)
    request = Request("easy", {name: column[:JOBS] for name, column in jobs.items()}, {"procs": procs})
    inputs = _write(path, procs, folder)
    said: dict[str, Any] = {}

    def ours_seconds() -> float:
        return simulate(request).facts["cpu_micros"] / 1e6

    def their_seconds() -> float:
        words = [str(python), "-W", "ignore", "-c", _RUN, *inputs]
        said.update(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        return float(said["seconds"])

    try:
        python = _install(folder / "accasim")
        their_seconds()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{SIDE}: not run: {_why(error)}")
        return []
    ratio = pairs.compare(SIDE, ours_seconds, their_seconds, TARGET)
    waits = (simulate(request).start - request.jobs["submit"]).tolist()
    print(f"  ours {JOBS / min(ratio.ours):.0f} jobs/s at best, {_mean(waits)}")
    print(f"  AccaSim {JOBS / min(ratio.theirs):.0f} jobs/s at best, {_mean(said['waits'])}", end="; ")
    print(f"{said['reading']:.2f} s of reading left out")
    for retried, bounded in ((False, False), (True, False), (True, True)):
        starts = Rules(dict(request.jobs), procs, retried, bounded).run()
        ruled = [start - submit for start, submit in zip(starts, request.jobs["submit"].tolist(), strict=True)]
        same = "the same waits as AccaSim" if sorted(ruled) == sorted(said["waits"]) else "other waits than AccaSim"
        print(f"  AccaSim's rules, {retried=}, {bounded=}: {_mean(ruled)}; {same}")
    return [ratio]


def _mean(waits: list[int]) -> str:
    return f"mean wait {sum(waits) / len(waits):.1f} s of {len(waits)} jobs"


def _write(path: Path, procs: int, folder: Path) -> list[str]:
    """Its workload, its site, and where it may write."""
    with gzip.open(path, "rt", errors="replace") as lines:
        jobs = [line for line in lines if line[0] != ";"][:JOBS]
    files = (folder / "accasim.swf", folder / "accasim.json", folder / "accasim-results")
    files[0].write_text("".join(jobs))
    site = {"groups": {"one": {"core": 1}}, "resources": {"one": procs}, "equivalence": {"processor": {"core": 1}}}
    files[1].write_text(json.dumps(site))
    files[2].mkdir(exist_ok=True)
    return [str(file) for file in files]
