"""doctor on letters: off, in order, and what is in the way."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.doctor.letters import letters
from tests.feedback.site import folder, settings
from tests.support.builders import add_letters, letter, make_trace

NOW = int(time.time())


def lines(path: Path, chosen: Config) -> dict[str, tuple[str, str, str]]:
    return {check.name: (check.status, check.found, check.hint) for check in letters(chosen, path)}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    folder(tmp_path)
    return make_trace(tmp_path / "t.db", [])


def test_letters_that_are_off_are_one_line(trace: Path) -> None:
    assert lines(trace, Config()) == {"letters": ("ok", "off: [feedback] clusters names no cluster", "")}


@pytest.mark.parametrize(
    ("changes", "name", "status", "says"),
    [
        ({}, "letters", "ok", "aaic by localhost:25"),
        ({}, "outbox", "ok", "no letter has been sent yet"),
        ({"operators": ()}, "letters", "warn", "aaic by localhost:25"),
        ({"domains": ("lab.example",)}, "letters", "warn", "no letter may go to example.org"),
        ({"sender": "no address"}, "letters", "warn", "sender is not an email address"),
        ({"login": Path("/none")}, "letters", "warn", "login would be sent unencrypted"),
        ({"via": "directory"}, "letters", "warn", "needs a folder"),
        ({"sender": "adminkit@localhost"}, "senders", "warn", "sender is adminkit@localhost"),
        ({"sender": "adminkit@login1"}, "senders", "warn", "bounces and replies reach nobody"),
        ({"sender": "a@lab.example", "reply_to": "a@localhost"}, "senders", "warn", "reply_to is a@localhost"),
        ({"sender": "a@lab.example", "reply_to": None, "unsubscribe": None}, "senders", "warn", "has to read it"),
        (
            {"sender": "a@lab.example", "reply_to": "b@lab.example", "unsubscribe": None},
            "senders",
            "ok",
            "b@lab.example",
        ),
        (
            {"sender": "a@lab.example", "unsubscribe": "https://lab.example/x"},
            "senders",
            "ok",
            "at https://lab.example/x",
        ),
        ({"sender": "a@lab.example", "unsubscribe": "mailto:b@localhost"}, "senders", "warn", "which reaches nobody"),
        ({"prefs": Path("/etc/hostname")}, "choices", "warn", "is not a folder"),
        ({"prefs": Path("/nosuch/prefs")}, "choices", "ok", "does not exist yet"),
    ],
)
def test_each_line(trace: Path, changes: dict[str, Any], name: str, status: str, says: str) -> None:
    found = lines(trace, settings(**changes))[name]
    assert found[0] == status
    assert says in found[1]


def test_letters_that_are_stuck_or_refused(trace: Path) -> None:
    old = {"sent_at": None, "claimed_at": NOW - 60}
    add_letters(
        trace,
        [
            letter(run="1@1", state="due", due_at=NOW - 60, **old),
            letter(run="2@1", state="due", due_at=NOW - 86_400, **old),
            letter(run="3@1", state="refused", due_at=NOW - 86_400, **old),
            letter(run="4@1", state="refused", due_at=NOW - 30 * 86_400, **old),
        ],
    )
    status, found, hint = lines(trace, settings())["outbox"]
    assert (status, hint) == ("warn", "adminkit feedback status --letters says why")
    assert found.startswith(
        "2 waiting, 1 of them for more than 6 h, 1 refused this week; a letter was last sent or tried"
    )


def test_a_trace_that_is_not_there_is_a_line(tmp_path: Path) -> None:
    assert lines(tmp_path / "none.db", replace(settings()))["outbox"][0] == "warn"
