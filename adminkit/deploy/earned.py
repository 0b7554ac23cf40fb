"""Whose limits are right often enough to earn points, by the table of incentives that slurmctld uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from adminkit.deploy.files import read_text, table_path, usable
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Lua

#: A table that is older rests on runs that no longer count, seconds. Trap: one whose content stays keeps its date.
OLDEST: Final = 180 * 86_400
#: How far the clock of the host that computed it may be ahead, seconds.
_AHEAD: Final = 86_400


def earned_of(folder: Path, now: int) -> Callable[[int], bool | None]:
    """Whether a uid has earned points; None where no usable table, or only an old one, says so.

    `folder` is that of job_submit.lua. A user without a row has earned none.
    """
    table = _table(folder)
    made_at = table.get("made_at") if table else None
    if not table or type(made_at) is not int or not now - OLDEST <= made_at <= now + _AHEAD:
        return lambda uid: None
    rows = _by_uid(table.get("users"))
    if rows is None:
        return lambda uid: None
    return lambda uid: _has_points(rows.get(uid))


def _table(folder: Path) -> Mapping[str, Any] | None:
    for kind in ("", "good"):
        try:
            text = read_text(table_path(folder, "incentives", kind))
            if text is not None and usable("incentives", text, check_table):
                lua = Lua()
                table = lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "incentives.lua"))
                return table if isinstance(table, dict) else None
        except (AdminkitError, OSError):
            continue
    return None


def _by_uid(users: Any) -> Mapping[int, Any] | None:
    """Trap: a table whose only keys are 1 to n comes out of Lua as a list."""
    if isinstance(users, list):
        return dict(enumerate(users, start=1))
    return users if isinstance(users, dict) else None


def _has_points(row: Any) -> bool:
    points = row.get("points") if isinstance(row, dict) else None
    return isinstance(points, (int, float)) and points > 0
