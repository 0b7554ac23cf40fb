"""What rules would have done to recorded jobs, compared with every round that there would have been."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.policy.idle_settings import Idle, settings_of_policy
from adminkit.usage.ladder import Past, look
from adminkit.usage.recorded import Recorded, Span
from adminkit.usage.replay import ROUND, Point, _all_idle, _held, frontier, outcome, rule_of
from adminkit.usage.settings import Settings
from tests.usage.frontier_page import PAGE, page
from tests.usage.made_uses import IDLE, TAILS, made

HOUR = 3600
RULES = settings_of_policy(Idle())


def by_every_round(one: Recorded, rule: Settings) -> tuple[bool, int | None]:
    """As a host does it: every five minutes, as long as the job runs."""
    was_warned, past = False, None
    for now in range(-(-one.start // ROUND) * ROUND, one.end + 1, ROUND):
        act = look(_held(one, now), past, rule, now)
        if act.did == "warned":
            was_warned, past = True, Past(one.start, now)
        elif act.why == "busy":
            past = None
        elif act.did != "nothing":
            return was_warned, now
    return was_warned, None


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("act", "used_before"), [(1800, 1.0), (7200, 2.0), (3600, 4.0)])
def test_only_rounds_after_a_threshold_decide(tail: str, act: int, used_before: float) -> None:
    rule = rule_of(RULES, act, used_before)
    for one in made(60, tail, seed=7):
        assert outcome(one, list(_all_idle(one)), rule) == by_every_round(one, rule), one


@pytest.mark.parametrize(
    ("used", "hours", "act", "at", "why"),
    [
        ([[]], 10, 7200, 7200, "never used"),
        ([[(0, 36_000)]], 10, 7200, None, "always used"),
        ([[(0, 3600)]], 10, 7200, 3600 + 2 * 7200, "it used its GPU, so it has twice as long"),
        (
            [[(0, 3600), (14_400, 14_500)]],
            10,
            7200,
            14_500 + 14_400 + 200,
            "a phase on CPUs that was shorter than that",
        ),
        ([[], [(0, 36_000)]], 10, 7200, None, "one of two is used: nothing ends the run"),
        ([[(0, 900)], [(600, 1200)]], 10, 3600, 1200 + 7200, "since none is used"),
        ([[]], 2, 7200, 7200, "in the last round"),
        ([[]], 1, 7200, None, "it ended before"),
    ],
)
def test_when_something_would_have_been_done(
    used: list[list[Span]], hours: int, act: int, at: int | None, why: str
) -> None:
    one = Recorded("7", 0, hours * HOUR, used)
    assert outcome(one, list(_all_idle(one)), rule_of(RULES, act, 2.0))[1] == at, why


def test_hours_are_regained_or_harmed() -> None:
    """One job hangs after an hour with two GPUs; one works for an hour after a pause of nine."""
    jobs = [
        Recorded("1", 0, 20 * HOUR, [[(0, HOUR)]] * 2),
        Recorded("2", 0, 12 * HOUR, [[(0, HOUR), (36_000, 39_600)]]),
    ]
    found = frontier(jobs, RULES, [7200], [2.0])
    assert found.points == [Point(7200, 2.0, 2, 2, 1, 2 * 15.0, 1.0)]
    assert (found.jobs, found.hours, found.idle, found.last) == (2, 52.0, 38.0 + 9 + 1, 38.0 + 1)
    assert found.points[0].false_share == 0.5
    assert found.best(0.5) == found.points[0] and found.best(0.4) is None


def test_made_jobs_are_idle_as_long_as_is_published() -> None:
    for tail in TAILS:
        shares: dict[float, list[float]] = {}
        for one in made(3000, tail):
            span = one.end - one.start
            most = next(share for limit, share in IDLE if span < limit)
            shares.setdefault(most, []).append(sum(b - a for a, b in _all_idle(one)) / span)
        for share, found in shares.items():
            assert sum(found) / len(found) == pytest.approx(share, abs=0.06), (tail, share)


def test_the_page_is_what_the_made_jobs_give() -> None:
    assert PAGE.read_text() == page(), "python -m tests.usage.frontier_page"


@pytest.mark.usefixtures("no_settings")
def test_a_file_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job that hangs for ten hours, one reading a minute; and one that works."""
    path = tmp_path / "uses.csv"
    rows = [f"{job},G{job},{at},{use}" for job, use in ((1, 0), (2, 90)) for at in range(6000, 42_001, 60)]
    path.write_text("\n".join(["job,gpu,time,percent", *rows, "3,G3,now,1"]))
    assert main(["idle", "--replay", str(path), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    notes = " ".join(found["meta"]["notes"])
    assert "with at most 5.0 % false alarms" in notes and "1 row of the file could not be read: line 1204" in notes
    assert "2 jobs with 20.0 GPU-hours: 10.0 with no GPU of the job in use" in notes
    (row,) = [one for one in found["rows"] if "policy" in (one["mark"] or "")]
    assert (row["act"], row["acted"], row["false"], row["regained"]) == (7200, 1, 0, pytest.approx(8.0, abs=0.1))


@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize("words", [["--replay", "{}/none.csv"], ["--replay", "{}"], ["--replay", "{}", "--apply"]])
def test_what_cannot_be_replayed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["idle", *(word.format(tmp_path) for word in words)]) != 0
    assert "error: " in capsys.readouterr().err
