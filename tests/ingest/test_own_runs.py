"""One's own runs from sacct into a copy: what is asked for, how often, and what is taken where nobody answers."""

from __future__ import annotations

import json
import os
import stat
import time
from itertools import pairwise
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest import own_questions as module
from adminkit.ingest.own_questions import MOST_STEPS
from adminkit.ingest.own_runs import Own, Wanted, own_runs, runs_of
from adminkit.trace.private_copy import cache_home
from tests.support.own_slurm import HOUR, OwnSlurm, run, step

DAY = 86_400
NOW = int(time.time())


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSlurm:
    return OwnSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def said() -> list[str]:
    return []


def ask(said: list[str], now: int = NOW, days: int = 90, **wanted: object) -> Own:
    return own_runs(Wanted(os.geteuid(), days, **wanted), cache_home(), now, said.append)  # type: ignore[arg-type]


def numbers(own: Own) -> list[int]:
    with runs_of(own) as db:
        return [row[0] for row in db.execute("SELECT job_id_raw FROM job ORDER BY job_id_raw")]


def test_sacct_is_asked_once_for_the_callers_jobs_of_so_many_days(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(n, NOW - n * HOUR) for n in (1, 2, 3)]
    slurm.write()
    assert numbers(ask(said)) == [1, 2, 3]
    (words,) = slurm.asked("sacct")
    after = dict(pairwise(words))
    assert after["-u"] == str(os.geteuid()) and "-X" in words and not {"-a", "-s", "-j"} & set(words)
    assert after["-S"] == time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(NOW - 90 * DAY))
    assert stat.S_IMODE(slurm.copy.stat().st_mode) == 0o600 and said == []


def test_a_copy_is_good_for_a_day(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.write()
    ask(said)
    asked = []
    for now, wanted in (
        (NOW + DAY - 1, {}),
        (NOW + DAY - 1, {"days": 30}),
        (NOW + DAY - 1, {"days": 91}),
        (NOW + DAY, {"fresh": True}),
        (NOW + 2 * DAY, {}),
        (NOW - HOUR, {}),  # a clock that was put back
    ):
        slurm.write()
        assert numbers(ask(said, now, **wanted)) == [1]  # type: ignore[arg-type]
        asked.append(len(slurm.asked("sacct")))
    assert asked == [0, 0, 1, 1, 1, 1]


def test_what_has_come_since_is_asked_for_alone(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR), run(2, NOW, State="RUNNING", End="Unknown")]
    slurm.write()
    ask(said, newest=60)
    slurm.jobs = [run(2, NOW + 90, elapsed=90 + HOUR, Submit=NOW - HOUR - 30), run(3, NOW + 80)]
    slurm.write()
    assert numbers(ask(said, NOW + 59, newest=60)) == [1, 2] and slurm.asked("sacct") == []
    own = ask(said, NOW + 100, newest=60)
    (words,) = slurm.asked("sacct")
    assert words[words.index("-S") + 1] == time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(NOW - 2 * HOUR))
    with runs_of(own) as db:
        states = dict(db.execute("SELECT job_id_raw, state FROM job"))
    assert states == {1: "COMPLETED", 2: "COMPLETED", 3: "COMPLETED"}
    slurm.write()
    ask(said, NOW + DAY, newest=60)
    (words,) = slurm.asked("sacct")
    assert words[words.index("-S") + 1].startswith(time.strftime("%Y-%m-%d", time.gmtime(NOW + DAY - 90 * DAY))), (
        "however often it was made newer, all of it is asked for once a day"
    )


