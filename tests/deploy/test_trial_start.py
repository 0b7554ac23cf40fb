"""How a trial begins: what it could not switch, or not switch back, is refused. Its record is written first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from adminkit.deploy import trial_round, trial_start
from adminkit.deploy.trial import TRIAL, Trial
from adminkit.deploy.trial_file import Plan
from adminkit.deploy.trial_sides import INCLUDED, Pair
from adminkit.deploy.trial_start import Prepared, begin, prepare
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from adminkit.slurm.controller import Controller
from adminkit.slurm.switching import Holds
from tests.support.trials import CONF, NOW, Tried, tried

QUEUE = {"MaxTime": "3-00:00:00", "DefaultTime": "1-00:00:00", "PriorityJobFactor": "1"}


def prepared(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
    queue: Mapping[str, str] = QUEUE,
    scheduler: str = "bf_window=1440,bf_continue",
    included: str = "",
) -> Prepared:
    (folder / "slurm.conf").write_text(CONF)
    (folder / INCLUDED).write_text(included)
    (folder / "trial.toml").write_text("")
    config = {"PriorityWeightAge": "1000", "SchedulerParameters": scheduler}
    monkeypatch.setattr(switching, "holds", lambda: Holds((22, 5, 8), config, {"gq": queue}))
    monkeypatch.setattr(trial_start, "rehearse", lambda *_: None)
    controller = Controller("alpha", folder / "slurm.conf", (), "slurm", None, None, (), frozenset())
    return prepare(plan, controller, folder, NOW)


@pytest.mark.parametrize(
    "lines", ["DebugFlags=NO_CONF_HASH\n", "# ours\nMaxJobCount=7\n", "Include more.conf\n", "PriorityWeightAge=1\n"]
)
def test_lines_that_the_included_file_has_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    plan = Plan(tmp_path / "trial.toml", slurm={"PriorityWeightAge": "20000"})
    with pytest.raises(AdminkitError, match="has lines already"):
        prepared(tmp_path, monkeypatch, plan, included=lines)
    assert (tmp_path / INCLUDED).read_text() == lines
    assert prepared(tmp_path, monkeypatch, plan, included="# empty\n\n").pair.b.slurm == {"PriorityWeightAge": "20000"}


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o640])
def test_an_included_file_that_others_may_write_or_may_not_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """A line of slurm.conf names programs that root runs."""
    (tmp_path / INCLUDED).touch()
    (tmp_path / INCLUDED).chmod(mode)
    with pytest.raises(AdminkitError, match="may write" if mode & 0o022 else "not everybody may read"):
        prepared(tmp_path, monkeypatch, Plan(tmp_path / "trial.toml", slurm={"PriorityWeightAge": "20000"}))


def test_a_lower_maximum_of_a_queue_is_said_to_delay_jobs_of_as_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, notes in (("2-00:00:00", 1), ("4-00:00:00", 0)):
        made = prepared(tmp_path, monkeypatch, Plan(tmp_path / "trial.toml", queues={"gq": {"MaxTime": limit}}))
        assert len([note for note in made.notes if "A's days may look worse" in note]) == notes, limit


def test_parameters_that_no_round_could_read_again_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(tmp_path / "trial.toml", options={"bf_window": "5760"})
    with pytest.raises(AdminkitError, match="a character that no trial can put in place"):
        prepared(tmp_path, monkeypatch, plan, scheduler="bf_continue,x=(a b)")


@pytest.mark.parametrize(
    ("queue", "keys", "words"),
    [
        ({**QUEUE, "DefaultTime": "NONE"}, {"DefaultTime": "01:00:00"}, "cannot be told to have none again"),
        (QUEUE, {"MaxTime": "12:00:00"}, "DefaultTime 1-00:00:00 exceeds its MaxTime 12:00:00"),
        (QUEUE, {"DefaultTime": "4-00:00:00"}, "DefaultTime 4-00:00:00 exceeds its MaxTime 3-00:00:00"),
        (QUEUE, {"DefaultTime": "UNLIMITED"}, "DefaultTime UNLIMITED exceeds its MaxTime"),
    ],
)
def test_limits_of_a_queue_that_could_not_come_back_or_hold_jobs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: Mapping[str, str], keys: Mapping[str, str], words: str
) -> None:
    with pytest.raises(AdminkitError, match=words):
        prepared(tmp_path, monkeypatch, Plan(tmp_path / "trial.toml", queues={"gq": keys}), queue)


@pytest.mark.parametrize(
    ("queue", "keys"),
    [
        (QUEUE, {"MaxTime": "12:00:00", "DefaultTime": "12:00:00"}),
        (QUEUE, {"MaxTime": "UNLIMITED"}),
        ({**QUEUE, "DefaultTime": "NONE"}, {"MaxTime": "12:00:00"}),
        ({**QUEUE, "DefaultTime": "NONE", "MaxTime": "UNLIMITED"}, {"DefaultTime": "01:00:00"}),
    ],
)
def test_other_limits_of_a_queue_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: Mapping[str, str], keys: Mapping[str, str]
) -> None:
    made = prepared(tmp_path, monkeypatch, Plan(tmp_path / "trial.toml", queues={"gq": keys}), queue)
    assert made.pair.b.queues == {"gq": keys}


@pytest.fixture
def over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """A trial that has ended."""
    site = tried(tmp_path, monkeypatch)
    trial_round.stop(site.target, NOW, "stopped")
    return site


def _begin(site: Tried) -> None:
    pair = Pair(site.pair.a, site.pair.b)
    trial = Trial("alpha", NOW + 60, 8, 3600, site.trial.days)
    begin(Prepared(pair, {}, ("b",), ()), Plan(site.folder / "trial.toml"), trial, site.target)


def test_its_start_is_on_record_before_a_round_can_act(over: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as within:
        within.setattr(trial_start, "write_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            _begin(over)
    assert over.acts()[-1] == "trial begun"
    over.round(NOW + 120)
    assert over.whole.trial.seed == 7, "the one before is as it was, and its result can be seen"
    _begin(over)
    assert over.whole.trial.seed == 8


def test_none_begins_where_one_was_lost_before_a_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else B would become A."""
    site = tried(tmp_path, monkeypatch)
    site.round(site.at("b"))
    (site.folder / TRIAL).unlink()
    with pytest.raises(AdminkitError, match="is gone, and B may be in place"):
        _begin(site)
    site.round(site.at("b") + 60)
    _begin(site)
    assert site.is_whole("a")


def test_a_log_that_cannot_be_written_lets_nothing_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tried(tmp_path, monkeypatch)
    trial_round.stop(site.target, NOW, "stopped")
    before = json.loads((site.folder / TRIAL).read_text())

    def full(*_: object, **__: object) -> None:
        raise AdminkitError("no space left")

    monkeypatch.setattr(trial_start, "record", full)
    with pytest.raises(AdminkitError, match="no space left"):
        _begin(site)
    assert json.loads((site.folder / TRIAL).read_text()) == before
