"""The trial of soft limits: what the guard does on days off, how it ends, what a kill leaves."""

# ruff: noqa: F811 - the fixtures of test_soft_guard.py

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit import actions
from adminkit.deploy import trial as trials
from adminkit.deploy.soft_guard import DAY_OFF, LEASE, look, once, read_lease
from adminkit.deploy.trial import OVER, STOPPED, TRIAL, Trial, begin, parse_trial, read_trial, stop
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.stats.switchback import calendar
from tests.deploy.test_soft_guard import JOB, NOW, RUNS, SITE, FakeSlurm, folder, slurm  # noqa: F401
from tests.support.crash import crash_at

DAY = 86_400
MADE = Trial("aaic", NOW - 60, 7, 3600, calendar(range(NOW, NOW + 15 * DAY, DAY), 7))
ON = next(nth for nth, day in enumerate(MADE.days) if day.on)
OFF = next(nth for nth, day in enumerate(MADE.days) if not day.on)


def at(nth: int) -> int:
    """Noon of a day."""
    return NOW + nth * DAY + DAY // 2


def acts(log: Path) -> list[tuple[str, str]]:
    return [(one["did"], one.get("why", "")) for one in actions.read(log)]


def test_on_a_day_off_there_is_no_lease_and_nobody_waits_with_one(slurm: FakeSlurm, folder: Path) -> None:
    log = folder / "acts.jsonl"
    begin(folder, MADE, log)
    once(folder, NOW - 30, 30, log)
    assert read_lease(folder) is not None, "it has not begun"
    done = once(folder, at(OFF), 30, log)
    assert done.ok and done.is_off and done.valid_until is None and not (folder / LEASE).exists()
    assert [(act.did, act.why) for act in done.acts] == [("cleared", DAY_OFF)]
    assert slurm.jobs[0].time_min is None
    assert ("lease withdrawn", DAY_OFF) in acts(log)
    shown = look(folder, at(OFF))
    assert shown.ok and not shown.notes
    done = once(folder, at(ON), 30, log)
    assert done.ok and not done.is_off and done.valid_until == at(ON) + 90


def test_on_a_day_off_what_slurm_cut_is_raised_all_the_same(slurm: FakeSlurm, folder: Path) -> None:
    begin(folder, MADE, folder / "acts.jsonl")
    slurm.jobs = [replace(RUNS, time_limit=1800, start_time=at(OFF))]
    assert [act.did for act in once(folder, at(OFF), 30, folder / "acts.jsonl").acts] == ["raised"]


def test_a_day_off_hides_no_reason(slurm: FakeSlurm, folder: Path) -> None:
    begin(folder, MADE, folder / "acts.jsonl")
    slurm.site = replace(SITE, parameters=frozenset())
    done = once(folder, at(OFF), 30, folder / "acts.jsonl")
    assert not done.ok and [one.name for one in done.reasons] == ["parameter"]


def test_it_ends_by_itself(slurm: FakeSlurm, folder: Path) -> None:
    log = folder / "acts.jsonl"
    begin(folder, MADE, log)
    once(folder, MADE.ends - 1, 30, log)
    for now in (MADE.ends, MADE.ends + 30):
        done = once(folder, now, 30, log)
        assert done.ok and done.trial is None and done.valid_until == now + 90
    there = read_trial(folder)
    assert there is not None and (there.ended, there.why) == (MADE.ends, OVER)
    assert len(there.over()) == 14
    assert [one for one in acts(log) if one[0].startswith("trial")] == [("trial begun", ""), ("trial ended", OVER)]
    begin(folder, replace(MADE, made_at=MADE.ends), log)


def test_it_is_ended_at_once(slurm: FakeSlurm, folder: Path) -> None:
    log = folder / "acts.jsonl"
    begin(folder, MADE, log)
    ended = stop(folder, at(OFF), log)
    assert ended is not None and (ended.why, len(ended.over())) == (STOPPED, OFF)
    assert once(folder, at(OFF), 30, log).valid_until == at(OFF) + 90
    assert stop(folder, at(OFF), log) is None
    assert ("trial ended", STOPPED) in acts(log)


