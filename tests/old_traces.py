"""One small database per released schema, as SQL text: tests/data/db/schema-N.sql.

`python -m tests.old_traces` writes the one of today's schema anew. Run it while that schema is unreleased; never after.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from pathlib import Path

from adminkit.trace import connect
from adminkit.trace.schema import SCHEMA_VERSION

FOLDER = Path(__file__).parent / "data" / "db"

#: One row per table, so that a migration that loses rows is noticed.
ROWS = (
    'INSERT INTO job (cluster, job_id_raw, submit_time, synced, job_id, user, "group", queue, state, start_time,'
    " end_time, elapsed, time_limit, limit_kind, req_gpus)"
    " VALUES ('alpha', 1, 1500000000, 1, '1', 'user1', 'group1', 'gq', 'COMPLETED', 1500000060, 1500003660, 3600,"
    " 259200, 'finite', 1)",
    "INSERT INTO step (cluster, job_id_raw, submit_time, step, cpu_time) VALUES ('alpha', 1, 1500000000, 'batch', 1.5)",
    "INSERT INTO window VALUES ('alpha', 'job', 1500000000, 1500003600, 0, 1500010000, 0.5, 1, 1, 0, 0, 0)",
    "INSERT INTO rejected VALUES ('sacct alpha', 3, 'no Submit', x'317c7c', 1500010000)",
    "INSERT INTO intake VALUES (1, 'sync', 'sacct', 'alpha', 1500010000, 0.5, 1, 1, 0, 0, 0)",
    "INSERT INTO queue VALUES ('alpha', 'gq', 1500010000, 3600, 259200, 4)",
    "INSERT INTO act VALUES (1500010000, 'head', 'root', 'policy install', '3f2a9c01d2e4', '{}')",
    "INSERT INTO outbox VALUES ('alpha', '1@1500000000', 'end', 1, 1500000000, 1500003660, 0, '', 'user1', 1001,"
    " 'train', 'en', 'user1@example.org', '[]', 'sent', 1, 0, 1500004000, 1500004000, 1500004001, 1500004002, 'ok')",
    "INSERT INTO note VALUES ('alpha', 'dbd_started', '1500000000', 1500010000)",
)


def released() -> list[int]:
    """The versions kept here."""
    return sorted(int(re.sub(r"\D", "", path.stem)) for path in FOLDER.glob("schema-*.sql"))


def build(version: int, path: Path) -> None:
    """The small database of that version, as it was released."""
    with sqlite3.connect(path) as db:
        db.executescript((FOLDER / f"schema-{version}.sql").read_text())


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


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"schema-{SCHEMA_VERSION}.sql"
    path.write_text(today())
    print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
