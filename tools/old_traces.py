"""One small database per schema, as SQL text: tests/data/db/schema-N.sql, and which of them are released.

`python -m tools.old_traces` writes the one of today's schema again, while it is unreleased. `… release` freezes it: a
line of tests/data/db/released.txt, with its checksum. From then on a change is a new migration.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import adminkit
from adminkit.trace import connect
from adminkit.trace.schema import SCHEMA_VERSION

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "db"
RELEASED = "released.txt"

#: One row per table, so that a migration that loses rows is noticed.
ROWS = (
    'INSERT INTO job (cluster, job_id_raw, submit_time, source, job_id, user, "group", queue, state, start_time,'
    " end_time, elapsed, time_limit, limit_kind, req_gpus)"
    " VALUES ('alpha', 1, 1500000000, 'slurmdbd', '1', 'user1', 'group1', 'gq', 'COMPLETED', 1500000060, 1500003660,"
    " 3600, 259200, 'finite', 1)",
    "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
    " VALUES ('alpha', 1, 1500000000, 'batch', 'slurmdbd', 1.5)",
    "INSERT INTO window VALUES ('alpha', 'job', 1500000000, 1500003600, 0, 1500010000, 0.5, 1, 1, 0, 0, 0)",
    "INSERT INTO rejected VALUES ('sacct alpha', 3, 'no Submit', x'317c7c', 1500010000)",
    "INSERT INTO load VALUES (1, 'sync', 'sacct', 'alpha', 1500010000, 0.5, 1, 1, 0, 0, 0)",
    "INSERT INTO queue VALUES ('alpha', 'gq', 1500010000, 3600, 259200, 4)",
    "INSERT INTO node VALUES ('alpha', 'n1', 1500010000, 1, 40, 274877906944, 4, 'a100:4', 'shard:16', 'ib', 'gq')",
    "INSERT INTO node_event VALUES ('alpha', 'n1', 1500000000, 1500003600, 'DRAIN', 'disk', 'root', 0)",
    "INSERT INTO action VALUES (1500010000, 'head', 'root', 'policy install', '3f2a9c01d2e4', '{}')",
    "INSERT INTO person VALUES ('person:0123456789abcdef', 'alpha', 'user1', 1001, 1500010000)",
    f"INSERT INTO forgotten VALUES ('{'7' * 64}', 'person:fedcba9876543210', 1500010000)",
    "INSERT INTO outbox VALUES ('alpha', '1@1500000000', 'end', 1500003660, 'en', 'user1@example.org', 'user1', 1001,"
    " 1, 1500000000, 0, 'train', NULL, NULL, NULL, 'sent', 1, 0, 1500004000, 1500004000, 1500004001, 1500004002, 'ok')",
    "INSERT INTO power_curve VALUES ('resnet.csv', 2, 1500010000, 'resnet50', 'a100', 4, 256, 250, 100.5, 90000, 1000)",
    "INSERT INTO ledger_scheme VALUES ('9f86d081', 'actual', '{}', 1501600000)",
    "INSERT INTO ledger VALUES (1, '2017-07', 'charge', 'alpha', 1, 1500000000, 1500000000, 1, '2017-07', 3600,"
    " 'person:0123456789abcdef', 'vision', '1.00', 'points', '9f86d081', 1501600000,"
    f" '{'0' * 64}', '{'5' * 64}')",
    "INSERT INTO fact VALUES ('alpha', 'dbd_started', '1500000000', 1500010000)",
    "INSERT INTO month_file VALUES ('alpha', '2017-07', 'run', '0123456789abcdef', 'fedcba9876543210', 1, 9000,"
    f" '{'9' * 64}', 77, 1500010000000000000, 1500010000)",
)


@dataclass(frozen=True)
class Frozen:
    """A released schema: its first release, and the checksum of its text."""

    schema: int
    release: str
    sha256: str


def kept() -> list[int]:
    """The schemas kept here; the newest may be unreleased."""
    return sorted(int(re.sub(r"\D", "", path.stem)) for path in FOLDER.glob("schema-*.sql"))


def frozen(folder: Path | None = None) -> dict[int, Frozen]:
    """The released schemas, by number."""
    lines = ((folder or FOLDER) / RELEASED).read_text().splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return {int(schema): Frozen(int(schema), release, sha256) for schema, release, sha256 in words}


def edited(folder: Path | None = None) -> list[str]:
    """The released schemas whose text has changed since."""
    there = folder or FOLDER
    return [
        f"schema {one.schema} went out with {one.release}, and {_file(one.schema, there).name} was edited since"
        for one in frozen(there).values()
        if _sha256(_file(one.schema, there)) != one.sha256
    ]


def build(version: int, path: Path) -> None:
    """The small database of that version, as it was released."""
    with sqlite3.connect(path) as db:
        db.executescript(_file(version, FOLDER).read_text())


def today() -> str:
    """The text of today's schema with its rows. The moment of the migration is fixed, so that the text is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.db"
        connect.create(path)
        with sqlite3.connect(path) as db:
            for row in ROWS:
                db.execute(row)
            db.execute("UPDATE _sqlite_migrations SET applied_at = '2026-01-01 00:00:00+00:00'")
            return "\n".join([*db.iterdump(), f"PRAGMA user_version = {SCHEMA_VERSION};", ""])


def write(folder: Path | None = None) -> str:
    """Write today's schema; refused where it is released. Returns what was done."""
    there = folder or FOLDER
    if out := frozen(there).get(SCHEMA_VERSION):
        raise SystemExit(f"schema {SCHEMA_VERSION} went out with {out.release}: add a migration instead of editing it")
    _file(SCHEMA_VERSION, there).write_text(today())
    return f"wrote {_file(SCHEMA_VERSION, there)}"


def release(folder: Path | None = None) -> str:
    """Freeze today's schema under today's release, unless an earlier one did. Returns what was done."""
    there = folder or FOLDER
    if out := frozen(there).get(SCHEMA_VERSION):
        return f"schema {SCHEMA_VERSION} went out with {out.release} already"
    with (there / RELEASED).open("a") as file:
        file.write(f"{SCHEMA_VERSION} {adminkit.__version__} {_sha256(_file(SCHEMA_VERSION, there))}\n")
    return f"schema {SCHEMA_VERSION} goes out with {adminkit.__version__}"


def _file(version: int, folder: Path) -> Path:
    return folder / f"schema-{version}.sql"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    print(release() if sys.argv[1:] == ["release"] else write(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
