"""Letters about charges: who gets a statement or hears of a budget, once, and what it says."""

from __future__ import annotations

import pwd
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback.calendar import last_week
from adminkit.feedback.compose import Composer, compose
from adminkit.feedback.letter import BudgetLetter, OperatorLetter, StatementLetter
from adminkit.feedback.plan import plan
from adminkit.feedback.planned import due_of
from adminkit.feedback.recipients import People
from adminkit.feedback.sample import sample
from adminkit.messages import LANGUAGES
from adminkit.recommend.menu import MENU, RISK, Offer
from adminkit.slurm.coordinators import parse_coordinators
from adminkit.slurm.process import ask
from adminkit.trace import outbox
from adminkit.trace.connect import writer
from adminkit.trace.windows import set_fact
from adminkit.users import name_of
from tests.feedback import site
from tests.feedback.site import CLOSED, DAY, NOW, close, people, synced
from tests.support.japanese import spaces

OFFER = Offer(MENU, RISK, None)
HOSTILE = "$x$<script>|`x`</script>"


def settings(folder: Path, budgets: str = "", **changes: Any) -> Config:
    file = folder / "charge.toml"
    file.write_text('version = 1\nscheme = "s"\n[schemes.s]\nformula = "node_hours"\nunit = "points"\n' + budgets)
    return replace(site.settings(digest=False, statements=True, **changes), charge=file)


