"""A run of a day on a cluster, with rounds of `adminkit extend` or without, and what slurmdbd knows of it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.cluster.harness.processes import ClusterError
from tests.cluster.harness.ruled import Ruled
from tests.extend_real.arms import ARMS
from tests.extend_real.cluster import turn
from tests.extend_real.runs import Act, Row, Run
from tests.extend_real.workloads import Day
from tests.simulate_real.cluster import Shaped
from tests.simulate_real.drive import counts, limits_of, next_second, until_ended, words
from tests.simulate_real.workloads import Job

#: Seconds between the beginnings of two rounds.
PERIOD: Final = 5
#: Seconds between two looks at the heads of the queues.
LOOK: Final = 4
#: A checkpoint's signal comes so many seconds before the end: after a job was looked at for more time.
SIGNAL: Final = 10
_CKPT: Final = {"ADMINKIT_CKPT": f"TERM@{SIGNAL},requeue=9,target=shell"}
#: Behind the word for an act that did not hold when it was read back.
NOT_HELD: Final = ", not read back"
_BEAT: Final = 0.25
_FIELDS: Final = ("JobIDRaw", "Eligible", "Start", "End", "State", "NodeList")


@dataclass(frozen=True, slots=True)
class Told:
    """All that a run left, as programs said it: kept before it is read. `ids`: the jobs' numbers by Slurm's ids."""

    head: dict[str, str]
    began: int
    ids: dict[int, int]
    promised: dict[int, int]
    jobs: str  # scontrol show jobs
    runs: str  # sacct
    acts: str

    @classmethod
    def of(cls, text: str) -> Told:
        words = json.loads(text)
        for name in ("ids", "promised"):
            words[name] = {int(job): value for job, value in words[name].items()}
        return cls(**words)


def drive(ruled: Ruled, day: Day, arm: str, head: Mapping[str, str]) -> Told:
    """One run of the day. ClusterError where it does not end, or where a round fails."""
    cluster = ruled.cluster
    assert isinstance(cluster, Shaped)
    turn(ruled, arm)
    cluster.ask("sdiag", "-r")
    with beating() as pauses, rounds(ruled, ARMS[arm] is not None) as took:
        began = next_second()
        with watched(ruled, int(began)) as promised:
            ids, late = _submit(cluster, day, began)
            until_ended(cluster)
    told = cluster.ask("scontrol", "-o", "show", "jobs")
    more = {
        "arm": arm,
        "latest submission": f"{late:.1f} s behind",
        "longest pause": f"{max(pauses, default=0):.1f} s",
        "rounds": str(len(took)),
        "slowest round": f"{max(took, default=0):.1f} s",
        "load of the host": f"{os.getloadavg()[1]:.1f}",
        **counts(cluster.ask("sdiag")),
    }
    cluster.settle()
    options = ("-a", "-n", "-P", "-X", "-D", "-S", "now-2hours", "-o", ",".join(_FIELDS))
    listed = cluster.run("sacct", *options, env={"SLURM_TIME_FORMAT": "%s"})
    acts = ruled.acts.read_text() if ruled.acts.exists() else ""
    return Told({**head, **more}, int(began), ids, dict(promised), told, listed.text, acts)


def run_of(told: Told) -> Run:
    """ClusterError where a run is missing or has no end."""
    limits = {job: limit or 0 for job, (limit, _) in limits_of(told.jobs).items()}
    rows = rows_of(told.runs, limits, told.ids, told.promised, told.began)
    return Run(told.head, rows, acts_of(told.acts, told.ids, told.began) if ARMS[told.head["arm"]] else ())


def script(job: Job, saves: bool) -> str:
    """What a job runs. One that saves notes at the signal what is left, and does that much when it is put back."""
    if not saves:
        return f"exec sleep {job.sleep}"
    file = f"left-{job.number}"
    return (
        f"left=$(cat {file} 2>/dev/null || echo {job.sleep}); began=$(date +%s)\n"
        f"trap 'left=$((left - $(date +%s) + began)); [ $left -gt 0 ] || left=0; echo $left >{file}; exit 85' TERM\n"
        "sleep $left & wait $!"
    )


def _submit(cluster: Shaped, day: Day, began: float) -> tuple[dict[int, int], float]:
    """Each job at its offset: the jobs' numbers by Slurm's ids, and how late the latest was."""
    ids: dict[int, int] = {}
    late = 0.0
    for job, name, saves in zip(day.workload.jobs, day.names, day.saves, strict=True):
        pause = began + job.offset - time.time()
        if pause > 0:
            time.sleep(pause)
        late = max(late, -pause)
        command = ["sbatch", "--parsable", "-o", "/dev/null", *words(job), "-J", name, "--wrap", script(job, saves)]
        done = cluster.run(*command, env=_CKPT if saves else None)
        if done.code:
            raise ClusterError(f"{command}: {done.err.decode(errors='replace')}")
        ids[int(done.text.partition(";")[0])] = job.number
    return ids, late


def rows_of(
    listed: str, limits: Mapping[int, int], ids: Mapping[int, int], promised: Mapping[int, int], began: int
) -> tuple[Row, ...]:
    """The runs of sacct's lines. ClusterError where one is missing or has no end."""
    runs: dict[int, list[list[str]]] = {}
    for line in listed.splitlines():
        cells = line.split("|")
        if cells[0].isdigit() and int(cells[0]) in ids:
            runs.setdefault(int(cells[0]), []).append(cells[1:])
    if missing := set(ids) - set(runs):
        raise ClusterError(f"slurmdbd does not know {sorted(missing)[:5]}")
    rows = []
    for job, found in runs.items():
        if bad := [cells for cells in found if not all(cell.isdigit() for cell in cells[:3])]:
            raise ClusterError(f"job {job}: {bad}")
        for attempt, cells in enumerate(sorted(found, key=lambda cells: int(cells[1])), 1):
            eligible, start, end = (int(cell) - began for cell in cells[:3])
            state, nodes = cells[3].split()[0], cells[4]
            first = promised.get(job) if attempt == 1 else None
            rows.append(Row(ids[job], attempt, eligible, start, end, state, nodes, limits[job], first))
    return tuple(sorted(rows, key=lambda row: (row.number, row.attempt)))


