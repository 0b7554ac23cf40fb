"""Traces on which soft limits are tried: KTH, RICC, the look-alike, bursts; with what was known of each job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adminkit.cli.demo import make
from adminkit.demo import generate
from adminkit.ingest.files import Import, import_file
from adminkit.recommend.hints import LEVELS
from adminkit.recommend.online import online
from adminkit.recommend.predict import needed
from adminkit.simulate.case import Case
from adminkit.simulate.core import NONE, Model, Request, simulate
from adminkit.simulate.history import Needs
from adminkit.simulate.jobs import Jobs
from adminkit.simulate.machine import request
from adminkit.simulate.subject import Wanted, subject
from adminkit.simulate.today import keys_of, today
from adminkit.slurm.site import Site
from adminkit.stats.runs import Run, runs
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.swf import public

Column = NDArray[np.int64]
HOUR = 3600
DAY = 24 * HOUR
#: Of the site; no trace here has checkpoint runs.
CODE = 85
QUANTILES = 3
#: What the model slurm is told of the look-alike's scheduler.
SCHEDULER = {
    "release": 2605, "bf_window": 14 * DAY, "bf_max_job_test": 500, "bf_continue": 1, "bf_interval": 60,
    "bf_resolution": 600, "priority_weight_age": 1000, "priority_max_age": 100 * DAY,
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What was known of each job at its submission, by job; NONE and NaN for unknown."""

    seconds: Column  # a column for each quantile of the table of needs
    named: Column  # the same, by job name alone
    outlived: NDArray[np.float64]  # the same: how often the user's runs needed more
    last_two: Column  # the mean of the user's last two


@dataclass(frozen=True)
class Trace:
    """Jobs above the last of `edges`, which part the sizes, are the widest."""

    name: str
    what: str
    case: Case
    known: Known
    replicates: int
    edges: tuple[int, ...]

    @property
    def size(self) -> Column:
        gpus = self.case.column("gpus", 0)
        return gpus if self.case.request.model == "slurm" else self.case.column("procs")


def traces(folder: Path, names: list[str]) -> Iterator[Trace]:
    """Those of these names; one whose file is not under $ADMINKIT_TRACES is passed over, and named."""
    for name in names:
        one = TRACES[name](folder)
        if one is None:
            print(f"not run: no trace for {name} under $ADMINKIT_TRACES", flush=True)
        else:
            yield one


def _swf(folder: Path, file: str, name: str, procs: int, what: str, replicates: int = 20) -> Trace | None:
    path = public(file) or folder / file
    if not path.exists():
        return None
    db = folder / f"{name}.db"
    if not db.exists():
        import_file(Import(path, db, name), int(time.time()))
    return _of_pool(db, name, procs, what, replicates, (1, 8, 64))


def _of_pool(db: Path, name: str, procs: int, what: str, replicates: int, edges: tuple[int, ...]) -> Trace:
    cluster = generate.CLUSTER if name.startswith("look") else name
    case, known = _read(db, cluster, Wanted("easy", procs=procs))
    return Trace(name, what, case, known, replicates, edges)


def _read(db: Path, cluster: str, wanted: Wanted, until: int | None = None) -> tuple[Case, Known]:
    chosen = Filter(clusters=(cluster,), until=until, checkpoint_code=CODE)
    with reader(db) as trace:
        found = subject(trace, chosen, wanted)
        asked = request(found.model, found.jobs, found.machine)
        case = today(found.jobs, asked, wanted.site.queues if wanted.site else ())
        known = _known(found.jobs, online(runs(trace, clusters=[cluster], checkpoint_code=CODE)))
    return case, known


def _known(jobs: Jobs, events: Iterator[tuple[bool, Run]]) -> Known:
    keys = keys_of(jobs)
    place = {key: at for at, key in enumerate(zip(*(keys[name].tolist() for name in keys), strict=True))}
    count = len(jobs)
    seconds = np.full((count, QUANTILES), NONE, np.int64)
    outlived, last_two = np.full((count, QUANTILES), np.nan), np.full(count, NONE, np.int64)
    named = seconds.copy()
    table, by_name, last = Needs(), Needs(LEVELS), dict[str | None, list[int]]()
    for has_ended, run in events:
        user = run.kind.user
        if has_ended:
            table.ended(run)
            by_name.ended(run)
            last[user] = [*last.get(user, ())[-1:], needed(run)]
            continue
        (row, shares), (exact, _) = table.submitted(run), by_name.submitted(run)
        at = place.get((run.job_id_raw or 0, run.submit_time))
        if at is None:
            continue
        if row is not None:
            seconds[at], outlived[at] = row, shares
        if exact is not None:
            named[at] = exact
        if len(last.get(user, ())) == 2:
            last_two[at] = sum(last[user]) // 2
    return Known(seconds, named, outlived, last_two)


