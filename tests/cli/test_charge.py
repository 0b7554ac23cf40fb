"""`adminkit charge`: preview, close once, statement, verify; who sees what; mistakes in the file of schemes."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.trace import ledger
from adminkit.trace.actions import record_actions
from adminkit.trace.connect import writer
from adminkit.trace.windows import RecordedWindow, record
from tests.support.builders import HOUR, job, make_trace
from tests.support.charges import schemes

JANUARY, FEBRUARY = 1_767_225_600, 1_769_904_000  # of 2026, UTC


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace of January 2026, and a charge.toml."""
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "t.db"))
    monkeypatch.setenv("ADMINKIT_ACTS", str(tmp_path / "acts.jsonl"))
    monkeypatch.setattr("time.time", lambda: 1_780_000_000.0)
    jobs = [job(1), job(2, user="bob", account=None, elapsed=2 * HOUR), job(3, gpus=None, source="text")]
    path = make_trace(tmp_path / "t.db", jobs)
    with writer(path) as db:
        record(db, "aaic", "job", RecordedWindow(JANUARY, FEBRUARY + HOUR, False, FEBRUARY + HOUR))
    return schemes(tmp_path, digits=2)


@pytest.fixture
def run(site: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """run(words): the exit code, and the rows of the JSON or the error."""

    def typed(words: str) -> tuple[int, Any]:
        named = [] if "statement" in words else ["--schemes", str(site)]
        code = main(["charge", *words.split(), *named, "-f", "json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else err

    return typed


def test_a_month_is_previewed_closed_once_and_told(run: Any) -> None:
    code, found = run("preview")
    assert (code, [row["amount"] for row in found["rows"]]) == (0, ["3600.00", "7200.00", "10800.00"])
    assert "nothing was written" in found["meta"]["notes"][-1]
    assert run("statement")[1]["rows"] == []
    assert "nothing was written" in run("close 2026-01")[1]["meta"]["notes"][-1]
    note = run("close 2026-01 --apply")[1]["meta"]["notes"][-1]
    head = note.rpartition(" ")[2]
    assert note.startswith("2026-01 is closed: 3 entries") and len(head) == 64
    again = run("close 2026-01 --apply")[1]
    assert "closed already" in again["meta"]["notes"][0]
    rows = run("statement")[1]["rows"]
    assert rows == again["rows"]
    assert [(row["user"], row["account"], row["amount"]) for row in rows[:2]] == [
        ("ada", "vision", "3600.00"),
        ("bob", None, "7200.00"),
    ]
    assert [row["amount"] for row in run("statement --user bob --entries")[1]["rows"]] == ["7200.00"]
    code, found = run(f"verify --head {head}")
    assert (code, {row["result"] for row in found["rows"]}) == (0, {"ok"})
    code, found = run("verify --head 0123456789ab")
    assert (code, found["rows"][3]["result"]) == (1, "wrong")


def acts_of(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]


def rewrite(path: Path) -> None:
    """The ledger, whole, at a tenth of its amounts, with hashes and the acts of the trace that fit, by its owner."""
    with writer(path) as db:
        found = [entry for _, entry, _, _ in ledger.entries(db)]
        triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'ledger%'"
        for (name,) in db.execute(triggers).fetchall():
            db.execute(f"DROP TRIGGER {name}")
        (line,) = db.execute("SELECT line FROM action").fetchone()
        db.execute("DELETE FROM ledger")
        db.execute("DELETE FROM action")
        cheap = [replace(entry, amount=str(Decimal(entry.amount) / 10)) for entry in found]
        record_actions(db, [{**json.loads(line), "generation": ledger.append(db, cheap).hash}])


def test_a_rewritten_ledger_is_told_by_the_log_of_the_host(run: Any, tmp_path: Path) -> None:
    head = run("close 2026-01 --apply")[1]["meta"]["notes"][-1].rpartition(" ")[2]
    (act,) = acts_of(tmp_path)
    assert (act["what"], act["month"], act["entries"], act["generation"]) == ("charge close", "2026-01", 3, head)
    assert [row["result"] for row in run("verify")[1]["rows"]] == ["ok"] * 5
    run("close 2026-01 --apply")
    assert len(acts_of(tmp_path)) == 1, "nothing was done, and nothing is written"
    rewrite(tmp_path / "t.db")
    code, found = run("verify")
    results = {row["check"]: row["result"] for row in found["rows"]}
    assert (code, results) == (1, {"chain": "ok", "bills": "ok", "schemes": "ok", "heads": "wrong"})
    (tmp_path / "acts.jsonl").unlink()
    assert run("verify")[0] == 0, "whoever writes the trace and the log writes what was charged"


def test_a_close_is_done_where_no_log_can_be_written(run: Any, tmp_path: Path) -> None:
    (tmp_path / "acts.jsonl").mkdir()
    notes = run("close 2026-01 --apply")[1]["meta"]["notes"]
    assert "this host's action log does not record it: couldn't record actions in" in notes[-2]
    assert "is closed: 3 entries" in notes[-1]
    assert run("verify")[0] == 0


DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("windows", "last", "says", "why"),
    [
        ([(0, 31 * DAY, 31 * DAY)], None, "", "sync asked for all of it"),
        ([(0, 26 * DAY, 26 * DAY)], None, "ends at 2026-01-27T00:00:00, 2026-01 at 2026-02-01", "five days short"),
        ([(0, 10 * DAY, 40 * DAY), (12 * DAY, 40 * DAY, 40 * DAY)], None, "48 h of 2026-01 are missing", "a hole"),
        ([(0, 26 * DAY, 26 * DAY), (26 * DAY, 400 * DAY, 400 * DAY)], None, "ends at 2026-01-27", "a fast clock"),
        ([], 30 * DAY + 20 * HOUR, "", "an import whose last job ended on the last day"),
        ([], 26 * DAY, "ends at 2026-01-27T00:00:00", "an import that ends five days before the month does"),
        ([], 33 * DAY, "", "an import that has later jobs"),
    ],
)
def test_a_month_that_the_trace_does_not_have_whole_is_closed_when_told_so(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: list[tuple[int, int, int]], last: int | None,
    says: str, why: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("time.time", lambda: float(JANUARY + 60 * DAY))
    with writer(tmp_path / "t.db") as db:
        db.execute("DELETE FROM window")
        if last is not None:
            db.execute("UPDATE job SET end_time = ? WHERE job_id_raw = 2", (JANUARY + last,))
        for since, until, asked_at in windows:
            record(db, "aaic", "job", RecordedWindow(JANUARY + since, JANUARY + until, False, JANUARY + asked_at))
    code, found = run("close 2026-01 --apply")
    assert (code, says in str(found)) == (1 if says else 0, True), (why, found)
    if says:
        assert "--incomplete closes it as it is" in found
        assert run("statement")[1]["rows"] == [], "nothing was written"
        assert run("close 2026-01 --apply --incomplete")[0] == 0


def test_a_statement_takes_the_alias_of_a_cluster(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMINKIT_REPORT_ALIASES", "fed=aaic+beta")
    run("close 2026-01 --apply")
    assert len(run("statement --cluster fed")[1]["rows"]) == 3
    assert run("statement --cluster beta")[1]["rows"] == []


def test_jobs_that_cannot_be_charged_are_listed_with_the_reason(run: Any) -> None:
    found = run("preview --not-chargeable")[1]
    assert found["rows"] == [
        {"reason": "its rows are from a file that nobody vouched for", "jobs": 1, "cluster": "aaic", "job": "3"}
    ]


WRONG = [
    ("version = 1", "version = 2", "version: this release of adminkit knows version 1"),
    ('scheme = "test"', 'scheme = "tset"', "no such scheme: tset"),
    ('scheme = "test"', 'schme = "test"', "no such key: schme"),
    ("digits = 2", "digits = 7", "schemes.test.digits is not 0 to 6"),
    ("digits = 2", "rounding = [1]", "schemes.test.rounding: no such rounding: [1]"),
    ("digits = 2", 'rounding = "odd"', "schemes.test.rounding: no such rounding: odd"),
    ('"elapsed"', '"elapse"', "schemes.test.formula: elapse is not a name that a formula knows"),
    ('"elapsed"', "\"__import__('os')\"", "schemes.test.formula: ' is not allowed in a formula"),
    ('unit = "points"', 'unit = ""', "schemes.test.unit: no unit"),
    ('unit = "points"', 'unit = "\\u001b[31m"', "schemes.test.unit: no unit"),
    ('scheme = "test"', 'scheme = "test"\ntimezone = "Asia/Tokio"', "this host knows no time zone Asia/Tokio"),
    ('scheme = "test"', 'scheme = "test"\ntimezone = "../../etc/passwd"', "this host knows no time zone"),
    ("digits = 2", "[schemes.test.weights.qos]\nhigh = inf", "schemes.test.weights.qos.high is not a weight"),
    ("digits = 2", '[schemes.test.weights.qos]\nhigh = "1e999999"', "schemes.test.weights.qos.high is not a weight"),
    ("digits = 2", "[schemes.test.weights.user]\nada = 0", "schemes.test.weights: no such key: user"),
]


@pytest.mark.parametrize(("before", "after", "says"), WRONG)
def test_a_mistake_names_the_key(run: Any, site: Path, before: str, after: str, says: str) -> None:
    text = site.read_text()
    assert before in text
    site.write_text(text.replace(before, after, 1))
    code, error = run("preview")
    assert code in (1, 2)
    assert says in error and "hint: " in error and "\x1b" not in error


MISTYPED = [
    ("close 2026-13", "not a month: 2026-13"),
    ("close 2026-06", "2026-06 is not over"),
    ("verify --head x');DROP", "not a hash"),
    ("preview 2027-01", "2027-01 is not over"),
]


@pytest.mark.parametrize(("words", "says"), MISTYPED)
def test_a_word_that_is_wrong_is_told(run: Any, words: str, says: str) -> None:
    code, error = run(words)
    assert code in (1, 2) and says in error


def test_an_empty_trace_has_nothing_to_charge(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(make_trace(tmp_path / "empty.db")))
    assert run("preview")[1]["rows"] == []
    assert run("statement")[1]["rows"] == []
    assert {row["result"] for row in run("verify")[1]["rows"]} == {"ok"}