def acts_of(lines: str, ids: Mapping[int, int], began: int) -> tuple[Act, ...]:
    """What was done and refused to the day's jobs, of the action log. Of what was done, each line that says whether it
    held: it did not where the job ended before it was read back.
    """
    found = []
    for line in map(json.loads, lines.splitlines()):
        if line.get("what") != "extend" or line["job"] not in ids:
            continue
        if line["did"] != "refused" and line["held"] is None:
            continue
        did = f"{line['did']}{NOT_HELD}" if line["held"] is False else line["did"]
        starts, behind = line["starts"], line["behind"]
        found.append(
            Act(
                line["at"] - began, did, ids[line["job"]], line["was"], line["becomes"], line["why"],
                None if behind is None else ids.get(behind), None if starts is None else starts - began,
            )
        )  # fmt: skip
    return tuple(found)


@contextmanager
def rounds(ruled: Ruled, on: bool) -> Iterator[list[float]]:
    """`adminkit extend run` as its timer runs it, from before the first submission to after the last end: seconds that
    each took. A change that did not hold is no failure: the next round looks again.
    """
    took: list[float] = []
    failed: list[BaseException] = []

    def round_() -> None:
        began = time.monotonic()
        try:
            done = ruled.adminkit("extend", "run", "--apply", "--format", "json", code=None)
            if done.returncode not in (0, 1) or not done.stdout:
                raise ClusterError(f"exit {done.returncode}: {done.stderr}")
        except Exception as error:
            failed.append(error)
        took.append(time.monotonic() - began)

    with _every(PERIOD, round_ if on else None):
        yield took
    if failed:
        raise ClusterError(f"{len(failed)} of {len(took)} rounds failed: {failed[0]}")


@contextmanager
def watched(ruled: Ruled, began: int) -> Iterator[dict[int, int]]:
    """The first start that Slurm planned for each job that was seen at the head of its queue: by Slurm's ids."""
    found: dict[int, int] = {}

    def look() -> None:
        listed = ruled.cluster.run("squeue", "-h", "-t", "PD", "-o", "%A|%Q|%P|%r|%S", env={"SLURM_TIME_FORMAT": "%s"})
        for job, start in heads(listed.text).items():
            found.setdefault(job, start - began)

    with _every(LOOK, look):
        yield found


def heads(listed: str) -> dict[int, int]:
    """The planned starts of the first waiting job of each queue, where there is one: by Slurm's ids."""
    lines = [line.split("|") for line in listed.splitlines()]
    found: dict[str, tuple[int, int, str]] = {}
    for job, priority, queue, reason, start in lines:
        if reason in ("Resources", "Priority", "None"):  # not one that was put back and is held for some seconds
            found[queue] = max(found.get(queue, (-1, 0, "")), (int(priority), -int(job), start))
    return {-job: int(start) for _, job, start in found.values() if start.isdigit()}


@contextmanager
def beating() -> Iterator[list[float]]:
    """How much longer than it should a pause of this process took, seconds: what a busy host does to it."""
    found: list[float] = []
    last = [time.monotonic()]

    def beat() -> None:
        now = time.monotonic()
        found.append(now - last[0] - _BEAT)
        last[0] = now

    with _every(_BEAT, beat):
        yield found


@contextmanager
def _every(seconds: float, what: Callable[[], None] | None) -> Iterator[None]:
    """Call it in a thread of its own, by a period; None: never."""
    stop = threading.Event()

    def go() -> None:
        while what is not None:
            began = time.monotonic()
            what()
            if stop.wait(max(0.0, began + seconds - time.monotonic())):
                return

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
