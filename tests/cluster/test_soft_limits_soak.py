"""A thousand jobs while what soft limits rest on is taken away in every way: none ends before the limit it asked for.

The last lines are a table: for each way, how many started, how many Slurm shortened, and for how long (pytest -s).
"""

from __future__ import annotations

import json
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.planning import is_fit
from adminkit.deploy.soft_guard import LEASE
from adminkit.economy.points_file import dumped
from adminkit.slurm.planning import PARAMETER
from adminkit.slurm.release import parse_release
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import Ruled, ruling
from tests.cluster.test_soft_limits import GAMES, POINTS, parameters, release

pytestmark = pytest.mark.soak

SEED = 1
#: Seconds: what each job asks for and gets as its soft limit, how often the timer runs, how long it is stopped.
ASKED, SOFT, PERIOD, STOPPED = 3600, 120, 15, 75
#: Of each wave: arrays, their tasks, jobs besides.
ARRAYS, TASKS, PLAIN = 2, 45, 10
JOBS = 1000
NODES = 8
POLICY = (
    '[soft_limits]\nenabled = true\nleast = "00:02:00"\ngap = "00:10:00"\nquantile = 50\n'
    'outlived = 60\nwide = 0\narrays = true\nqueues = ["gq"]\n'
)
WITHOUT = "sched_interval=2,bf_interval=3"
WITH = f"{WITHOUT},{PARAMETER}"
ONE = "bf_max_job_start=1"


@dataclass
class Watch:
    """What the queue shows, read every few seconds: when each job was first and last seen to run with less than it
    asked for, and with how much."""

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)

    def look(self, ruled: Ruled) -> None:
        shape = "JobID:20,TimeLimit:20,TimeLeft:20,TimeUsed:20"
        text = ruled.cluster.run("squeue", "-h", "-n", "train", "-t", "R", "-O", shape).out.decode()
        now = int(time.time())
        for line in text.splitlines():
            job, limit, *_ = line.split()
            if limit != "1:00:00":
                self.first.setdefault(int(job), now)
                self.last[int(job)] = now
                self.least[int(job)] = min(seconds(limit), self.least.get(int(job), ASKED))


def seconds(clock: str) -> int:
    days, _, rest = clock.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    return int(days or 0) * 86_400 + sum(part * 60**i for i, part in enumerate(reversed(parts)))


@dataclass
class Timer:
    """The guard every PERIOD seconds, as its timer runs it, unless it is stopped."""

    ruled: Ruled
    runs: bool = True
    rounds: int = 0
    failed: int = 0

    def round(self) -> None:
        words = ("--apply", "--period", str(PERIOD), "--format", "json")
        code = self.ruled.adminkit("soft-limits", "guard", *words, code=None).returncode
        self.rounds, self.failed = self.rounds + 1, self.failed + (code != 0)


@contextmanager
def beside(pause: float, work: Any) -> Iterator[None]:
    """`work()` every `pause` seconds until the block is left; its first error is raised there."""
    over, errors = threading.Event(), list[Exception]()

    def run() -> None:
        while not over.wait(pause):
            try:
                work()
            except Exception as error:
                errors.append(error)
                return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not errors, errors


@pytest.fixture
def ruled(tmp_path: Path) -> Iterator[Ruled]:
    with private_slurm(nodes=NODES, SlurmUser=SLURM_USER, EnforcePartLimits="ALL") as cluster:
        conf = cluster.home / "slurm.conf"
        conf.write_text(conf.read_text().replace("DefaultTime=UNLIMITED", "DefaultTime=02:00:00"))
        with ruling(cluster) as made:
            if not is_fit(parse_release(release(made))):
                pytest.skip("soft limits are refused in this release")
            parameters(made, f"{WITH},{ONE}")
            made.rules(POLICY)
            tmp_path.chmod(0o755)
            needs = {"train": {"gq": f"{SOFT}-600-900"}}
            table = {"format": 1, "made_at": 1, "quantiles": [50, 75, 90], "users": {GAMES: needs}}
            (tmp_path / "incentives.json").write_text(dumped(POINTS))
            (tmp_path / "soft_limits.json").write_text(dumped(table))
            words = ("--policy", made.policy, "--from", tmp_path, "--points-per-hour", "60", "--apply")
            made.adminkit("incentives", "install", *words)
            yield made


