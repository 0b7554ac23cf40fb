"""Who was forgotten: tombstones, so that no later row brings a name back. docs/privacy.md.

The table `forgotten` has the keyed hash (HMAC-SHA-256, RFC 2104) of each forgotten name and uid, and the random id that
stands in the name's place. The key is a file beside the trace: with only a copy of the trace nobody can try names out.

Rows from Python are changed here; adminkit-ingest changes its own by the same SQL, with mark() from native/ingest.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.files import is_there
from adminkit.key_file import old_key, write_key
from adminkit.sqlite import sqlite3
from adminkit.trace.person import PREFIX

#: A mark is 64 hexadecimal digits.
SCHEMA: Final = """
CREATE TABLE forgotten (mark TEXT PRIMARY KEY, person TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID
"""
#: What a mark is of.
NAME: Final = "name"
UID: Final = "uid"
#: Steps that Slurm names; the others have names from their users.
OWN_STEPS: Final = ("batch", "extern", "interactive")

#: Columns that tell whose a run is, or may: free text, and what can be compared with a text.
TELLING: Final = ("uid", "job_name", "admin_comment", "program", "fingerprint")
#: What a name can be made of, so that "ada" is not found in "adam"; and what may stand around one in a sentence.
_WORD: Final = re.compile(r"[\w.-]+")
_BETWEEN: Final = re.compile(r"[^\s'\"`,;:=/|()<>\[\]{}]+")
#: Keys of acts whose texts are adminkit's own.
_OURS: Final = ("what", "did")


class Marks:
    """The tombstones of a trace, and what they make of a row."""

    def __init__(self, key: bytes, people: Mapping[str, str]) -> None:
        self.key = key
        self._people = people
        self._known: dict[str, str | None] = {}

    def mark(self, kind: str, value: object) -> str | None:
        """The keyed hash of a name or uid; None of None. The SQL function mark()."""
        if value is None:
            return None
        text = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.key, text, hashlib.sha256).hex()

    def person(self, name: str) -> str | None:
        """The id of who had this name and was forgotten."""
        if name not in self._known:
            self._known[name] = self._people.get(self.mark(NAME, name) or "")
        return self._known[name]

    def named(self, text: str) -> bool:
        """Whether a forgotten name is a word of the text."""
        return self._replaced(text) != text

    def _replaced(self, text: str) -> str:
        """The text with ids in the place of the words of it that are forgotten names."""

        def part(found: re.Match[str]) -> str:
            return self.person(found[0]) or _WORD.sub(word, found[0])

        def word(found: re.Match[str]) -> str:
            name = found[0].rstrip(".")  # of the end of a sentence
            return self.person(found[0]) or (self.person(name) or name) + found[0][len(name) :]

        return self.person(text) or _BETWEEN.sub(part, text)

    def without_names(self, value: Any) -> Any:
        """JSON's value with ids in the place of forgotten names, in texts too. Keys, and the texts of some of them,
        are adminkit's own words.
        """
        if isinstance(value, str):
            return self._replaced(value)
        if isinstance(value, Mapping):
            return {
                name: one if name in _OURS and isinstance(one, str) else self.without_names(one)
                for name, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.without_names(one) for one in value]
        return value

    def event(self, row: Mapping[str, object]) -> dict[str, object]:
        """An event of a node; without who caused it, and why, where that is somebody who was forgotten."""
        user, uid = row.get("user"), row.get("uid")
        if not (self.person(str(user)) if user is not None else (self.mark(UID, uid) or "") in self._people):
            return dict(row)
        return {**row, **{column: None for column in ("user", "uid", "reason") if column in row}}

    def register(self, db: sqlite3.Connection) -> None:
        """Make mark() known to this connection."""
        db.create_function("mark", 2, self.mark, deterministic=True)


def key_path(trace: Path) -> Path:
    """Where the key of a trace's tombstones is."""
    return trace.with_name(f"{trace.name}.forget-key")


def marks_of(db: sqlite3.Connection) -> Marks | None:
    """The tombstones of the trace that this connection writes to, with mark() registered; None where there are none.

    AdminkitError where the key is missing: without it names would come back.
    """
    people = dict(db.execute("SELECT mark, person FROM main.forgotten").fetchall())
    if not people:
        return None
    path = key_path(Path(db.execute("PRAGMA database_list").fetchone()[2]))
    if not is_there(path):
        raise AdminkitError(
            f"the key of the forgotten users is missing: {path}",
            "put it back from a backup; without the key, rows of forgotten users cannot be told from other rows",
        )
    marks = Marks(old_key(path), people)
    marks.register(db)
    return marks


def hand_on(db: sqlite3.Connection, trace: Path, other: sqlite3.Connection, place: Path) -> None:
    """Give the empty trace `other` at `place` the tombstones of `trace`, so that the same rows lose the same names."""
    rows = db.execute("SELECT mark, person, at FROM main.forgotten").fetchall()
    if rows:
        other.executemany("INSERT INTO forgotten VALUES (?, ?, ?)", rows)
        write_key(key_path(place), old_key(key_path(trace)))


def _is(kind: str, value: str) -> str:
    return f"EXISTS (SELECT 1 FROM forgotten WHERE mark = mark('{kind}', {value}))"


def nameless_runs(values: Mapping[str, str]) -> dict[str, str]:
    """Column of job -> SQL as in `values`; of who was forgotten the id stands for the name, and TELLING is empty."""
    gone = _is(NAME, values["user"]) if "user" in values else "FALSE"
    found = dict(values)
    for column in ("user", "account"):
        if column in values:
            person = f"(SELECT person FROM forgotten WHERE mark = mark('{NAME}', {values[column]}))"
            found[column] = f"coalesce({person}, {values[column]})"
    nothing = dict.fromkeys(TELLING, gone)
    if "group" in values:
        nothing["group"] = f"{gone} OR {_is(NAME, values['group'])}"
    if "cancelled_by" in values:
        nothing["cancelled_by"] = _is(UID, values["cancelled_by"])
    for column, where in nothing.items():
        if column in values:
            found[column] = f"CASE WHEN {where} THEN NULL ELSE {values[column]} END"
    return found


def nameless_steps(values: Mapping[str, str]) -> dict[str, str]:
    """Like nameless_runs, for steps: its name is the user's, but for OWN_STEPS.

    Trap: slurmdbd may show a step before its run. Whose it is cannot be told then, so its name waits for the run.
    """
    key = ", ".join(values[column] for column in ("cluster", "job_id_raw", "submit_time"))
    kept = (
        "EXISTS (SELECT 1 FROM job AS j WHERE (j.cluster, j.job_id_raw, j.submit_time)"
        f" = ({key}) AND coalesce(j.user, '') NOT GLOB '{PREFIX}*')"
    )
    found = dict(values)
    for column in ("step_name", "fingerprint"):
        if column in values:
            own = f"{values[column]} IN {OWN_STEPS} OR " if column == "step_name" else ""
            found[column] = f"CASE WHEN {own}{kept} THEN {values[column]} END"
    return found


def drop_rejected(db: sqlite3.Connection, source: str, seen_at: int) -> None:
    """Delete rows that a load has just set aside and that name somebody who was forgotten."""
    if (marks := marks_of(db)) is None:
        return
    rows: Sequence[tuple[int, bytes]] = db.execute(
        "SELECT rowid, raw FROM rejected WHERE source = ? AND seen_at = ?", (source, seen_at)
    ).fetchall()
    gone = [(row,) for row, raw in rows if marks.named(raw.decode("utf-8", "replace"))]
    db.executemany("DELETE FROM rejected WHERE rowid = ?", gone)
