"""Whatever is written into the trace, `charge verify` has a finding or nothing, and no exception."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.cli.main import main
from adminkit.economy.close import WHAT
from adminkit.economy.schemes import ChargeFile, load_schemes
from adminkit.economy.verify import Verified, verify
from adminkit.reports.charge import verify_report
from adminkit.stats.ledger import acts
from adminkit.trace import ledger
from tests.support.builders import make_trace
from tests.support.charges import closed, ran, schemes

#: What stands in a cell instead.
VALUES: Final = (
    None, 0, -1, 1, 2**62, -(2**63), 1e308, float("inf"), -0.5, "", "0", "-1.00", "1e999999", "NaN", "Infinity", "sNaN",
    "9" * 60, "9" * 5000, "2026-13", "2026-01", "0000-00", "9999-12", "close", "charge", "person:1", "{}",
    "[" * 100_000, "null", "\x00", "\u202e\x1b[31m", "ada", "\ud800".encode("utf-8", "surrogatepass"), b"", b"\xff\xfe",
    b"1.00",
)  # fmt: skip
TABLES: Final = ("ledger", "ledger", "ledger", "ledger_scheme", "action", "job")
FACTS: Final = (
    f"SELECT {', '.join(ledger.FIELDS)}, hash FROM ledger ORDER BY rowid",
    "SELECT scheme, text FROM ledger_scheme ORDER BY rowid",
    "SELECT cluster, job_id_raw, submit_time, elapsed FROM job ORDER BY submit_time, job_id_raw",
)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ChargeFile]:
    """Two months closed, in a file whose owner has taken away every type, check and trigger."""
    folder = tmp_path_factory.mktemp("hostile")
    jobs = [ran(n, "2026-01-31T12:00", 3600 * n, user=f"u{n % 3}") for n in range(1, 9)]
    db = sqlite3.connect(make_trace(folder / "t.db", jobs), isolation_level=None)
    file = schemes(folder)
    closed(db, file, "2026-01", "2026-02")
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute("PRAGMA writable_schema = ON")
    for table in set(TABLES):
        (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        loose = re.sub(r" (TEXT|INTEGER)(?! PRIMARY)( NOT NULL)?", "", sql).replace(") STRICT", ")")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (loose, table))
    return db.serialize(), load_schemes(file)


def opened(image: bytes) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(image)
    db.execute("PRAGMA ignore_check_constraints = ON")
    return db


def facts(db: sqlite3.Connection) -> list[list[tuple[Any, ...]]]:
    """What was written, by which schemes, and what the amounts are of: nobody changes them unseen."""
    db.text_factory = bytes
    return [db.execute(sql).fetchall() for sql in FACTS]


def row_of(db: sqlite3.Connection, table: str, luck: random.Random) -> int:
    return int(luck.choice(db.execute(f"SELECT rowid FROM {table} ORDER BY rowid").fetchall())[0])


def changed_cell(db: sqlite3.Connection, luck: random.Random) -> str:
    """Another value in a random cell; the table."""
    table = luck.choice(TABLES)
    columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    column, value = luck.choice(columns), luck.choice(VALUES)
    with suppress(sqlite3.IntegrityError):  # a number of the chain that is not a number
        db.execute(f'UPDATE OR IGNORE {table} SET "{column}" = ? WHERE rowid = ?', (value, row_of(db, table, luck)))
    return table


def changed_rows(db: sqlite3.Connection, luck: random.Random) -> str:
    """A row that is gone, doubled, or in another place; the table."""
    table = luck.choice(TABLES)
    one = row_of(db, table, luck)
    columns = ", ".join(f'"{name}"' for _, name, *_ in db.execute(f"PRAGMA table_info({table})"))
    db.execute(luck.choice((
        f"DELETE FROM {table} WHERE rowid = {one}", f"DELETE FROM {table}",
        f"INSERT OR IGNORE INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE rowid = {one}",
        f"UPDATE OR IGNORE {table} SET rowid = rowid + 7 WHERE rowid = {one}",
    )))  # fmt: skip
    return table


def rewritten(db: sqlite3.Connection, luck: random.Random) -> str:
    """The ledger with another value in some entry, another scheme, and every hash and act that fits."""
    found = [entry for _, entry, _, _ in ledger.entries(db)]
    place, field = luck.randrange(len(found)), luck.choice(ledger.FIELDS[1:-1])
    value = luck.choice([one for one in VALUES if not isinstance(one, bytes)])
    found[place] = replace(found[place], **{field: value})
    text = luck.choice((None, "{}", "null", luck.choice([one for one in VALUES if isinstance(one, str)])))
    if text is not None:
        db.execute("DELETE FROM ledger_scheme")
        digest = ledger.keep_scheme(db, "test", text, 1)
        found = [replace(entry, scheme=digest) for entry in found]
    db.execute("DELETE FROM ledger")
    db.execute("DELETE FROM action")
    with suppress(sqlite3.IntegrityError):  # the close of a month with no n
        ledger.append(db, found)
    return "rewritten"


def damaged(image: bytes, luck: random.Random) -> bytes:
    """Some bytes of the file are others."""
    found = bytearray(image)
    for _ in range(luck.choice((1, 1, 5, 50))):
        found[luck.randrange(100, len(found))] = luck.randrange(256)
    return bytes(found)


def told(found: Verified) -> dict[str, Any]:
    """What each check says, as a report that can be written."""
    report = verify_report(found.checks, found.again, found.runs, "t.db")
    json.dumps(report.rows).encode("ascii")
    return {str(row[0]): row[2] for row in report.rows}


CHANGES: Final[tuple[Callable[[sqlite3.Connection, random.Random], str], ...]] = (changed_cell, changed_rows, rewritten)


@pytest.mark.parametrize(
    "changes", [pytest.param(300, id="300"), pytest.param(10_000, id="10000", marks=pytest.mark.soak)]
)
def test_whatever_is_changed_is_a_finding_or_nothing(image: tuple[bytes, ChargeFile], changes: int) -> None:
    luck, said, missed = random.Random(changes), Counter[str](), list[str]()
    before = facts(opened(image[0]))
    for number in range(changes):
        how = luck.choice((changed_cell, changed_cell, changed_rows, rewritten, None))
        with closing(opened(damaged(image[0], luck) if how is None else image[0])) as db:
            try:
                table = "file" if how is None else how(db, luck)
                log = [*acts(db, WHAT)] if table == "ledger" else []
                after = facts(db)
                found = verify(db, image[1], log, [])
            except (sqlite3.DatabaseError, UnicodeDecodeError):  # the command says that the file is damaged
                assert how is None
                said["damaged"] += 1
                continue
            results, again = told(found), found.again
            wrong = "wrong" in results.values()
            noticed = wrong or (again is not None and (bool(again.dues) or again.charged < found.runs))
            said["wrong" if wrong else "changed" if noticed else "ok"] += 1
            if table != "rewritten" and after != before:
                said["altered"] += 1
                if not noticed:
                    differs = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
                    missed.append(f"{number}: {table}: {differs}")
    assert not missed, f"{len(missed)} of {changes}: {missed[:3]}"
    assert min(said[word] for word in ("wrong", "changed", "ok")) > 0, said
    print(dict(said))


@pytest.mark.parametrize("files", [pytest.param(60, id="60"), pytest.param(1000, id="1000", marks=pytest.mark.soak)])
def test_a_damaged_file_is_an_error_or_a_finding(
    image: tuple[bytes, ChargeFile],
    files: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ADMINKIT_ACTS", str(tmp_path / "acts.jsonl"))
    luck, path, codes = random.Random(files), tmp_path / "t.db", Counter[int]()
    for _ in range(files):
        path.write_bytes(damaged(image[0], luck))
        path.chmod(0o640)
        codes[main(["charge", "verify", "--db", str(path), "--schemes", str(image[1].path)])] += 1
        assert "Traceback" not in capsys.readouterr().err
    assert set(codes) == {0, 1}


def test_an_image_that_nobody_changed_is_right(image: tuple[bytes, ChargeFile]) -> None:
    assert set(told(verify(opened(image[0]), image[1], [], [])).values()) == {"ok"}
    assert astuple(next(iter(ledger.entries(opened(image[0]))))[1])