def wave(ruled: Ruled, pick: random.Random, flag: Path) -> int:
    """Submit a hundred jobs. A task draws how long it needs when it starts: one in eight, until there is the flag, as
    long as no limit to which Slurm shortens one here would let it; the others some seconds."""
    long, short = "$((310 + RANDOM % 30))", "$((5 + RANDOM % 15))"
    script = f"bash -c 'if [ $((RANDOM % 8)) = 0 -a ! -e {flag} ]; then sleep {long}; else sleep {short}; fi'"
    options = ["-J", "train", "-p", "gq", "-N1", "-n1", "-t", "60", "-o", "/dev/null"]
    submissions: list[tuple[str, ...]] = [("-a", f"1-{TASKS}")] * ARRAYS + [()] * PLAIN
    pick.shuffle(submissions)
    for more in submissions:
        said = ruled.run("sbatch", *options, *more, "--wrap", script, user="games")
        assert said.accepted, said
    return ARRAYS * TASKS + PLAIN


def block(ruled: Ruled) -> list[int]:
    """A job on one node, and the head of the queue, which needs every node: backfill starts the rest."""
    words = ("-p", "gq", "--exclusive", "-o", "/dev/null")
    first = ruled.run("sbatch", *words, "-N1", "-w", "n1", "-t", "4", "--wrap", "sleep 2400", user="news")
    assert first.job is not None, first
    ruled.cluster.wait(first.job, "RUNNING")
    wide = ruled.run("sbatch", *words, f"-N{NODES}", "-t", "60", "--wrap", "sleep 1", user="news")
    assert wide.job is not None, wide
    until("backfill to have planned the wide one", lambda: ruled.job(wide.job)["StartTime"] != "Unknown", 60)
    return [first.job, wide.job]


def by_restart(ruled: Ruled, words: str) -> None:
    conf = ruled.cluster.home / "slurm.conf"
    conf.write_text(re.sub(r"^SchedulerParameters=.*$", f"SchedulerParameters={words}", conf.read_text(), flags=re.M))
    ruled.cluster.restart_ctld()


def kill_ctld(ruled: Ruled) -> None:
    process = ruled.cluster.ledger.find(f"{ruled.cluster.name}-slurmctld")
    assert process is not None and ruled.cluster.ledger.signal(process, signal.SIGKILL)
    time.sleep(5)
    ruled.cluster.start_ctld()


def test_none_of_a_thousand_ends_before_the_limit_it_asked_for(ruled: Ruled) -> None:
    pick, watch, timer, flag = random.Random(SEED), Watch(), Timer(ruled), ruled.cluster.home / "over"
    began = int(time.time())
    blocks, ways, submitted = block(ruled), list[tuple[str, int]](), 0
    timer.round()
    time.sleep(5.1)

    def prolong() -> None:
        """The head is promised a start in three minutes, again and again: to then Slurm shortens what it starts."""
        minutes = (int(time.time()) - began) // 60 + 4
        ruled.cluster.run("scontrol", "update", f"JobId={blocks[0]}", f"TimeLimit={minutes}")

    def leased() -> None:
        until("a lease", (ruled.folder / LEASE).exists, 90)
        time.sleep(5.1)  # as long as the script keeps what it read of it

    def way(name: str, pause: float, act: Callable[[], None] = lambda: None) -> None:
        nonlocal submitted
        ways.append((name, int(time.time())))
        act()
        if PARAMETER in name:
            leased()
        submitted += wave(ruled, pick, flag)
        time.sleep(pause)

    def stop() -> None:
        timer.runs = False

    def start() -> None:
        timer.runs = True

    turns = (
        beside(PERIOD, lambda: timer.runs and timer.round()),
        beside(4, lambda: watch.look(ruled)),
        beside(15, prolong),
    )
    with turns[0], turns[1], turns[2]:
        way(f"{PARAMETER}, {ONE}", 40)
        way(f"reconfigured without, {ONE}", 30, lambda: parameters(ruled, f"{WITHOUT},{ONE}"))
        way(f"reconfigured: {PARAMETER}", 30, lambda: parameters(ruled, WITH))
        way("reconfigured without", 40, lambda: parameters(ruled, WITHOUT))
        way(f"reconfigured: {PARAMETER}", 30, lambda: parameters(ruled, WITH))
        way("restarted without", 40, lambda: by_restart(ruled, WITHOUT))
        way(f"restarted: {PARAMETER}", 30, lambda: by_restart(ruled, WITH))
        way("slurmctld killed", 40, lambda: kill_ctld(ruled))
        way("the timer stopped", STOPPED, stop)
        way(f"the timer started, {PARAMETER}", 30, start)
        flag.touch()
        ways.append(("the head of the queue gone", int(time.time())))
        ruled.cluster.ask("scancel", *map(str, blocks))
        until("accounting to have the end of every job", lambda: ended(ruled, began) == submitted, 1500)
    judge(ruled, began, ways, watch, timer, submitted)


