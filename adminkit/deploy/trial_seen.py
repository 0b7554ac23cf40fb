"""What is in place of a trial's parts now, and whose it is: A's, B's, either's, or somebody else's.

Parts are the policy, the included file, each parameter of slurmctld, each key of a queue, and each parameter that
slurm.conf itself has. A part that is neither A's nor B's was changed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from adminkit.deploy.files import read_text, same_content, table_path, usable
from adminkit.deploy.refresh import rules_digest
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import Side
from adminkit.deploy.trial_sides import INCLUDED, Pair
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm import switching
from adminkit.slurm.conf_lines import conf_lines
from adminkit.slurm.run_time import same
from adminkit.slurm.switching import Holds

Kind = Literal["policy", "table", "included", "parameter", "queue", "conf"]
Whose = Literal["a", "b", "both", "other"]
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Part:
    kind: Kind
    name: str  # PriorityWeightAge; gq MaxTime; "" for the policy and the included file
    whose: Whose
    now: str  # what is there, as far as it can be shown

    def is_of(self, side: Side) -> bool:
        return self.whose in ("both", side)

    @property
    def words(self) -> str:
        what = {"policy": "the policy", "included": INCLUDED, "conf": f"{self.name} in slurm.conf"}
        return what.get(self.kind, self.name) + (f" is {quote(self.now[:_LONGEST])}" if self.now else "")


@dataclass(frozen=True, slots=True)
class Seen:
    """`holds` None: slurmctld was away, as `away` says; then only files are among the parts."""

    parts: tuple[Part, ...]
    holds: Holds | None
    away: str = ""

    def whole(self, side: Side) -> bool:
        """Whether everything is that side's. What slurm.conf itself has does not count here."""
        return self.holds is not None and all(part.is_of(side) for part in self.parts if part.kind != "conf")

    def by_hand(self, side: Side | None) -> list[Part]:
        """The parts that somebody changed. `side` is what the trial had put in place; None: a switch was under way.

        A queue's key that has the other side's value was set back by a reconfigure or a restart of slurmctld, which
        read slurm.conf; points, hints and needs come again every night: both are put right, and nobody's hand.
        """
        strict = ("policy", "included", "parameter")
        return [
            part
            for part in self.parts
            if part.kind != "table"
            and (part.whose == "other" or (side and part.kind in strict and not part.is_of(side)))
        ]


def look(folder: Path, pair: Pair, own: Mapping[str, str], ask: bool = True) -> Seen:
    """What is there; `own`: what slurm.conf itself had of the parameters. AdminkitError where a file is unreadable."""
    parts = [*_files(folder, pair, own)]
    holds, away = None, ""
    if ask:
        try:
            holds = switching.holds()
        except AdminkitError as error:
            away = error.message
    if holds is not None:
        parts += _held(holds, pair)
    return Seen(tuple(parts), holds, away)


def _files(folder: Path, pair: Pair, own: Mapping[str, str]) -> Iterator[Part]:
    if pair.a.policy:
        rules = rules_digest(policy_in_place(folder) or "")
        yield Part("policy", "", _whose(rules == pair.a.rules, rules == pair.b.rules), "")
    for name in sorted({*pair.a.tables, *pair.b.tables}):
        there = read_text(table_path(folder, name))
        a, b = (same_content(there, one.tables.get(name)) for one in (pair.a, pair.b))
        yield Part("table", name, _whose(a or name not in pair.a.tables, b), "")  # A reads none that it has not
    if pair.a.slurm:
        text = read_text(folder / INCLUDED)
        a, b = (text == one.text for one in (pair.a, pair.b))
        yield Part("included", "", _whose(a, b), "" if text is not None else "not there")
        now = conf_lines(folder / "slurm.conf", pair.a.slurm, INCLUDED)
        for name in pair.a.slurm:
            is_same = now.get(name) == own.get(name)
            yield Part("conf", name, "both" if is_same else "other", now.get(name, "not there"))


def _held(holds: Holds, pair: Pair) -> Iterator[Part]:
    for name in pair.a.slurm:
        there = switching.parameter(holds, name)
        yield Part("parameter", name, _by_value(name, there, pair.a.slurm[name], pair.b.slurm[name]), there or "")
    for queue, keys in pair.a.queues.items():
        record = holds.queues.get(queue)
        for key, value in keys.items():
            there = None if record is None else record.get(key)
            whose = _by_value(key, there, value, pair.b.queues[queue][key])
            yield Part("queue", f"{queue} {key}", whose, there or "not there")


def _by_value(name: str, there: str | None, a: str, b: str) -> Whose:
    return _whose(same_or_odd(name, there, a), same_or_odd(name, there, b))


def _whose(is_a: bool, is_b: bool) -> Whose:
    return "both" if is_a and is_b else "a" if is_a else "b" if is_b else "other"


def same_or_odd(name: str, one: str | None, other: str) -> bool:
    """Like run_time.same, for text that slurmctld printed and that may be of no known form."""
    try:
        return same(name, one, other)
    except (AdminkitError, ValueError):
        return one == other


def policy_in_place(folder: Path) -> str | None:
    """The text that slurmctld goes by; None without one that it could use."""
    for kind in ("", "good"):
        text = read_text(table_path(folder, "policy", kind))
        if usable("policy", text, check_table):
            return text
    return None
