"""Look up again who passes every rule: the rules then hold whoever is no longer an operator.

policy.lua has the uids of its installation. `refresh` puts today's in their place, in the policy that is in force and
in the one that a rollback would bring back; nothing else of either changes. Who is an operator is asked of slurmdbd by
root's own process: nothing that user adminkit wrote is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from adminkit.deploy.bundle import tables_only
from adminkit.deploy.files import changing, generation_of, put_file, read_text, same_content, table_path, usable
from adminkit.deploy.install import Done, Target, apply
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.lua.literal import literal
from adminkit.users import name_of

_OPEN: Final = "\nreturn {\n"
_CLOSE: Final = "}\n"
#: An entry of the table: its name, then its lines. Every line that adminkit writes inside one is indented further.
_ENTRY: Final = re.compile(r'^  \["(\w+)"\] = .*\n(?:(?:    .*|  \},?)\n)*', re.MULTILINE)
_UID: Final = re.compile(r"\[(\d+)\] = true")
_MADE: Final = ("generation", "made_at")


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What the look-up changes: uids that pass no longer and uids that pass from now on, and the policy's new text."""

    gone: tuple[int, ...]
    come: tuple[int, ...]
    text: str

    @property
    def changes(self) -> bool:
        return bool(self.gone or self.come)


def refreshed(text: str, privileged: Iterable[int], unsure: bool = False) -> Refreshed:
    """A policy's text with these uids, and those that its file names, as the ones who pass.

    `unsure`: the name of an operator has no uid on this host, for now or for good. Who passed and has no name on this
    host may be that operator, and passes on.

    It says when its rules were made, as before: so it is the same on every host, whenever each asks. AdminkitError for
    a text that is not, byte for byte, what adminkit writes: its generation is worked out again.
    """
    head, entries = _taken_apart(text)
    if _generation(entries) != generation_of(text):
        raise AdminkitError("the policy in force was changed by hand", "adminkit policy install --apply puts it right")
    before = _uids(entries["exempt"])
    after = set(privileged) | _uids(entries["exempt_named"])
    if unsure:
        after |= {uid for uid in before - after if name_of(uid) is None}
    if after == before:
        return Refreshed((), (), text)
    entries["exempt"] = _entry("exempt", after)
    entries["generation"] = _entry("generation", _generation(entries))
    return Refreshed(
        tuple(sorted(before - after)), tuple(sorted(after - before)), head + "".join(entries.values()) + _CLOSE
    )


def rules_digest(text: str) -> str:
    """The digest of the rules: a policy whose operators were looked up again, or that was made again, has the same.

    For a text that adminkit did not write, it covers the whole text.
    """
    try:
        entries = _taken_apart(text)[1]
    except AdminkitError:
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    content = "".join(lines for name, lines in sorted(entries.items()) if name not in (*_MADE, "exempt"))
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def with_operators_of(text: str, in_force: str) -> str:
    """`text` with the operators of the policy in force: one who lost the right since it was made does not get it back.

    AdminkitError where either is not, byte for byte, what adminkit writes.
    """
    entries = _taken_apart(in_force)[1]
    return refreshed(text, _uids(entries["exempt"]) - _uids(entries["exempt_named"])).text


def look(target: Target, privileged: Iterable[int], unsure: bool = False) -> Refreshed | None:
    """What would change; None where no rules are installed."""
    text = _in_force(target)
    return None if text is None else refreshed(text, privileged, unsure)


def refresh(target: Target, privileged: Iterable[int], unsure: bool = False) -> tuple[Refreshed | None, Done | None]:
    """Do it, and have slurmctld use it; no Done where nothing had to be done.

    A rollback goes back by one install, as before: the previous policy stays the previous one.
    """
    text, uids = _in_force(target), tuple(privileged)
    if text is None:
        return None, None
    renewed, done = refreshed(text, uids, unsure), None
    before = read_text(table_path(target.folder, "policy", "previous"))
    try:
        if renewed.changes:
            done = apply(tables_only({"policy": renewed.text}), target, "policy refresh")
    finally:
        _keep_previous(target, before, text, uids, unsure)
    return renewed, done


def _keep_previous(target: Target, before: str | None, replaced: str, uids: Iterable[int], unsure: bool) -> None:
    """Let the previous policy be the one of `before`, with today's uids, unless somebody has installed meanwhile."""
    path = table_path(target.folder, "policy", "previous")
    if before is not None and usable("policy", before, check_table):
        try:
            wanted: str | None = refreshed(before, uids, unsure).text
        except AdminkitError:
            wanted = before
    else:
        wanted = before
    with changing(target.folder, target.group):
        there = read_text(path)
        if there == wanted or there not in (before, replaced):
            return
        if wanted is None:
            path.unlink()
        else:
            put_file(path, wanted, target.group)


def _in_force(target: Target) -> str | None:
    """The text in force; None without one. AdminkitError for one that is damaged or half put."""
    text, good = (read_text(table_path(target.folder, "policy", kind)) for kind in ("", "good"))
    if text is None and good is None:
        return None
    if not usable("policy", text, check_table) or not same_content(text, good):
        raise AdminkitError(
            f"the policy in {target.folder} is damaged, or its install was interrupted",
            "adminkit policy status shows it; adminkit policy install --apply puts it right",
        )
    return text


def _taken_apart(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first entry, and the lines of each by its name."""
    head, opening, rest = text.partition(_OPEN)
    entries = {found.group(1): found.group(0) for found in _ENTRY.finditer(rest)}
    lacking = {"exempt", "exempt_named", *_MADE} - entries.keys()
    if lacking or "".join(entries.values()) + _CLOSE != rest:
        raise AdminkitError(
            "the policy in force was not made by this adminkit", "adminkit policy install --apply makes it again"
        )
    return head + opening, entries


def _generation(entries: dict[str, str]) -> str:
    """The text's generation, as compile.generation makes it."""
    content = "".join(lines for name, lines in entries.items() if name not in _MADE)
    return hashlib.sha256(f"{{\n{content}}}".encode("ascii", "replace")).hexdigest()[:12]


def _entry(name: str, value: set[int] | str) -> str:
    return f'  ["{name}"] = {literal(value, 1)},\n'


def _uids(lines: str) -> set[int]:
    return {int(uid) for uid in _UID.findall(lines)}
