"""adminkit soft-limits trial and stop, with a slurmctld that is not there and a trace that is."""

# ruff: noqa: F811 - the fixtures of test_soft_guard.py

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adminkit import actions
from adminkit.cli import soft_trial
from adminkit.cli.options import Format
from adminkit.deploy.files import table_path
from adminkit.deploy.trial import TRIAL, read_trial
from adminkit.errors import AdminkitError, UsageError
from adminkit.lua.literal import module
from tests.deploy.test_soft_guard import SITE, FakeSlurm, folder, slurm  # noqa: F401
from tests.support.builders import HOUR, job, make_trace

DAY = 86_400
#: 2026-03-02T12:00:00Z, a Monday.
NOON = 1_772_452_800


@pytest.fixture
def host(
    no_settings: None,
    slurm: FakeSlurm,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Path:
    """A controller whose folder this is, at NOON."""
    controller = SimpleNamespace(cluster="aaic", gid=None, others=lambda: ())
    monkeypatch.setattr(soft_trial, "site", lambda _: (folder, controller))
    monkeypatch.setattr(soft_trial.time, "time", lambda: NOON)
    monkeypatch.setenv("ADMINKIT_ACTS", str(folder / "acts.jsonl"))
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "none.db"))
    return folder


def past(path: Path, days: int) -> Path:
    """Three jobs a day that waited about half an hour, for so many days before NOON."""
    jobs = []
    for nth in range(3 * days):
        eligible = NOON - 2 * DAY - nth // 3 * DAY + HOUR * (nth % 3)
        start = eligible + 1800 + 400 * (nth * 7 % 5)
        times = {"eligible_time": eligible, "start_time": start, "end_time": start + 600, "elapsed": 600}
        jobs.append(job(nth + 1, submit_time=eligible, **times))
    return make_trace(path, jobs)


def said(capsys: pytest.CaptureFixture[str], **words: Any) -> dict[str, Any]:
    soft_trial.trial(**words, format=Format.JSON)
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_preview_shows_the_calendar_and_begins_nothing(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = said(capsys, days=28)
    assert [row["day"] for row in first["rows"]] == list(range(1, 29))
    assert first["rows"][0]["weekday"] == "Tue" and first["rows"][0]["since"] > NOON
    notes = " / ".join(first["meta"]["notes"])
    assert "nothing was done: --apply begins it" in notes and "not known: the trace has 0 days" in notes
    assert "the first 12 h of each day do not count" in notes, "nobody knows how long runs are"
    assert said(capsys, days=28) == first, "the same day, the same calendar"
    assert said(capsys, days=28, seed=1)["rows"] != said(capsys, days=28, seed=2)["rows"]
    assert not (host / TRIAL).exists() and not (host / "acts.jsonl").exists()


@pytest.mark.parametrize(
    ("days", "words"), [(27, "not known: the trace has 27 days with waits"), (60, "the mean wait is ")]
)
def test_the_smallest_change_is_of_this_sites_past(
    host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], days: int, words: str
) -> None:
    notes = " / ".join(said(capsys, days=28, db=past(tmp_path / "t.db", days), carry_over="0")["meta"]["notes"])
    assert words in notes
    assert "the first 0 s of each day do not count" in notes


def test_the_carry_over_is_that_of_long_runs(host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    past(tmp_path / "t.db", 30)
    for typed, seconds in ((None, 3600), ("90m", 5400), ("100", 900)):
        rows = said(capsys, days=14, db=tmp_path / "t.db", carry_over=typed)["rows"]
        assert rows[0]["counts_from"] - rows[0]["since"] == seconds


def test_it_begins_and_shows_what_it_showed(host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = said(capsys, days=14, seed=3, apply=True)
    there = read_trial(host)
    assert there is not None and [day.since for day in there.days] == [row["since"] for row in begun["rows"]]
    assert [one["did"] for one in actions.read(host / "acts.jsonl")] == ["trial begun"]
    shown = said(capsys, result=True, db=past(tmp_path / "t.db", 5))
    assert shown["rows"][0]["verdict"] == "not known" and "6 pairs of days" in shown["meta"]["answers"][0]
    assert said(capsys, result=True, db=tmp_path / "t.db", from_=host / TRIAL) == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "a trial needs --days"),
        ({"days": 13}, "a trial of 13 days"),
        ({"days": 10**12}, "cannot have each weekday"),
        ({"days": 14, "carry_over": "13h"}, "leaves too little of a day"),
        ({"days": 14, "carry_over": "soon"}, "not a duration"),
        ({"days": 14, "result": True}, "--result does not start a trial"),
        ({"days": 14, "from_": Path("x")}, "a trial needs --days"),
    ],
)
def test_what_is_typed_wrong_is_said(host: Path, words: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        soft_trial.trial(**words)
    assert not (host / TRIAL).exists()


def test_where_nobody_is_given_one_there_is_nothing_to_try(host: Path, slurm: FakeSlurm) -> None:
    slurm.site = replace(SITE, parameters=frozenset())
    with pytest.raises(AdminkitError, match=r"\(parameter\): the running slurmctld does not name"):
        soft_trial.trial(days=14, apply=True)
    table_path(host, "policy").write_text(module({"format": 1, "generation": "q"}, "made for a test"))
    with pytest.raises(AdminkitError, match="soft limits are off here"):
        soft_trial.trial(days=14, apply=True)
    assert not (host / TRIAL).exists()


def test_a_second_one_is_refused(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, days=14, apply=True)
    for apply in (False, True):
        with pytest.raises(AdminkitError, match="is running"):
            soft_trial.trial(days=14, apply=apply)


@pytest.mark.parametrize("words", [{"result": True}, {"result": True, "from_": Path("/nowhere/x.json")}])
def test_without_a_trial_there_is_no_result(host: Path, words: dict[str, Any]) -> None:
    with pytest.raises(AdminkitError, match=r"no trial of soft limits|does not exist"):
        soft_trial.trial(**words)


def test_it_is_stopped(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AdminkitError, match="no trial of soft limits"):
        soft_trial.stop()
    said(capsys, days=14, apply=True)
    soft_trial.stop()
    assert "nothing was done" in capsys.readouterr().out
    assert (there := read_trial(host)) is not None and there.ended is None
    soft_trial.stop(apply=True)
    assert "ended; 0 of its days are over" in capsys.readouterr().out
    with pytest.raises(AdminkitError, match="no trial of soft limits is running"):
        soft_trial.stop(apply=True)


def test_a_damaged_file_is_removed_by_a_stop(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (host / TRIAL).write_text("{")
    with pytest.raises(AdminkitError, match="not a trial as adminkit writes it"):
        soft_trial.stop()
    soft_trial.stop(apply=True)
    assert "was removed" in capsys.readouterr().err and not (host / TRIAL).exists()
