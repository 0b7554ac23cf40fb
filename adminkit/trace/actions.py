"""Actions on Slurm and on people, by whom and when: the lines of the hosts' logs, copied into the table `action`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.trace.forgotten import marks_of

_ACTION: Final = """
INSERT INTO action (at, host, who, what, generation, line) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (line) DO NOTHING
"""


def record_actions(db: sqlite3.Connection, found: Iterable[Mapping[str, Any]]) -> int:
    """Store these actions, each line once, without names of who was forgotten. Returns how many were new."""
    before, marks = db.total_changes, marks_of(db)
    for one in found:
        act = marks.without_names(one) if marks else one
        words = [_word(act.get(key)) for key in ("host", "who", "what", "generation")]
        line = json.dumps(act, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace").decode()
        db.execute(_ACTION, (act["at"], *words, line))
    return db.total_changes - before


def _word(value: object) -> str | None:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
