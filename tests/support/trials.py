"""A slurmctld that a trial switches, in a file, and both sides of a trial that is written down beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy import install, trial_guards, trial_round
from adminkit.deploy.bundle import tables_only
from adminkit.deploy.files import changing, put_table
from adminkit.deploy.install import Target
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import Placed, Side, Trial
from adminkit.deploy.trial_file import Guards
from adminkit.deploy.trial_seen import Seen, look
from adminkit.deploy.trial_sides import INCLUDED, Pair, config, put_included, write_pair
from adminkit.deploy.trial_state import LEASE, Machine, Whole, mark_live, read_whole, write_whole
from adminkit.deploy.trial_work import Round
from adminkit.errors import AdminkitError
from adminkit.policy.compile import policy_table, policy_text
from adminkit.slurm import switching
from adminkit.slurm.conf_lines import conf_lines
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.site import Site, SiteQueue
from adminkit.slurm.switching import Holds
from adminkit.stats.switchback import calendar
from tests.support.policies import policy as policy_of

DAY = 86_400
NOW = 1_796_000_400
CONF = """ClusterName=alpha
PriorityWeightAge=1000
SchedulerParameters=bf_window=1440,bf_continue
Include adminkit_trial.conf
"""
A_SLURM = {"PriorityWeightAge": "1000", "SchedulerParameters": "bf_window=1440,bf_continue"}
B_SLURM = {"PriorityWeightAge": "20000", "SchedulerParameters": "bf_window=5760,bf_continue"}


def policy(hours: int) -> str:
    text = f'version = 1\n[[rules]]\nname = "a"\nqueues = ["gq"]\nmax_limit = "{hours}:00:00"\n'
    site = Site("alpha", (SiteQueue("gq"),), frozenset({0, 2001}), {})
    return policy_text(policy_table(policy_of(text), site, 1))


@dataclass
class FakeCtld:
    """What slurmctld holds is in a file, so that the acts of a child that is killed last."""

    folder: Path
    away: bool = False
    refuses: bool = False  # every reconfigure

    @property
    def _file(self) -> Path:
        return self.folder / "held.json"

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._file.read_text())
        return found

    def _write(self, **changes: Any) -> None:
        aside = self.folder / "held.new"
        aside.write_text(json.dumps({**self._read(), **changes}))
        os.replace(aside, self._file)  # noqa: PTH105

    def start(self) -> None:
        """It reads slurm.conf, and loads job_submit.lua."""
        self._file.write_text(json.dumps({"loaded": ""}))
        self.restart()

    def restart(self) -> None:
        self._write(config=self._conf(), queues={"gq": {"MaxTime": "3-00:00:00", "State": "UP"}})
        self.load()

    def _conf(self) -> Mapping[str, str]:
        text = (self.folder / "slurm.conf").read_text()
        included = (self.folder / INCLUDED).read_text()
        lines = text.replace(f"Include {INCLUDED}\n", "") + included
        found: dict[str, str] = {}
        for line in lines.splitlines():
            found.update(settings(line))
        return {**found, "SLURM_VERSION": "22.05.8"}

    def load(self) -> None:
        self._write(loaded=(self.folder / "adminkit/policy.lua").read_text())

    def holds(self) -> Holds:
        if self.away:
            raise AdminkitError("slurmctld is away")
        held = self._read()
        return Holds((22, 5, 8), held["config"], held["queues"])

    def reconfigure(self) -> None:
        """As a restart, but that it loads no script."""
        if self.away or self.refuses:
            raise AdminkitError("scontrol reconfigure failed")
        loaded = self.loaded
        self.restart()
        self._write(loaded=loaded)

    def update_queue(self, queue: str, values: Mapping[str, str]) -> None:
        queues = self._read()["queues"]
        queues[queue] = {**queues[queue], **values}
        self._write(queues=queues)

    def confirm(self, *_: object, **__: object) -> tuple[None, str]:
        self.load()
        return None, ""

    @property
    def loaded(self) -> str:
        return str(self._read()["loaded"])


@dataclass
class Tried:
    """A trial that is written down, and rounds of it."""

    folder: Path
    ctld: FakeCtld
    pair: Pair
    trial: Trial

    @property
    def target(self) -> Target:
        return Target(self.folder, "alpha", log=self.folder / "acts.jsonl")

    def at(self, side: Side, nth: int = 0) -> int:
        """Noon of a day of this side."""
        return [day for day in self.trial.days if day.on is (side == "b")][nth].since + DAY // 2

    def round(self, now: int, ok: bool = True) -> Round:
        done = trial_round.once(self.target, now)
        assert done.ok is ok, done.notes
        return done

    def restore(self, now: int) -> Round:
        return trial_round.restore(self.target, now)

    @property
    def whole(self) -> Whole:
        found = read_whole(self.folder)
        assert found is not None
        return found

    def keep(self, **changes: Any) -> None:
        whole = self.whole
        write_whole(self.folder, replace(whole, machine=replace(whole.machine, **changes)), None)

    def seen(self) -> Seen:
        return look(self.folder, self.pair, self.whole.machine.own)

    def is_whole(self, side: Side) -> bool:
        """Everything is that side's, and slurmctld has loaded its policy."""
        return self.seen().whole(side) and self.ctld.loaded == (self.folder / "adminkit/policy.lua").read_text()

    def acts(self) -> list[str]:
        log = self.folder / "acts.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [act["did"] for act in map(json.loads, lines) if act["what"] == "trial"]


def tried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """A in place, and a trial of 14 days from NOW on; the guards count nothing."""
    ctld = FakeCtld(folder)
    (folder / "slurm.conf").write_text(CONF)
    (folder / INCLUDED).write_text("")
    (folder / "job_submit.lua").write_bytes(tables_only({}).program["job_submit.lua"])
    put_table(folder, "policy", policy(20), check_table)
    ctld.start()
    for name in ("holds", "reconfigure", "update_queue"):
        monkeypatch.setattr(switching, name, getattr(ctld, name))
    monkeypatch.setattr(install, "confirm", ctld.confirm)
    monkeypatch.setattr(install, "rehearse", lambda *_: None)
    monkeypatch.setattr(trial_guards, "guard", lambda _: "")
    queues = {"gq": {"MaxTime": "3-00:00:00"}}, {"gq": {"MaxTime": "1-00:00:00"}}
    pair = Pair(config("a", policy(20), A_SLURM, queues[0]), config("b", policy(12), B_SLURM, queues[1]))
    days = calendar(range(NOW, NOW + 15 * DAY, DAY), 7)
    trial = Trial("alpha", NOW - 60, 7, 3600, days, placed=[Placed(NOW - 60, "a")])
    own = conf_lines(folder / "slurm.conf", A_SLURM, INCLUDED)
    digests: dict[str, str] = {one.side: one.digest for one in (pair.a, pair.b)}
    with changing(folder):
        write_pair(folder, pair, None)
        put_included(folder, pair.a.text)
        machine = Machine(digests, Guards(), seen_at=NOW - 60, lease_until=NOW - 60 + LEASE, own=own)
        mark_live(folder, None)
        write_whole(folder, Whole(trial, machine), None)
    return Tried(folder, ctld, pair, trial)
