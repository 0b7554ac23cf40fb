"""adminkit feedback …, as it is typed."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.feedback.prefs import Prefs, read, write
from adminkit.trace import outbox
from adminkit.trace.connect import writer
from adminkit.trace.lock import only_one
from tests.feedback.server import Postbox, mail_server
from tests.feedback.site import DAY, close, ended, opened, synced
from tests.support.builders import HOUR
from tests.support.fakes import Programs

#: The commands ask the clock themselves.
WHEN = int(time.time())


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ADMINKIT_DB", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    monkeypatch.setattr("adminkit.users.name_of", {1001: "ada", 1002: "bob"}.get)
    say(tmp_path)


def say(path: Path, **changes: object) -> None:
    """The site's file, with these settings of [feedback]."""
    given = {"clusters": ["aaic"], "domain": "example.org", "quiet_days": [], "digest": False, **changes}
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None]
    (path / "adminkit.toml").write_text("[feedback]\n" + "\n".join(lines) + "\n")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ada's job ended an hour ago, bob's two, after letters were switched on yesterday; both wasted much."""
    jobs = []
    for number, user, uid in ((1, "ada", 1001), (2, "bob", 1002)):
        end = WHEN - number * HOUR
        times = {"submit_time": end - HOUR - 60, "start_time": end - HOUR, "end_time": end}
        jobs.append(ended(number, user=user, uid=uid, queue="gq", **times))
    return synced(tmp_path / "t.db", jobs, on=WHEN - DAY)


def typed(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> tuple[str, str]:
    """(stdout, stderr) of a command."""
    assert main([str(word) for word in ("feedback", *words)]) == code
    said = capsys.readouterr()
    return said.out, said.err


def rows(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> list[dict[str, object]]:
    return list(json.loads(typed(capsys, *words, "-f", "json", code=code)[0])["rows"])


def test_a_preview_shows_what_would_go_out_and_notes_nothing(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = trace.read_bytes()
    found = rows(capsys, "preview", "--db", trace)
    assert [(row["user"], row["kind"], row["address"]) for row in found] == [
        ("ada", "end", "ada@example.org"),
        ("bob", "end", "bob@example.org"),
    ]
    assert all("train" in str(row["subject"]) for row in found), "the subject names the job"
    assert rows(capsys, "run", "--db", trace) == found, "so does a run without --send"
    table = list(csv.DictReader(io.StringIO(typed(capsys, "preview", "--db", trace, "-f", "csv")[0])))
    assert [row["user"] for row in table] == ["ada", "bob"]
    assert trace.read_bytes() == before
    assert not (tmp_path / "prefs").exists()


def test_a_preview_as_text_and_as_files(trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text, _ = typed(capsys, "preview", "--db", trace, "--text", "--user", "ada", "--out", tmp_path / "out")
    assert text.startswith("To: ada@example.org\nSubject: ")
    assert "bob" not in text
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    end = WHEN - HOUR
    assert names == [f"end-1@{end - HOUR - 60}-aaic.eml", f"end-1@{end - HOUR - 60}-aaic.html"]
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0, "letters are nobody else's"


def test_run_sends_and_status_and_resend_tell(trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    box = Postbox([("RCPT", "550 no such user")])
    with mail_server(box) as port:
        say(tmp_path, host="localhost", port=port)
        (row,) = rows(capsys, "run", "--db", trace, "--send")
        assert (row["sent"], row["refused"], row["waiting"]) == (1, 1, 0)
        assert rows(capsys, "run", "--db", trace, "--send")[0]["sent"] == 0
        assert "clusters  aaic\n" in typed(capsys, "run", "--db", trace, "--send")[0]
        counts = {str(row["state"]): row["letters"] for row in rows(capsys, "status", "--db", trace)}
        assert counts == {"sent": 1, "refused": 1}
        (bad,) = rows(capsys, "status", "--letters", "--db", trace)
        assert (bad["state"], bad["said"]) == ("refused", "550 no such user")
        assert len(rows(capsys, "resend", "--refused", "--db", trace)) == 1
        assert len(box.letters) == 1, "nothing without --send"
        assert rows(capsys, "resend", str(bad["run"]), "--db", trace, "--send")[0]["sent"] == 1
    assert sorted(to[0] for to, _ in box.letters) == ["ada@example.org", "bob@example.org"]


def test_a_server_that_is_away_is_an_error_and_the_letters_are_kept(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    say(tmp_path, host="localhost", port=1)
    _, err = typed(capsys, "run", "--db", trace, "--send", code=1)
    assert "error: couldn't send letters: localhost:1: connection refused" in err
    assert "they stay in the outbox" in err
    with opened(trace) as db:
        assert len(outbox.find(db, ["due"])) == 2


def test_a_letter_that_cannot_be_written_is_named_with_exit_code_1_and_the_others_go(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "end.txt.j2").write_text("{% if user == 'ada' %}{{ limt }}{% endif %}Subject: x\n\ny\n")
    box = Postbox()
    with mail_server(box) as port:
        say(tmp_path, host="localhost", port=port, templates=str(templates))
        out, _ = typed(capsys, "run", "--db", trace, "--send", "-f", "json", code=1)
    said = json.loads(out)
    assert [(row["sent"], row["broken"]) for row in said["rows"]] == [(1, 1)]
    (note,) = [one for one in said["meta"]["notes"] if "couldn't be written" in one]
    assert note.startswith(f"the letter aaic 1@{WHEN - 2 * HOUR - 60} end")
    assert [to for to, _ in box.letters] == [["bob@example.org"]]


@pytest.mark.parametrize(
    ("sacctmgr", "charge", "said"),
    [
        ("echo it broke >&2; exit 1", True, "couldn't ask who coordinates vision: couldn't run sacctmgr: it broke"),
        ("printf 'x|y\\n\\037 7=\\n'", True, "couldn't ask who coordinates vision: couldn't read"),
        ("exit 1", False, "budgets are not checked: "),
    ],
)
def test_a_budget_that_cannot_be_looked_at_is_named_with_exit_code_1_and_the_letters_go(
    trace: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sacctmgr: str,
    charge: bool,
    said: str,
) -> None:
    Programs(tmp_path / "bin", monkeypatch).add("sacctmgr", sacctmgr)
    with writer(trace) as db:
        close(db, "2026-01", [("ada", "vision", "85.00")], WHEN - HOUR)
    schemes = 'scheme = "s"\n[schemes.s]\nformula = "node_hours"\nunit = "points"\n'
    (tmp_path / "charge.toml").write_text(
        f"version = 1\n{schemes}[[budgets]]\naccount = 'vision'\namount = 100\nfrom = '2026-01'\n"
    )
    box = Postbox()
    with mail_server(box) as port:
        say(tmp_path, host="localhost", port=port, statements=True, operators=["ops@example.org"])
        named = tmp_path / ("charge.toml" if charge else "none.toml")
        settings = (tmp_path / "adminkit.toml").read_text()
        (tmp_path / "adminkit.toml").write_text(f"charge = {json.dumps(str(named))}\n{settings}")
        out, _ = typed(capsys, "run", "--db", trace, "--send", "-f", "json", code=1)
    assert [one for one in json.loads(out)["meta"]["notes"] if one.startswith(said)], out
    assert {to[0] for to, _ in box.letters} >= {"ada@example.org", "bob@example.org"}, "what they ran, and a statement"


def test_two_runs_at_a_time_do_not_happen(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with only_one(trace.with_name(f"{trace.name}-outbox"), "adminkit feedback"):
        _, err = typed(capsys, "run", "--db", trace, "--send", code=1)
    assert "another run is at work" in err
    with opened(trace) as db:
        assert outbox.find(db, outbox.STATES) == []


@pytest.mark.parametrize(
    ("changes", "words", "message", "hint"),
    [
        ({"clusters": []}, ["run", "--send"], "letters are off: [feedback] clusters names no", "in adminkit.toml"),
        ({"via": "directory"}, ["run", "--send"], 'via = "directory" needs a folder', "directory"),
        ({"addresses": "/nonexistent"}, ["preview"], "couldn't read /nonexistent", "addresses"),
        ({}, ["resend"], "which letters?", "status --letters"),
        ({}, ["resend", "9@9"], "no such letter: 9@9", ""),
        ({}, ["test", "nobody"], "nobody is not an email address", "ada@example.org"),
    ],
)
def test_what_cannot_be_done_is_said(
    trace: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    changes: dict[str, object],
    words: list[str],
    message: str,
    hint: str,
) -> None:
    say(tmp_path, **changes)
    db = [] if words[0] == "test" else ["--db", str(trace)]
    assert main(["feedback", *words, *db]) in (1, 2)
    err = capsys.readouterr().err
    assert message in err and hint in err


def test_feedback_alone_is_a_preview(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(trace))
    out, _ = typed(capsys)
    assert "Letters that are due" in out and "bob@example.org" in out


def test_more_than_may_go_out_at_once_is_told_and_may_be_allowed(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    box = Postbox()
    with mail_server(box) as port:
        say(tmp_path, host="localhost", port=port, max_letters=1)
        said = json.loads(typed(capsys, "run", "--db", trace, "--send", "-f", "json")[0])
        assert said["rows"][0]["sent"] == 0
        assert "more than max_letters = 1" in str(said["meta"])
        assert rows(capsys, "run", "--db", trace, "--send", "--max-letters", "2")[0]["sent"] == 2


def test_users_choose_for_themselves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "prefs"
    say(tmp_path, prefs=str(folder))
    _, err = typed(capsys, "prefs", "--letters", "week", code=1)
    assert "there is no folder" in err
    folder.mkdir(mode=0o700)
    typed(capsys, "prefs", "--letters", "week", "--no-hints")
    typed(capsys, "prefs", "--language", "ja", "--address", "me@example.org")
    me = os.getuid()
    assert read(folder, me).prefs == Prefs("week", "ja", "me@example.org", False)
    (row,) = rows(capsys, "prefs")
    assert row == {
        "letters": "week", "language": "ja", "address": "me@example.org", "hints": "no", "plan": "yes", "chat": None,
    }  # fmt: skip
    typed(capsys, "prefs", "--reset")
    assert read(folder, me).prefs == Prefs()
    _, err = typed(capsys, "prefs", "--letters", "nevr", code=2)
    assert "never" in err
    _, err = typed(capsys, "prefs", "--address", "a@b\nc", code=2)
    assert "not an email address" in err


def test_users_cannot_choose_a_stranger_and_are_told_where_they_have(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder, me = tmp_path / "prefs", os.getuid()
    folder.mkdir(mode=0o700)
    say(tmp_path, prefs=str(folder), domains=["example.org", "*.example.org"])
    typed(capsys, "prefs", "--address", "me@lab.example.org")
    _, err = typed(capsys, "prefs", "--address", "me@stranger.example", code=2)
    assert "letters cannot be sent to me@stranger.example" in err and "example.org, *.example.org" in err
    assert read(folder, me).prefs.address == "me@lab.example.org"
    write(folder, me, Prefs(address="me@stranger.example"))
    out, _ = typed(capsys, "prefs")
    assert "you get no letters: me@stranger.example is not in an allowed domain" in out
    say(tmp_path, prefs=str(folder), addresses=str(tmp_path / "unreadable"))
    out, _ = typed(capsys, "prefs", "--address", "me@stranger.example")
    assert "no letters" not in out, "the site decides when it sends"


def test_a_trial_letter_is_shown_and_sent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    box = Postbox()
    with mail_server(box) as port:
        say(tmp_path, host="localhost", port=port)
        out, err = typed(capsys, "test", "ops@example.org")
        assert "To: ops@example.org" in out and "add --send to send it" in err
        assert box.letters == []
        out, _ = typed(capsys, "test", "ops@example.org", "--send")
        assert out == f"localhost:{port}: 250 taken\n"
    assert len(box.letters) == 1


def test_what_a_mail_server_says_does_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, trace: Path
) -> None:
    program = tmp_path / "sendmail"
    program.write_text("#!/bin/sh\ncat >/dev/null\nprintf 'queued\\033[2J' >&2\n")
    program.chmod(0o755)
    say(tmp_path, via="sendmail", sendmail=str(program))
    out, _ = typed(capsys, "test", "ops@example.org", "--send")
    assert out == f"{program}: queued\\x1b[2J\n"
    typed(capsys, "run", "--send", "--db", trace)
    out, _ = typed(capsys, "status", "--letters", "--all", "--db", trace)
    assert "queued\\x1b[2J" in out and "\x1b[2J" not in out
