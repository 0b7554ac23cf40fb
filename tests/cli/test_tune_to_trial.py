"""A recommendation from end to end: a made site, its trace, the search, and what a trial and an operator read of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.deploy.trial_file import Plan, load_plan
from adminkit.policy.load import load_policy
from adminkit.simulate.core import simulate
from adminkit.slurm.site import Site, SiteNode, SiteQueue, SiteScheduler
from adminkit.slurm.site_file import site_text
from tests.support.builders import make_trace
from tests.tune_proof.workloads import CLUSTER, CORES, DAY, HOUR, Law, drawn, records

RELEASE = (26, 5, 3)
NODES = 4
#: Short jobs ask for the most, and backfill looks at two jobs: to plan by need and to look at more is better.
LAW = Law(
    605, nodes=NODES, load=0.6, short=0.7, lazy=0, over=1.5, factors=(1, 1), most=2 * DAY,
    settings={"bf_max_job_test": 2},
)  # fmt: skip
LEVERS = """version = 1
[constraints]
groups = ["size"]
promised = false
[levers]
"SchedulerParameters.bf_max_job_test" = [500]
"soft_limits.quantile" = [90]
"soft_limits.longest" = ["7d"]
"soft_limits.wide" = [0]
"""
POLICY = Path(__file__).parents[2] / "etc" / "policy.toml"


def site() -> Site:
    """The machine of the law, as a file of --site has it."""
    names = ("q0", "q1")
    scheduler = SiteScheduler(
        release="26.05", bf_continue=True, bf_interval=60, bf_resolution=300, bf_window=4 * DAY, bf_max_job_test=2,
        priority_weight_age=1000, priority_calc_period=HOUR,
    )  # fmt: skip
    nodes = tuple(SiteNode(f"n{number}", CORES, queues=frozenset(names)) for number in range(NODES))
    return Site(CLUSTER, tuple(SiteQueue(name, max_limit=2 * DAY) for name in names), nodes=nodes, scheduler=scheduler)


@dataclass(frozen=True)
class Answered:
    folder: Path
    report: Mapping[str, Any]

    @property
    def written(self) -> Path:
        return self.folder / "b"

    def lines(self, title: str) -> list[str]:
        """What to type below a title."""
        return next((one["lines"] for one in self.report["typed"] if one["title"] == title), [])

    def plan(self) -> Plan:
        return load_plan(self.written / "trial.toml", RELEASE)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    folder = tmp_path_factory.mktemp("tune")
    case = drawn(LAW, 1)
    nodes = case.column("nodes").tolist()
    jobs = [replace(one, nodes=many) for one, many in zip(records(case, simulate(case.request)), nodes, strict=True)]
    trace = make_trace(folder / "trace.db", jobs)
    (folder / "site.toml").write_text(site_text(site(), "toml"))
    (folder / "tune.toml").write_text(LEVERS)
    shutil.copy(POLICY, folder / "policy.toml")
    words = f"--db {trace} --site {folder}/site.toml --policy {folder}/policy.toml --evaluations 130".split()
    out = ["-f", "json", "-o", str(folder / "answer.json"), "--write", str(folder / "b"), "--keep", str(folder / "k")]
    assert main(["tune", str(folder / "tune.toml"), *words, *out]) == 0
    return Answered(folder, json.loads((folder / "answer.json").read_text()))


def test_it_is_recommended(answered: Answered) -> None:
    said = answered.report["meta"]["answers"]
    assert any(line.startswith("recommended: on the ") for line in said), said
    levers = {one["lever"] for one in answered.report["pick"]}
    assert {"SchedulerParameters.bf_max_job_test", "soft_limits.quantile"} <= levers


def test_a_trial_reads_what_was_written(answered: Answered) -> None:
    plan = answered.plan()
    assert (plan.a, plan.b) == (None, answered.written / "policy-b.toml")
    assert plan.tables == answered.written / "tables-b", "soft limits need a table of needs"
    assert plan.options == {"bf_max_job_test": "500", "time_min_as_soft_limit": ""}
    assert (plan.slurm, plan.queues) == ({}, {})
    trial = (answered.written / "trial.toml").read_text()
    assert "adminkit incentives compute --policy policy-b.toml --out tables-b\ntables = " in trial


def test_the_new_policy_is_valid_and_turns_soft_limits_on(answered: Answered) -> None:
    before, after = load_policy(POLICY), load_policy(answered.written / "policy-b.toml")
    assert (before.soft_limits.enabled, after.soft_limits.enabled) == (False, True)
    assert (after.soft_limits.quantile, after.soft_limits.longest) == (90, 7 * DAY)
    assert after.model_copy(update={"soft_limits": before.soft_limits}) == before, "and nothing else changes"


def test_the_diff_can_be_applied_and_taken_back(answered: Answered, tmp_path: Path) -> None:
    diff = "".join(f"{line}\n" for line in answered.lines("policy.toml"))
    mine = tmp_path / "policy.toml"
    shutil.copy(POLICY, mine)
    for words, wanted in (([], answered.written / "policy-b.toml"), (["-R"], POLICY)):
        done = subprocess.run(["patch", *words, str(mine)], input=diff, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        assert mine.read_bytes() == wanted.read_bytes()


def test_what_to_type_and_how_to_undo_it(answered: Answered) -> None:
    head = "# the other options of SchedulerParameters stay"
    assert answered.lines("slurm.conf") == [
        head, "SchedulerParameters=bf_max_job_test=500,time_min_as_soft_limit",
    ]  # fmt: skip
    assert answered.lines("commands") == [
        "scontrol reconfigure",
        "adminkit policy install --policy policy-b.toml --apply",
        "adminkit incentives install --policy policy-b.toml --apply",
    ]
    assert answered.lines("undo") == [
        "adminkit policy install --policy policy.toml --apply",
        "adminkit incentives install --policy policy.toml --apply",
        head,
        "SchedulerParameters=bf_max_job_test=2",
        "# leave out these options of SchedulerParameters: time_min_as_soft_limit",
        "scontrol reconfigure",
    ]
    conf = (answered.written / "slurm-b.conf").read_text()
    assert conf.splitlines()[:2] == answered.lines("slurm.conf")
    assert all(line.startswith("#") for line in conf.splitlines()[2:])


def test_the_tables_of_the_trial_can_be_made_of_the_new_policy(answered: Answered) -> None:
    policy, out = answered.written / "policy-b.toml", answered.plan().tables
    assert out is not None
    words = ["--db", str(answered.folder / "trace.db"), "--policy", str(policy), "--points-per-hour", "60"]
    assert main(["incentives", "compute", *words, "--out", str(out)]) == 0
    assert "soft_limits.json" in {one.name for one in out.iterdir()}