def budget(account: str = "vision", amount: float = 100, since: str = "2026-01") -> str:
    return f"[[budgets]]\naccount = {account!r}\namount = {amount}\nfrom = '{since}'\n"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with writer(synced(tmp_path / "t.db", on=NOW - 30 * DAY)) as trace:
        yield trace


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sacctmgr that prints the lines of this file that are of the account that it is asked for."""
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    said.write_text("")
    program = folder / "sacctmgr"
    program.write_text(
        f'#!/bin/sh\nfor word; do case "$word" in name=*) grep "^${{word#name=}}|" {said};; esac; done\nexit 0\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return said


def letters(db: sqlite3.Connection, chosen: Config, tmp_path: Path) -> list[Any]:
    return [one.due for one in plan(db, chosen, people(chosen), site.folder(tmp_path), NOW).letters]


def test_each_user_of_the_bill_gets_one_statement(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    close(db, "2026-01", [("ada", "vision", "1.50"), ("ada", "late", "2.00"), ("bob", "vision", "3.00"),
                          ("svc", "vision", "9.00"), ("nobody-known", "vision", "9.00")])  # fmt: skip
    chosen = settings(tmp_path)
    found = letters(db, chosen, tmp_path)
    assert [(type(one), one.user, one.week, one.run) for one in found] == [
        (StatementLetter, "ada", "2026-01", "2026-01/1001"), (StatementLetter, "bob", "2026-01", "2026-01/1002"),
    ]  # fmt: skip
    planned = plan(db, chosen, people(chosen), site.folder(tmp_path), NOW)
    assert planned.left_out == {"unknown": 1, "service": 1}
    outbox.put(db, [one.entry(NOW) for one in planned.letters])
    assert letters(db, chosen, tmp_path) == [], "once for each month"
    assert {due_of(one).key for one in outbox.find(db, ["due"])} == {one.key for one in found}
    assert due_of(outbox.find(db, ["due"], ["ada"])[0]) == found[0]


@pytest.mark.parametrize(
    ("at", "changes", "many", "why"),
    [
        (CLOSED, {}, 1, "closed since letters are on"),
        (NOW - 31 * DAY, {}, 0, "closed before letters were switched on"),
        (CLOSED, {"statements": False}, 0, "not wanted by the site"),
        (CLOSED, {"exclude_users": ("ada",)}, 0, "excluded"),
    ],
)
def test_when_a_statement_is_due(
    db: sqlite3.Connection, tmp_path: Path, slurm: Path, at: int, changes: dict[str, Any], many: int, why: str
) -> None:
    close(db, "2026-01", [("ada", "vision", "1.50")], at)
    assert (
        len(
            letters(db, replace(settings(tmp_path), feedback=replace(settings(tmp_path).feedback, **changes)), tmp_path)
        )
        == many
    ), why


def test_only_the_last_month_is_told(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    close(db, "2026-01", [("ada", "vision", "1.50")], CLOSED - 60)
    close(db, "2026-02", [("bob", "vision", "2.50")])
    assert [(one.user, one.week) for one in letters(db, settings(tmp_path), tmp_path)] == [("bob", "2026-02")]


#: spent, the marks, who is told of which percentage
MARKS: list[tuple[str, tuple[float, ...], list[int], str]] = [
    ("79.99", (0.8, 1.0), [], "below the first mark"),
    ("80.00", (0.8, 1.0), [80], "at it"),
    ("99.99", (0.8, 1.0), [80], "below the second"),
    ("100.00", (0.8, 1.0), [100], "at the second: one letter, of the higher mark"),
    ("250.00", (0.8, 1.0), [100], "far beyond"),
    ("250.00", (), [], "no marks"),
    ("50.00", (0.5,), [50], "a mark of the site's own"),
]


@pytest.mark.parametrize(("amount", "marks", "told", "why"), MARKS, ids=[case[3] for case in MARKS])
def test_a_budget_is_told_at_its_marks(
    db: sqlite3.Connection,
    tmp_path: Path,
    slurm: Path,
    amount: str,
    marks: tuple[float, ...],
    told: list[int],
    why: str,
) -> None:
    """To the operators, where the account has no coordinator."""
    close(db, "2026-01", [("ada", "vision", amount)])
    chosen = settings(tmp_path, budget(), budget_at=marks)
    found = [one for one in letters(db, chosen, tmp_path) if isinstance(one, BudgetLetter)]
    assert [one.about for one in found] == [f"2026-01/{percent}/operators/vision" for percent in told], why
    assert all((one.user, one.address) == (None, "ops@example.org") for one in found)


def test_coordinators_come_before_operators_and_each_mark_once(
    db: sqlite3.Connection, tmp_path: Path, slurm: Path
) -> None:
    """Of those whom sacctmgr names, games is a user of this host, daemon is excluded, ghost is nobody."""
    uid = pwd.getpwnam("games").pw_uid
    slurm.write_text("other|root\nvision|daemon,games,ghost\n")
    close(db, "2026-01", [("ada", "vision", "85.00")])
    chosen = settings(tmp_path, budget(), min_uid=1, exclude_users=("daemon", "ada"))
    known = People(chosen.feedback, name_of, {})
    planned = plan(db, chosen, known, site.folder(tmp_path), NOW)
    (one,) = (found.due for found in planned.letters)
    assert isinstance(one, BudgetLetter)
    assert (one.user, one.uid, one.address, one.about) == (
        "games", uid, "games@example.org", f"2026-01/80/{uid}/vision",
    )  # fmt: skip
    outbox.put(db, [found.entry(NOW) for found in planned.letters])
    assert due_of(outbox.find(db, ["due"])[0]) == one
    assert plan(db, chosen, known, site.folder(tmp_path), NOW).letters == ()
    close(db, "2026-02", [("ada", "vision", "20.00")])
    again = [found.due.run for found in plan(db, chosen, known, site.folder(tmp_path), NOW).letters]
    assert again == [f"2026-01/100/{uid}/vision"]


def test_a_mistake_in_charge_toml_stops_no_other_letter(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    close(db, "2026-01", [("ada", "vision", "85.00")])
    chosen = settings(tmp_path, "[[budgets]]\n")
    planned = plan(db, chosen, people(chosen), site.folder(tmp_path), NOW)
    assert [one.due.kind for one in planned.letters] == ["statement"]
    assert any("budgets are not checked" in note for note in planned.notes)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_they_say(db: sqlite3.Connection, tmp_path: Path, slurm: Path, language: str) -> None:
    """Every name is a value: no account's name is read as HTML or as a template."""
    close(db, "2026-01", [("ada", HOSTILE, "1234.50"), ("ada", "vision", "85.00")])
    chosen = settings(tmp_path, budget() + budget(HOSTILE, 1000), language=language)
    found = letters(db, chosen, tmp_path)
    texts = {one.kind + getattr(one, "about", ""): compose(db, one, chosen, OFFER, NOW) for one in found}
    assert len(texts) == 3
    for letter in texts.values():
        assert "<script>" not in letter.html and "{{" not in letter.text + letter.html
        assert "\n" not in letter.subject
        assert language == "en" or spaces(f"{letter.subject}\n{letter.text}\n{letter.html}") == []
    statement = texts["statement"]
    assert "1,319.50 points" in statement.subject and "85.00 points" in statement.text and "2026-01" in statement.text
    spent = texts["budget2026-01/80/operators/vision"]
    assert "85.00" in spent.text and "15.00" in spent.text and "100" in spent.text
    over = texts[f"budget2026-01/100/operators/{HOSTILE}"]
    assert "234.50" in over.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_reads_as_it_did(
    db: sqlite3.Connection, tmp_path: Path, slurm: Path, golden: Callable[[str, str], None], language: str
) -> None:
    close(db, "2026-01", [("ada", "vision", "85.00"), ("ada", "late", "1234.50")])
    chosen = settings(tmp_path, budget() + budget("late", 1000), language=language)
    statement, near, over = letters(db, chosen, tmp_path)
    for name, due in (("statement", statement), ("budget", near), ("budget-over", over)):
        letter = compose(db, due, chosen, OFFER, NOW)
        golden(f"letters/{name}-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
        golden(f"letters/{name}-{language}.html", letter.html)
        assert max(cell_len(line) for line in letter.text.splitlines()) <= 80


def test_a_budget_that_slurm_holds_is_said_to_be_held(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    close(db, "2026-01", [("ada", "vision", "85.00")])
    chosen = settings(tmp_path, budget())
    set_fact(db, "aaic", "budget/vision", '{"tres": "node", "minutes": 900, "qos": null}', NOW)
    text = " ".join(compose(db, letters(db, chosen, tmp_path)[-1], chosen, OFFER, NOW).text.split())
    assert "Slurm holds the account to what is left: jobs that would exceed it wait." in text
    assert "adminkit stops no job" not in text


def test_a_line_of_the_ledger_that_is_no_number_stops_its_own_letters_only(
    db: sqlite3.Connection, tmp_path: Path, slurm: Path
) -> None:
    """One of `vision`, which has a budget and a user; the others get their statements, and their budgets are told."""
    close(db, "2026-01", [("ada", "vision", "many"), ("bob", "late", "90.00"), ("cyd", "late", "1.00")])
    chosen = settings(tmp_path, budget() + budget(account="late"))
    planned = plan(db, chosen, people(chosen), site.folder(tmp_path), NOW)
    assert [(one.due.kind, one.due.run) for one in planned.letters] == [
        ("statement", "2026-01/1001"), ("statement", "2026-01/1002"), ("statement", "2026-01/1003"),
        ("budget", "2026-01/80/operators/late"),
    ]  # fmt: skip
    assert planned.undone and any("the budget of vision is not checked" in note for note in planned.notes)
    composer = Composer(db, chosen, OFFER, NOW, [one.due for one in planned.letters])
    with pytest.raises(Exception, match="ada"):
        composer.letter(planned.letters[0].due)
    assert all(composer.letter(one.due).text for one in planned.letters[1:])


@pytest.mark.parametrize("fault", ["echo broken >&2; exit 1", "printf 'x|\\001y'; exit 0", "exit 0", "sleep 600"])
def test_an_account_whose_coordinators_cannot_be_asked_stops_no_other(
    db: sqlite3.Connection, tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    program = slurm.with_name("bin") / "sacctmgr"
    program.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\ncase "$*" in *vision*) {fault};; esac\necho "late|"\n')
    monkeypatch.setattr("adminkit.slurm.coordinators.ask", lambda words, _: ask(words, 1))
    close(db, "2026-01", [("ada", "vision", "85.00"), ("bob", "late", "90.00")])
    planned = plan(db, settings(tmp_path, budget() + budget(account="late")), people(), site.folder(tmp_path), NOW)
    told = [one.due.run for one in planned.letters if one.due.kind == "budget"]
    assert told == ["2026-01/80/operators/vision", "2026-01/80/operators/late"]
    assert [note for note in planned.notes if note.startswith("couldn't ask who coordinates vision")], "it is named"
    assert planned.undone


def test_statements_of_a_month_read_the_ledger_once(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    close(db, "2026-01", [("ada", "vision", "85.00"), ("ada", "late", "2.00"), ("bob", "vision", "3.00")])
    chosen = settings(tmp_path)
    dues, asked = letters(db, chosen, tmp_path), list[str]()
    db.set_trace_callback(asked.append)
    composer = Composer(db, chosen, OFFER, NOW, dues)
    together = [composer.letter(one) for one in dues]
    db.set_trace_callback(None)
    assert len(dues) == 2 and sum("FROM ledger WHERE" in one for one in asked) == 1
    assert together == [compose(db, one, chosen, OFFER, NOW) for one in dues], "each as it is alone"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_operators_letter_counts_them(db: sqlite3.Connection, tmp_path: Path, slurm: Path, language: str) -> None:
    close(db, "2026-01", [("ada", "vision", "85.00")])
    chosen = settings(tmp_path, budget(), language=language)
    entries = [one.entry(NOW) for one in plan(db, chosen, people(chosen), site.folder(tmp_path), NOW).letters]
    assert [one.kind for one in entries] == ["statement", "budget"]
    outbox.put(db, [*entries, replace(entries[0], run="old/1001", state="expired")])
    week = last_week(NOW + 7 * DAY, None)
    due = OperatorLetter(
        cluster="aaic", language=language, address="ops@example.org", week=week.name, since=week.since, until=week.until
    )
    text = compose(db, due, chosen, OFFER, NOW + 7 * DAY).text
    words = ("statements of charges", "about budgets") if language == "en" else ("課金の明細", "予算")
    assert all(word in text for word in words), text


def test_a_sample_has_them_where_a_month_was_closed(db: sqlite3.Connection, tmp_path: Path, slurm: Path) -> None:
    chosen = settings(tmp_path, budget() + budget("other", 10))
    kinds = lambda: [one.due.kind for one in sample(db, chosen, NOW).letters]  # noqa: E731
    assert not {"statement", "budget"} & set(kinds())
    close(db, "2026-01", [("ada", "vision", "15.00"), ("bob", "other", "9.00")])
    assert kinds()[-2:] == ["statement", "budget"]
    found = sample(db, chosen, NOW).letters[-1].due
    assert isinstance(found, BudgetLetter) and found.about == "2026-01/90/operators/other"
    assert "1.00 points are left" in compose(db, found, chosen, OFFER, NOW).text


@pytest.mark.parametrize(
    ("text", "account", "expected", "why"),
    [
        ("physics|ada,mei\n", "physics", ["ada", "mei"], "two"),
        ("physics|\n", "physics", [], "none"),
        ("physics|mei,ada,mei\n", "physics", ["ada", "mei"], "each once, in order"),
    ],
)
def test_who_coordinates_an_account(text: str, account: str, expected: list[str], why: str) -> None:
    assert parse_coordinators(text, account) == expected, why


@pytest.mark.parametrize("text", ["", "vision|bob\n", "x\x01y"])
def test_who_coordinates_an_account_that_is_not_listed_is_not_known(text: str) -> None:
    with pytest.raises(AdminkitError, match="does not list the account physics"):
        parse_coordinators(text, "physics")


@pytest.mark.parametrize("name", ["x\nphysics|eve", "x\n", "\nphysics|eve,ada"])
def test_a_coordinator_with_a_line_break_in_the_name_makes_nobody_one(name: str) -> None:
    with pytest.raises(AdminkitError, match="more than one line"):
        parse_coordinators(f"physics|ada,{name}\n", "physics")