def test_there_is_one_at_a_time(folder: Path) -> None:
    log = folder / "acts.jsonl"
    begin(folder, MADE, log)
    with pytest.raises(AdminkitError, match="a trial of soft limits is running"):
        begin(folder, replace(MADE, seed=8), log)
    assert read_trial(folder) == MADE
    assert [one["seed"] for one in actions.read(log)] == [7], "and its calendar is in the log"


def test_a_policy_that_turns_them_off_wins(slurm: FakeSlurm, folder: Path) -> None:
    begin(folder, MADE, folder / "acts.jsonl")
    (folder / "adminkit" / "policy.lua").write_text(module({"format": 1, "generation": "q"}, "made for a test"))
    done = once(folder, at(ON), 30, folder / "acts.jsonl")
    assert not done.enabled and not (folder / LEASE).exists()


TABLE: dict[str, Any] = trials._table(MADE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("[]", "no table"),
        ("[" * 100_000, "nested"),
        (json.dumps({**TABLE, "format": 2}), "another format"),
        (json.dumps({**TABLE, "days": []}), "no days"),
        (json.dumps({**TABLE, "days": TABLE["days"][:13]}), "no fortnight"),
        (json.dumps({**TABLE, "days": TABLE["days"][::-1]}), "days that do not follow each other"),
        (json.dumps({**TABLE, "days": [[a, b, 1] for a, b, _ in TABLE["days"]]}), "no switch"),
        (json.dumps({**TABLE, "carry_over": DAY}), "a day of carry-over"),
        (json.dumps({**TABLE, "made_at": 1e300}), "no whole number"),
        (json.dumps({**TABLE, "ended": "soon"}), "no time"),
        (json.dumps({key: TABLE[key] for key in TABLE if key != "seed"}), "no seed"),
        ("\x00\ud800", "no text"),
    ],
)
def test_a_damaged_file_means_no_soft_limits(slurm: FakeSlurm, folder: Path, text: str, why: str) -> None:
    log = folder / "acts.jsonl"
    (folder / TRIAL).write_bytes(text.encode("utf-8", "surrogatepass"))
    done = once(folder, NOW, 30, log)
    assert not done.ok and [one.name for one in done.reasons] == ["trial"], why
    assert not (folder / LEASE).exists()
    assert stop(folder, NOW, log) is None and not (folder / TRIAL).exists()
    assert once(folder, NOW, 30, log).ok


def test_a_file_is_read_as_it_was_written(folder: Path) -> None:
    begin(folder, MADE, folder / "acts.jsonl")
    text = (folder / TRIAL).read_text()
    assert parse_trial(text, folder / TRIAL) == MADE
    assert (folder / TRIAL).stat().st_mode & 0o777 == 0o640


def test_a_kill_leaves_a_whole_file_or_none(slurm: FakeSlurm, folder: Path) -> None:
    """At each call to the file system: begun, ended by hand, ended by the guard."""
    log = folder / "acts.jsonl"
    for act, before, after in (
        (lambda: begin(folder, MADE, log), None, MADE),
        (lambda: stop(folder, at(OFF), log), MADE, replace(MADE, ended=at(OFF), why=STOPPED)),
        (lambda: once(folder, MADE.ends, 30, log), MADE, replace(MADE, ended=MADE.ends, why=OVER)),
    ):
        number, seen = 0, set()
        while True:
            (folder / TRIAL).unlink(missing_ok=True)
            if before is not None:
                (folder / TRIAL).write_text(json.dumps(trials._table(before)))
            died = crash_at(number, act)
            there = read_trial(folder)
            assert there in (before, after)
            seen.add(there == after)
            if not died:
                break
            number += 1
        assert number > 5 and seen == {False, True} and there == after
