"""What was loaded and what was done: `adminkit trace history`."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.reports.history import history_report
from adminkit.stats.history import Event
from adminkit.trace.actions import record_actions
from adminkit.trace.load_log import record_load
from tests.support.builders import make_trace

DAY = 86_400
START = 1_790_000_000
INSTALL = {
    "at": START + DAY, "host": "head", "who": "root", "for": "alice", "what": "policy install", "generation": "ccd7",
    "before": "b251", "hosts": {"head": "confirmed", "backup": "the same"}, "table": "policy", "release": "0.1.0",
}  # fmt: skip
#: An escape sequence, a line break, HTML, and what a spreadsheet would run.
HOSTILE = "\x1b[31m=cmd|'x'\n<script>alert(1)</script>"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADMINKIT_CONFIG", "")
    path = make_trace(tmp_path / "trace.db", [])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM load")
        record_load(db, "sync", "sacct alpha", "alpha", START, 2.5, (10, 7, 2, 1, 0))
        record_actions(db, [INSTALL])
        record_load(db, "import", "old.txt", None, START + 2 * DAY, 0.5, (3, 3, 0, 0, 0))
    return path


def rows(trace: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["trace", "history", "--db", str(trace), "--format", "json", *words]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def test_loads_and_actions_are_in_one_order_the_newest_first(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(trace, capsys)
    assert [(one["at"], one["kind"], one["what"]) for one in found] == [
        (START + 2 * DAY, "load", "import"),
        (START + DAY, "action", "policy install"),
        (START, "load", "sync"),
    ]
    assert {key: found[2][key] for key in ("cluster", "source", "rows", "new", "changed", "rejected", "seconds")} == {
        "cluster": "alpha", "source": "sacct alpha", "rows": 10, "new": 7, "changed": 2, "rejected": 1, "seconds": 2,
    }  # fmt: skip
    assert (found[1]["host"], found[1]["who"], found[1]["generation"]) == ("head", "root", "ccd7")
    details = "before b251; for alice; hosts backup the same, head confirmed; table policy"
    assert found[1]["details"] == details
    assert (found[1]["rows"], found[2]["who"]) == (None, None), "what only the other kind has is unknown"


@pytest.mark.parametrize(
    ("words", "kinds", "why"),
    [
        ((f"--since={START + DAY}",), ["import", "policy install"], "the moment itself counts"),
        ((f"--since={START + DAY + 1}",), ["import"], "an action before it does not"),
        ((f"--since={START + 9 * DAY}",), [], "nothing since"),
        (("--limit=2",), ["import", "policy install"], "the newest"),
        ((f"--since={START}", "--limit=1"), ["import"], "both"),
    ],
)
def test_since_and_limit(
    trace: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], kinds: list[str], why: str
) -> None:
    assert [one["what"] for one in rows(trace, capsys, *words)] == kinds, why


@pytest.mark.parametrize("format", ["table", "csv", "markdown", "html"])
def test_a_hostile_name_is_text_in_every_format(trace: Path, capsys: pytest.CaptureFixture[str], format: str) -> None:
    with closing(sqlite3.connect(trace)) as db, db:
        record_load(db, "import", HOSTILE, None, START, 1.0, (1, 1, 0, 0, 0))
        record_actions(db, [{**INSTALL, "who": HOSTILE, "hosts": {HOSTILE: HOSTILE}}])
    assert main(["trace", "history", "--db", str(trace), "--format", format]) == 0
    said = capsys.readouterr().out
    if format == "csv":  # which carries what is there, quoted
        assert {len(row) for row in csv.reader(io.StringIO(said))} == {15}
    else:
        assert "\x1b" not in said
        assert "<script>" not in said or format == "table"


@pytest.mark.parametrize(
    ("line", "details"),
    [
        (None, None),
        ("{ no JSON", "{ no JSON"),
        ("[1, 2]", None),
        ('{"letters": {"sent": 3, "refused": [1, 2]}, "before": null}', "letters sent 3, refused 1, 2"),
        ('{"what": "feedback on"}', None),
    ],
)
def test_what_is_on_record_besides(line: str | None, details: str | None) -> None:
    blank: dict[str, Any] = dict.fromkeys(Event.__slots__)
    report = history_report([Event(**{**blank, "at": 1, "kind": "action", "line": line})], None, 9, "trace.db")
    assert report.rows[0][-1] == details


def test_how_many_more_there_may_be_is_said(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "history", "--db", str(trace), "--limit", "2"]) == 0
    assert "the newest 2; --limit shows more" in capsys.readouterr().out
