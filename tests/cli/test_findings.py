"""adminkit findings, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli import findings as command
from adminkit.cli.main import main
from adminkit.findings.finding import SEVERITIES
from adminkit.findings.registry import KINDS
from adminkit.job import Job
from adminkit.trace import sight
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

DAY = 24 * HOUR
UNTIL = MONDAY + 7 * DAY


def run(number: int, end: int, elapsed: int, limit: int = 40 * HOUR, **changes: Any) -> Job:
    start = end - elapsed
    given = {"submit_time": start, "start_time": start, "end_time": end, "elapsed": elapsed, "time_limit": limit}
    return job(number, **{**given, "uid": 1001, "user": "ada", "source": "slurmdbd", "job_name": "train", **changes})


JOBS = [
    run(1, MONDAY + DAY, 2 * HOUR),  # used 2 of 40 hours
    run(2, MONDAY + 2 * DAY, 4 * HOUR, 4 * HOUR, state="TIMEOUT", user="bob", uid=1002, job_name="fit"),
    run(3, MONDAY + 3 * DAY, 3 * HOUR, 4 * HOUR, user="bob", uid=1002, job_name="fit"),
    run(4, MONDAY - DAY, 2 * HOUR),  # the week before
    run(5, MONDAY + DAY, HOUR, time_limit=None, limit_kind="unlimited", user="eve", uid=1003),
]


@pytest.fixture
def trace(no_settings: None, tmp_path: Path) -> Path:
    return make_trace(tmp_path / "t.db", JOBS)


@pytest.fixture
def ask(trace: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    def asked(*words: str) -> list[tuple[str, str, str | None, str | None]]:
        typed = ["findings", "--db", str(trace), "--until", str(UNTIL), "--format", "json", *words]
        assert main(typed) == 0, capsys.readouterr().err
        return [
            (row["kind"], row["verdict"], row["user"], row["run"])
            for row in json.loads(capsys.readouterr().out)["rows"]
        ]

    yield asked


RUN_1 = ("overestimate", "overestimated", "ada", f"1@{JOBS[0].submit_time}")
RUN_2 = ("estimate", "hit_limit", "bob", f"2@{JOBS[1].submit_time}")
WORST = ("week", "worst", "ada", None)


@pytest.mark.parametrize(
    ("words", "expected", "why"),
    [
        ([], [RUN_1, WORST, RUN_2], "what somebody can do better, of seven days, by the hours at stake"),
        (["--kind", "estimate"], [RUN_2], "one kind"),
        (["--user", "ada"], [RUN_1, WORST], "one user's"),
        (["--user", "bob"], [RUN_2], "another's"),
        (["--cluster", "aaic", "-k", "overestimate"], [RUN_1], "a cluster"),
        (["--since", str(MONDAY + 2 * DAY), "-k", "overestimate"], [], "the window begins later"),
        (["--since", str(MONDAY - 2 * DAY), "-k", "overestimate"],
         [("overestimate", "overestimated", "ada", f"4@{JOBS[3].submit_time}"), RUN_1], "and earlier"),
        (["-k", "outbox"], [], "nothing waits"),
        (["-k", "effect"], [], "no letter was sent"),
    ],
)  # fmt: skip
def test_the_findings_of_a_window_are_listed(ask: Any, words: list[str], expected: list[Any], why: str) -> None:
    assert ask(*words) == expected, why


def test_all_are_listed_where_that_is_asked_for_the_worst_first(ask: Any) -> None:
    rows = ask("--severity", "good", "-k", "estimate")
    assert [(verdict, user) for _, verdict, user, _ in rows] == [
        ("hit_limit", "bob"), ("overestimated", "ada"), ("unlimited", "eve"), ("accurate", "bob"),
    ]  # fmt: skip


def test_letters_that_do_not_leave_are_a_finding(trace: Path, ask: Any) -> None:
    add_letters(trace, [letter(state="due", sent_at=None)])
    assert ask("-k", "outbox") == [("outbox", "stuck", None, None)]


def test_what_letters_did_is_a_finding_once_one_was_sent(trace: Path, ask: Any) -> None:
    add_letters(trace, [letter()])
    assert ask("-k", "effect", "--severity", "info") == [("effect", "too few users", None, None)] * 2


def test_a_row_says_of_whom_what_was_compared_and_what_to_do(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "--db", str(trace), "--until", str(UNTIL), "-k", "overestimate", "-f", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["severity"], row["cluster"], row["name"]) == ("warn", "aaic", "train")
    assert "elapsed=7200 req_limit=144000" in row["evidence"] and "used_fraction=0.05" in row["evidence"]
    assert row["advice"] == KINDS["overestimate"].verdicts["overestimated"].advice


def test_others_see_their_own_findings_and_none_that_add_up_over_users(
    trace: Path, ask: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_letters(trace, [letter(1002, state="due", sent_at=None, user="bob")])
    monkeypatch.setattr(sight, "sees_others", lambda path: False)
    monkeypatch.setattr(command, "sees_others", lambda path: False)
    monkeypatch.setattr(sight, "own_name", lambda: "bob")
    assert {user for _, _, user, _ in ask("--severity", "good")} == {"bob"}
    for words, message in (
        (["-k", "outbox"], "only operators may see findings about letters"),
        (["--user", "ada"], "only ada and the operators may see the jobs of ada"),
    ):
        assert main(["findings", "--db", str(trace), *words]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--user", "adda"], "ada"),
        (["--cluster", "aiac"], "aaic"),
        (["--since", "2026-02-01", "--until", "2026-01-01"], "is not after"),
    ],
)
def test_a_slip_is_an_error(trace: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert main(["findings", "--db", str(trace), *words]) in (1, 2)
    assert message in capsys.readouterr().err


def test_the_options_have_the_words_of_the_registry() -> None:
    assert [one.value for one in command.Kind] == list(KINDS)
    assert [one.value for one in command.Least] == list(SEVERITIES)


WINDOWS = [
    (["--since", "2026-01-04", "--until", "2026-01-20"], None, "jobs ended in it"),
    (["--since", "2026-02-01"], "the last in the trace ended at 2026-01-08", "after the last end"),
]


@pytest.mark.parametrize(("typed", "note", "why"), WINDOWS)
def test_a_window_in_which_nothing_ended_is_no_good_news(
    trace: Path, typed: list[str], note: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["findings", "--db", str(trace), "-f", "json", *typed]) == 0
    notes = json.loads(capsys.readouterr().out)["meta"]["notes"]
    assert [one for one in notes if "no job ended" in one and (note or "") in one] == (notes[:1] if note else []), why


def test_an_empty_trace_has_no_job_that_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_trace(tmp_path / "empty.db")
    assert main(["findings", "--db", str(tmp_path / "empty.db"), "-f", "json"]) == 0
    assert "no job ended in this window, nor in the whole trace" in capsys.readouterr().out


def test_people_are_shown_a_few_of_a_kind_and_programs_all(
    no_settings: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_trace(tmp_path / "t.db", [run(n, MONDAY + DAY, HOUR, job_name=f"n{n}") for n in range(1, 41)])
    shown = {}
    for words in (["-f", "table"], ["-f", "csv"], ["-f", "json"], ["-f", "csv", "--most", "7"], ["--most", "0"]):
        assert main(["findings", "--db", str(path), "--until", str(UNTIL), "-k", "overestimate", *words]) == 0
        shown[" ".join(words)] = capsys.readouterr().out.count(",overestimate," if "csv" in words else "ask for a sh")
    assert shown == {"-f table": 10, "-f csv": 40, "-f json": 40, "-f csv --most 7": 7, "--most 0": 40}


def test_a_table_of_nothing_has_no_columns(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "--db", str(trace), "--until", str(UNTIL), "-k", "effect"]) == 0
    out = capsys.readouterr().out
    assert "nothing found" in out and "\nseverity" not in out
