"""The tables of points, hints and needs that the sides of a trial have, and whether B needs others than A's."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from adminkit.deploy.files import SUBFOLDER, TABLES, read_text, table_path
from adminkit.deploy.trial_file import Plan
from adminkit.errors import AdminkitError
from adminkit.policy.load import find_policy, load_policy
from adminkit.policy.model import Policy

#: The folder that a message proposes for B's tables, beside the trial's file.
_PROPOSED: Final = "tables-b"


def tables_of(plan: Plan) -> list[Path]:
    """The files of the folder that [b] tables names."""
    if plan.tables is None:
        return []
    inside = plan.tables / SUBFOLDER
    folder = inside if inside.is_dir() else plan.tables
    return [path for name in TABLES[1:] if (path := folder / f"{name}.lua").exists()]


def both_tables(plan: Plan, folder: Path, reads_needs: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Those that are in place, for A, and those that the file names, for B.

    `reads_needs`: whether A gives soft limits; else it needs no such table, and B's may stay on A's days.
    """
    paths = tables_of(plan)
    if plan.tables is not None and not paths:
        raise AdminkitError(f"{plan.tables} has no table", how(plan))
    b = {path.stem: read_text(path) or "" for path in paths}
    a = {name: text for name in b if (text := read_text(table_path(folder, name))) is not None}
    lacking = sorted(b.keys() - a.keys() - (set() if reads_needs else {"soft_limits"}))
    if lacking:
        raise AdminkitError(
            f"A must be what is in place: there is no {lacking[0]}.lua to go back to",
            "adminkit incentives install --apply",
        )
    return a, b


def refuse_old_tables(plan: Plan) -> None:
    """AdminkitError where B's policy needs other tables than those in place, and the file names none.

    Those in place are of [a] policy, or else of this host's policy.toml, as the nightly unit makes them.
    """
    if plan.b is None or plan.tables is not None:
        return
    path, _ = find_policy(plan.a)
    old, new = load_policy(path), load_policy(plan.b)
    others = [f"[{name}]" for name in TABLES[1:] if _made_of(old, name) != _made_of(new, name) and _used(new, name)]
    if others:
        raise AdminkitError(
            f"{plan.b} has another {' and another '.join(others)} than {path}, by which the tables in place were made",
            how(plan),
        )


def how(plan: Plan) -> str:
    """What makes B's tables."""
    out = plan.tables or plan.path.parent / _PROPOSED
    policy = "" if plan.b is None else f" --policy {shlex.quote(str(plan.b))}"
    return f"adminkit incentives compute{policy} --out {shlex.quote(str(out))}" + (
        "" if plan.tables else f'; then [b] tables = "{_PROPOSED}"'
    )


def _made_of(policy: Policy, name: str) -> object:
    """The settings that a table is made of; soft limits' other settings are in the policy itself."""
    if name == "soft_limits":
        soft = policy.soft_limits
        return soft.enabled, soft.cautions, soft.max_entries
    return policy.incentives if name == "incentives" else policy.hints


def _used(policy: Policy, name: str) -> bool:
    """Without soft limits their table is not read."""
    return name != "soft_limits" or policy.soft_limits.enabled