def _demo(folder: Path) -> Path:
    db = folder / "look-alike.db"
    if not db.exists():
        make(db)
    return db


def _look_alike(procs: int) -> Callable[[Path], Trace]:
    what = f"the look-alike on {procs} GPUs, one pool"
    return lambda folder: _of_pool(_demo(folder), f"look-alike-{procs}", procs, what, 20, (1, 8))


def _on_nodes(folder: Path) -> Trace:
    """Three weeks of the look-alike on 25 nodes of 8 GPUs, by slurmctld's own loops."""
    site: Site = generate.SITE
    site = replace(site, nodes=site.nodes[:25])
    wanted = Wanted("slurm", site=site, arrival="submit", settings=SCHEDULER)
    case, known = _read(_demo(folder), generate.CLUSTER, wanted, until=1_501_977_600)
    case = replace(case, request=replace(case.request, settings={**case.request.settings, **SCHEDULER}))
    what = "three weeks of the look-alike on 25 nodes of 8 GPUs, in the `slurm` model"
    return Trace("nodes", what, case, known, 10, (1, 7, 8))


def bursts(seed: int = 2018, users: int = 60, jobs: int = 20_000, procs: int = 128) -> tuple[Request, Column]:
    """People submit one to hundreds of like jobs at once, at day; limits are round, and two in five the maximum."""
    rng = np.random.default_rng(seed)
    menu = np.array([600, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY, 2 * DAY])
    rows: list[tuple[int, int, int, int, int]] = []
    typical = np.exp(rng.normal(np.log(1500), 1.5, users))
    while len(rows) < jobs:
        user = int(rng.integers(users))
        many = int(min(rng.pareto(0.9) + 1, 400))
        size = int(rng.choice([1, 2, 4, 8, 16, 32, 64, 128], p=[0.6, 0.1, 0.1, 0.08, 0.06, 0.04, 0.015, 0.005]))
        at = int(rng.uniform(0, 1) * 1e9)
        own = np.minimum(typical[user] * np.exp(rng.normal(0, 0.7, many)), 2 * DAY - 60).astype(int) + 5
        asked = menu[min(int(np.searchsorted(menu, own.max() * rng.uniform(1, 4))), len(menu) - 1)]
        limit = int(menu[-1] if user % 5 < 2 else max(asked, menu[np.searchsorted(menu, own.max())]))
        rows += [(at, int(one), limit, size, user) for one in own]
    table = np.array(rows[:jobs])
    span = (table[:, 1] * table[:, 3]).sum() / (procs * 0.75)
    table[:, 0] = (table[:, 0] * (span / 1e9)).astype(int)
    table = table[np.lexsort((np.arange(jobs), table[:, 0]))]
    columns = dict(zip(("submit", "run", "limit", "procs"), table.T[:4].copy(), strict=True))
    columns["id"] = np.arange(1, jobs + 1)
    return Request("easy", columns, {"procs": procs}), table[:, 4]


def burst_file(folder: Path) -> Path:
    """They as an SWF trace, with the waits that EASY gives it."""
    asked, user = bursts()
    path = folder / "bursts.swf"
    if not path.exists():
        start, jobs = simulate(asked).start, asked.jobs
        wait = start - jobs["submit"]
        lines = [
            f"{number} {submit} {waited} {run} {size} -1 -1 {size} {limit} -1 1 {who + 1} 1 -1 1 -1 -1 -1"
            for number, submit, waited, run, size, limit, who in zip(
                jobs["id"], jobs["submit"], wait, jobs["run"], jobs["procs"], jobs["limit"], user, strict=True
            )
        ]
        head = f"; Version: 2.2\n; UnixStartTime: 1767571200\n; MaxProcs: {asked.settings['procs']}\n"
        path.write_text(head + "\n".join(lines) + "\n")
    return path


def _bursts(folder: Path) -> Trace | None:
    what = "20,000 jobs of 60 users who submit up to 400 similar jobs at once, 128 processors, 75 % load"
    return _swf(folder, burst_file(folder).name, "bursts", bursts()[0].settings["procs"], what)


TRACES: dict[str, Callable[[Path], Trace | None]] = {
    "kth": lambda folder: _swf(folder, "KTH-SP2-1996-2.swf.gz", "kth", 100, "KTH-SP2, 100 processors"),
    "ricc": lambda folder: _swf(folder, "RICC-2010-2.swf.gz", "ricc", 8192, "RICC, 8192 processors", 10),
    "look-alike-200": _look_alike(200),
    "look-alike-256": _look_alike(256),
    "bursts": _bursts,
    "nodes": _on_nodes,
}
MODELS: tuple[Model, ...] = ("easy", "slurm")
