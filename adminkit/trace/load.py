"""Rows from Python into the trace, many at a time, within a transaction of the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.job import KEY
from adminkit.sqlite import sqlite3
from adminkit.trace.forgotten import marks_of, nameless_runs, nameless_steps
from adminkit.trace.upsert import (
    LOAD_BEGINS,
    OTHER_JOB,
    REJECT,
    Apart,
    insert_job,
    insert_step,
    upsert_job,
    upsert_step,
)

#: Rows per executemany(): the second statement runs only for a batch in which a row was known.
BATCH: Final = 1000
#: Bytes of a row that was set aside, as adminkit-ingest keeps them.
MAX_RAW: Final = 65536

_EARLIER: Final = """
SELECT submit_time FROM job WHERE cluster = ? AND job_id_raw = ? AND submit_time <> ? LIMIT 1
"""
_ANY: Final = "SELECT 1 FROM job WHERE cluster = ? LIMIT 1"


class _Load:
    """Stores rows by two statements: one for new rows, one for the others. The counts are as adminkit-ingest's."""

    def __init__(self, db: sqlite3.Connection, insert: str, upsert: str) -> None:
        self._db, self._insert, self._upsert = db, insert, upsert
        self.new = self.changed = self.unchanged = 0

    def put(self, rows: Sequence[Sequence[object]]) -> None:
        """Insert the new rows; where some were known, update these, in the order of `rows`."""
        new = self._run(self._insert, rows)
        changed = self._run(self._upsert, rows) if new < len(rows) else 0
        self.new += new
        self.changed += changed
        self.unchanged += max(0, len(rows) - new - changed)

    def _run(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        # Trap: total_changes would count what the triggers of months write.
        return max(0, self._db.executemany(sql, rows).rowcount)


class JobLoad(_Load):
    """Stores runs of a source, values in the order of `columns`, Job's. `apart`: put() raises AdminkitError where a row
    would overwrite another job's of an earlier load.
    """

    def __init__(self, db: sqlite3.Connection, columns: Sequence[str], source: str, apart: bool = False) -> None:
        values, self._marks = _values(columns), marks_of(db)
        if self._marks:
            values = nameless_runs(values)
        told = Apart(here="FALSE", earlier=OTHER_JOB) if apart else None
        super().__init__(db, insert_job(values, source), upsert_job(values, source, apart=told))
        self._clash: tuple[int, int] | None = None
        if apart:
            self._begin()
        self.source = source
        self._key = [list(columns).index(column) for column in KEY]
        self._known: dict[str, bool] = {}

    def put(self, rows: Sequence[Sequence[object]]) -> None:
        """Like _Load's."""
        try:
            super().put(rows)
        except sqlite3.OperationalError as error:
            if self._clash is None:
                raise
            number, submit = self._clash
            raise AdminkitError(
                f"the trace already has another job {number} of this cluster, also submitted at {submit} (epoch): one"
                " would overwrite the other",
                "nothing of this run was written; this is another cluster's or another trace's file: give it a"
                " --cluster of its own",
            ) from error

    def _begin(self) -> None:
        """The two functions of the upsert, as adminkit-ingest has them."""
        base = 0

        def load_base(*given: int) -> int:
            nonlocal base
            base = given[0] if given else base
            return base

        def shared_key(number: int, submit: int, _: int) -> None:
            self._clash = (number, submit)
            raise ValueError(number)

        self._db.create_function("load_base", -1, load_base)
        self._db.create_function("shared_key", 3, shared_key)
        self._db.execute(LOAD_BEGINS).fetchone()

    def submitted_otherwise(self, row: Sequence[object]) -> int | None:
        """The submission of another run with this cluster and number, epoch seconds; None without such a run."""
        cluster, number, submit = (row[place] for place in self._key)
        if str(cluster) not in self._known:
            self._known[str(cluster)] = self._db.execute(_ANY, (cluster,)).fetchone() is not None
        if not self._known[str(cluster)]:
            return None
        found = self._db.execute(_EARLIER, (cluster, number, submit)).fetchone()
        return None if found is None else int(found[0])

    def reject(self, rows: Sequence[tuple[int, str, bytes]], source: str, now: int) -> None:
        """Set rows aside: line, reason, text. One that names somebody who was forgotten is dropped."""
        kept = [row for row in rows if not (self._marks and self._marks.named(row[2].decode("utf-8", "replace")))]
        self._db.executemany(REJECT, [(line, why, raw[:MAX_RAW], source, now) for line, why, raw in kept])


class StepLoad(_Load):
    """Like JobLoad, for steps."""

    def __init__(self, db: sqlite3.Connection, columns: Sequence[str], source: str) -> None:
        values = _values(columns)
        if marks_of(db):
            values = nameless_steps(values)
        super().__init__(db, insert_step(values, source), upsert_step(values, source))


def _values(columns: Sequence[str]) -> dict[str, str]:
    # Trap: a row that these change must not look like the sacct text that it came from.
    return {column: f"?{number}" for number, column in enumerate(columns, start=1)} | {"fingerprint": "NULL"}