def accounted(ruled: Ruled, began: int) -> dict[int, tuple[str, int, int]]:
    """(state, elapsed, start) of each job. Trap: a slurmctld that was killed has forgotten what ended just before.

    It shows such jobs as running until their nodes register again; slurmdbd has had their ends.
    """
    asked = ("sacct", "-X", "-n", "-P", "-a", "-S", f"now-{int(time.time()) - began + 60}seconds", "--name=train")
    words = (*asked, "-o", "JobIDRaw,State,ElapsedRaw,Start")
    rows = [line.split("|") for line in ruled.cluster.run(*words, env={"SLURM_TIME_FORMAT": "%s"}).text.splitlines()]
    return {int(job): (state, int(elapsed), int(at)) for job, state, elapsed, at in rows if at.isdigit()}


def ended(ruled: Ruled, began: int) -> int:
    return sum(state not in ("PENDING", "RUNNING") for state, _, _ in accounted(ruled, began).values())


def judge(ruled: Ruled, began: int, ways: Sequence[tuple[str, int]], watch: Watch, timer: Timer, jobs: int) -> None:
    """Print what was seen, then hold it to what was promised."""
    ends = {job: row for job, row in accounted(ruled, began).items() if row[0] not in ("PENDING", "RUNNING")}
    raised = [
        one for one in map(json.loads, ruled.acts.read_text().splitlines())
        if one.get("did") == "raised" and one.get("held")
    ]  # fmt: skip
    starts = {job: started for job, (_, _, started) in ends.items()}
    for one in raised:  # seen by the guard between two looks of ours
        watch.first.setdefault(one["job"], one["at"])
        watch.last[one["job"]] = max(one["at"], watch.last.get(one["job"], 0))
        watch.least[one["job"]] = min(one["was"], watch.least.get(one["job"], ASKED))
    lasted = {job: watch.last[job] - starts[job] for job in watch.first if job in starts}
    print(
        f"\n{jobs} jobs, {len(ends)} in accounting, {timer.rounds} rounds of the guard, {timer.failed} without a lease"
    )
    print(f"{'':42} {'started':>8} {'shortened':>10} {'raised':>7} {'least':>6} {'p50':>5} {'longest':>8}   seconds")
    bounds = [*(at for _, at in ways), int(time.time()) + 1]
    for (name, low), high in zip(ways, bounds[1:], strict=True):
        mine = {job for job, at in starts.items() if low <= at < high}
        cut = sorted(lasted[job] for job in mine if job in lasted)
        least = min((watch.least[job] for job in mine if job in watch.least), default=0)
        many = len({one["job"] for one in raised} & mine)
        times = f"{cut[len(cut) // 2]:5} {cut[-1]:8}" if cut else f"{'-':>5} {'-':>8}"
        print(f"{name:42} {len(mine):8} {len(cut):10} {many:7} {least or '-':>6} {times}")
    early = {job: row for job, row in ends.items() if row[0] != "COMPLETED" and row[1] < ASKED}
    beyond = sum(elapsed > SOFT + 30 for _, elapsed, _ in ends.values())
    print(f"{'all':42} {len(ends):8} {len(lasted):10} {len({one['job'] for one in raised}):7}")
    print(f"ran on beyond the soft limit: {beyond}; ended before the limit that they asked for: {len(early)}")
    assert jobs == len(ends) == JOBS
    assert not early, list(early.items())[:5]
    assert lasted and beyond, "nothing was put to the proof"
