"""What doctor found, as a Report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.quote import clean
from adminkit.render.report import Field, Meta, Report

CHECK_FIELDS: Final = (
    Field("check", help="what was checked"),
    Field("status", help="ok; warn: adminkit works, but less well; missing: needed, but not there"),
    Field("found", help="what is there"),
    Field("hint", help="what to do"),
)


def checks_report(rows: Sequence[tuple[str, str, str, str]], database: str) -> Report:
    """One row per check: name, status, what was found, what to do."""
    title = "What is there and what is missing"
    return Report(Meta(title, database, (None, None), (), {}, None, {}, (verdict(rows),)), CHECK_FIELDS, rows)


def checks_text(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """Text for people: a line per check, its hint below it."""
    lines = []
    for name, status, found, hint in rows:
        lines.append(f"{status:<8} {name:<10} {clean(found)}")
        if hint:
            lines.append(f"{'':<19} {clean(hint)}")
    return "\n".join([*lines, "", verdict(rows), ""])


def verdict(rows: Sequence[tuple[str, str, str, str]]) -> str:
    missing = [name for name, status, _, _ in rows if status == "missing"]
    return f"missing: {', '.join(missing)}" if missing else "nothing needed is missing"