def test_an_answer_from_a_clock_that_was_ahead_is_asked_for_again(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.write()
    ask(said, NOW, newest=60)
    ask(said, NOW + 12 * HOUR, newest=60)
    slurm.write()
    for now, asked in ((NOW + HOUR, 1), (NOW + HOUR + 59, 1), (NOW + HOUR + 60, 2)):
        ask(said, now, newest=60)
        assert len(slurm.asked("sacct")) == asked


def test_steps_are_of_the_last_runs_and_each_is_asked_for_once(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(n, NOW - n * 60) for n in range(1, MOST_STEPS + 51)]
    used = {"TRESUsageInTot": "cpu=00:40:00,mem=2G,gres/gpuutil=55", "TotalCPU": "40:00"}
    slurm.steps = [step(n, "batch", **used) for n in range(1, MOST_STEPS + 51)]
    slurm.write()
    ask(said)
    own = ask(said, NOW + 1, steps=True)
    whole, steps = slurm.asked("sacct")
    assert "-X" in whole and "-X" not in steps
    assert sorted(map(int, steps[steps.index("-j") + 1].split(","))) == list(range(1, MOST_STEPS + 1))
    with runs_of(own) as db:
        assert db.execute("SELECT mem_used, gpus_used FROM step").fetchall() == [(2 << 30, 0.55)] * MOST_STEPS
        assert db.execute("SELECT cpu_time FROM job WHERE job_id_raw = 1").fetchone() == (2400.0,)
    slurm.jobs.append(run(900, NOW + 8 * HOUR))
    slurm.write()
    ask(said, NOW + 9 * HOUR, steps=True, newest=60)
    _, steps = slurm.asked("sacct")
    assert steps[steps.index("-j") + 1] == "900"


def test_without_an_answer_about_steps_the_runs_are_kept_and_that_is_said(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs, slurm.steps_refused = [run(1, NOW - HOUR)], True
    slurm.write()
    assert numbers(ask(said, steps=True)) == [1]
    assert len(said) == 1 and said[0].endswith("what the last jobs used is not known")
    slurm.steps, slurm.steps_refused = [step(1, "batch", Start=NOW - 2 * HOUR)], False
    slurm.write()
    with runs_of(ask(said, steps=True)) as db:
        assert db.execute("SELECT count(*) FROM step").fetchone() == (1,), "and they are asked for again"


def test_no_more_runs_are_held_than_a_copy_may_have(
    slurm: OwnSlurm, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RUNS", 10)
    slurm.jobs = [run(n, NOW - n * 60) for n in range(1, 31)]
    slurm.write()
    assert numbers(ask(said)) == list(range(1, 11))
    assert len(said) == 1 and said[0].startswith("only the last 10 runs are looked at")


def test_fewer_days_are_asked_for_where_so_many_are_refused(
    slurm: OwnSlurm, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.most_days = 8
    slurm.write()
    assert numbers(ask(said)) == [1]
    assert [line.partition("; ")[2] for line in said] == [
        "asking for 30 days instead of 90", "asking for 7 days instead of 30",
    ]  # fmt: skip
    slurm.write()
    own = ask(said, NOW + 60)
    assert slurm.asked("sacct") == [], "and the answer is good for a day all the same"
    assert (own.since, own.asked_at) == (NOW - 7 * DAY, NOW)


def test_where_slurmdbd_is_away_an_older_copy_is_taken_and_said(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.write()
    ask(said)
    for down in (["sacct"], ["sacct", "scontrol", "sacctmgr"]):
        slurm.down = down
        slurm.write()
        own = ask(said, NOW + 3 * DAY)
        assert numbers(own) == [1] and own.asked_at == NOW and own.cluster == "alpha"
        assert own.problem is not None and "slurmdbd" in own.problem.message


def test_where_slurmdbd_is_away_and_there_is_no_copy_it_is_an_error_with_a_hint(
    slurm: OwnSlurm, said: list[str]
) -> None:
    slurm.down = ["sacct"]
    slurm.write()
    with pytest.raises(AdminkitError, match="slurmdbd") as error:
        ask(said)
    assert "slurmdbd" in error.value.hint
    assert len(slurm.asked("sacct")) == 1, "nobody asks for less of one who does not answer"


def test_a_copy_that_cannot_be_kept_is_used_all_the_same(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.write()
    slurm.copy.parent.parent.write_text("no folder")
    assert numbers(ask(said)) == [1]
    assert "is not kept" in said[-1]


def test_a_record_of_somebody_else_is_not_kept(slurm: OwnSlurm, said: list[str]) -> None:
    """sacct filters by user; should it not, another's run is no history of one's own."""
    slurm.jobs = [run(1, NOW - HOUR), run(2, NOW - HOUR, UID="4711")]
    slurm.ignores_user = True
    slurm.write()
    assert numbers(ask(said)) == [1]


def test_a_release_that_has_other_fields_is_asked_for_them(slurm: OwnSlurm, said: list[str]) -> None:
    slurm.jobs = [run(1, NOW - HOUR)]
    slurm.release, slurm.lacks = "27.05.0", ["Flags"]
    slurm.write()
    assert numbers(ask(said)) == [1]
    probes = [words for words in slurm.asked("sacct") if words == ["--helpformat"]]
    assert len(probes) == 1 and json.dumps(said) == "[]"
