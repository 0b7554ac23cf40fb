"""The ledger: what it refuses, and that whatever is done to it behind its back is noticed."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from adminkit.economy.close import WHAT
from adminkit.economy.verify import check_chain, check_heads
from adminkit.stats.ledger import acts
from adminkit.trace.ledger import FIELDS, ZEROS, append, head
from tests.support.builders import job, ledger_entry
from tests.support.charges import closed, fresh, schemes


def two_months(folder: Path) -> sqlite3.Connection:
    db = fresh([job(1), job(2, user="bob", account="speech")])
    closed(db, schemes(folder), "2026-01", "2026-02")
    return db


REFUSED = [
    ("UPDATE ledger SET amount = '0'", "an amount"),
    ("UPDATE ledger SET person = NULL WHERE n = 1", "a person"),
    ("DELETE FROM ledger WHERE n = 3", "the end"),
    ("DELETE FROM ledger", "all of it"),
    ("UPDATE ledger_scheme SET text = '{}'", "a scheme"),
    ("DELETE FROM ledger_scheme", "all schemes"),
    ("INSERT INTO ledger SELECT * FROM ledger WHERE n = 1", "an entry twice"),
    ("INSERT OR REPLACE INTO ledger SELECT * FROM ledger WHERE n = 1", "an entry in place of another"),
    ("REPLACE INTO ledger_scheme SELECT scheme, 'x', '{}', at FROM ledger_scheme", "a scheme in place of another"),
]


@pytest.mark.parametrize(("sql", "what"), REFUSED)
def test_nothing_is_changed_or_taken_out(tmp_path: Path, sql: str, what: str) -> None:
    db = two_months(tmp_path)
    with pytest.raises(sqlite3.IntegrityError, match="only added to"):
        db.execute(sql)


def test_the_hash_of_an_entry_can_be_computed_by_anybody(tmp_path: Path) -> None:
    """As docs/charge.md has it, without adminkit's code."""
    db = two_months(tmp_path)
    before = "0" * 64
    for row in db.execute("SELECT * FROM ledger ORDER BY n"):
        *values, previous, own = row
        text = json.dumps([*values, previous], separators=(",", ":"))
        assert previous == before
        assert own == hashlib.sha256(text.encode("ascii")).hexdigest()
        before = own
    assert [row[1] for row in db.execute("PRAGMA table_info(ledger)")] == [*FIELDS, "hash"]


def test_an_empty_ledger_has_a_head_to_go_on_from() -> None:
    db = fresh()
    assert (head(db).n, head(db).hash) == (0, ZEROS)
    assert append(db, [ledger_entry("2026-01", "person:1")]) == head(db)


#: What somebody who may write the file does after dropping the triggers -> which check says it.
TAMPERED = [
    ("UPDATE ledger SET amount = '1' WHERE n = 1", {"chain", "bills"}, "an amount"),
    ("UPDATE ledger SET account = 'x' WHERE n = 1", {"chain"}, "an account"),
    ("UPDATE ledger SET at = at + 1 WHERE n = 2", {"chain"}, "when it was"),
    ("DELETE FROM ledger WHERE n = 1", {"chain", "bills"}, "the first entry"),
    ("DELETE FROM ledger WHERE n = 4", {"heads"}, "the last close"),
    ("DELETE FROM ledger WHERE n >= 3", {"bills", "heads"}, "two closes"),
    ("DELETE FROM ledger", {"heads"}, "everything"),
    ("UPDATE ledger_scheme SET text = replace(text, 'elapsed', '2')", {"schemes"}, "the formula"),
    ("UPDATE ledger SET n = n + 1 WHERE n = 4", {"chain"}, "a hole"),
]


@pytest.mark.parametrize(("sql", "wrong", "what"), TAMPERED)
def test_what_is_changed_without_the_triggers_is_noticed(tmp_path: Path, sql: str, wrong: set[str], what: str) -> None:
    db = two_months(tmp_path)
    checks = [*check_chain(db), check_heads(db, acts(db, WHAT), [head(db).hash[:12]])]
    assert {one.name for one in checks if one.wrong} == set()
    for (name,) in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'ledger%'"
    ).fetchall():
        db.execute(f"DROP TRIGGER {name}")
    kept = head(db).hash[:12]
    db.execute(sql)
    checks = [*check_chain(db), check_heads(db, acts(db, WHAT), [])]
    assert {one.name for one in checks if one.wrong} == wrong, what
    if "heads" in wrong:
        db.execute("DELETE FROM action")
        assert check_heads(db, acts(db, WHAT), [kept]).wrong, "a head that somebody kept shows it alone"


def test_nobody_is_named_in_it(tmp_path: Path) -> None:
    db = two_months(tmp_path)
    text = " ".join(str(row) for row in db.execute("SELECT * FROM ledger"))
    assert "person:" in text
    text = re.sub(r"\b[0-9a-f]{16,64}\b", "", text)  # a hash may spell a name: ada
    assert "ada" not in text and "bob" not in text
