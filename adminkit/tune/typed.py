"""What an operator types to have a combination: policy.toml as a diff, slurm.conf, commands; the same to undo it.

Nothing is changed here. A change of policy.toml keeps its comments: single lines are edited, and the result is loaded
and compared with what was meant.
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.policy.load import examine_table
from adminkit.policy.model import Policy
from adminkit.quote import quote
from adminkit.simulate.case import Case
from adminkit.simulate.core import NONE
from adminkit.toml import parse_toml
from adminkit.tune.candidates import Choice
from adminkit.tune.levers import SCHEDULER, Setting, setting_of
from adminkit.tune.policy_edit import edited, meant
from adminkit.tune.space import Moved, Space
from adminkit.units import show_duration

#: The option with which backfill plans by the soft limit.
SOFT_OPTION: Final = "time_min_as_soft_limit"
_OF_QUEUE: Final = {"max_limit": "MaxTime", "default_limit": "DefaultTime"}
#: Users whom a sentence names.
_NAMED: Final = 5

#: The folder of B's tables of points, hints and needs, beside the trial's file.
FOLDER: Final = "tables-b"
#: What makes the tables that the trial's file names, which follow from the new policy and the trace.
_TABLES: Final = f"adminkit incentives compute --policy policy-b.toml --out {FOLDER}"

#: Section -> key -> value, of policy.toml.
Sections = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Typed:
    """What to type. `policy`: the text of the new policy.toml, None where it stays. `trial`: the trial's file.

    `slurm` has lines of slurm.conf, and comments.
    """

    policy: str | None
    diff: tuple[str, ...]
    slurm: tuple[str, ...]
    commands: tuple[str, ...]
    undo: tuple[str, ...]
    notes: tuple[str, ...]
    trial: str

    def by_title(self) -> dict[str, Sequence[str]]:
        """Lines by title, for a report; a title without lines is left out."""
        titles = {
            "policy.toml": self.diff,
            "slurm.conf": self.slurm,
            "commands": self.commands,
            "undo": self.undo,
            "note": self.notes,
        }
        return {title: lines for title, lines in titles.items() if lines}


@dataclass(frozen=True, slots=True)
class _Slurm:
    """What slurm.conf has to say, as the core has it. An option without a Setting is one by itself; None: none."""

    options: dict[str, tuple[Setting | None, int | None]] = field(default_factory=dict)
    parameters: dict[str, tuple[Setting, int]] = field(default_factory=dict)
    queues: dict[str, dict[str, int | None]] = field(default_factory=dict)


def typed_of(
    space: Space, choice: Choice, policy: str = "version = 1\n", name: str = "policy.toml", case: Case | None = None
) -> Typed:
    """What to type for a combination. `policy`: the text of policy.toml, called `name`; `case`: today's jobs, of which
    those that a queue's new limit would hit are counted.

    AdminkitError where the new policy would not be valid.
    """
    moved = space.moved(choice)
    slurm = _slurm_of(moved, space)
    sections, notes = _sections(moved, space, policy)
    new = _policy(policy, sections) if sections else None
    diff = [] if new is None else _diff(policy, new, name)
    today = _today(slurm, space)
    return Typed(
        policy=new,
        diff=tuple(diff),
        slurm=tuple(_conf(slurm)),
        commands=(*_updates(slurm), *_installs(sections, "policy-b.toml")),
        undo=(*_installs(sections, name), *_conf(today), *_updates(today)),
        notes=(*notes, *(hits(space, choice, case) if case is not None else ())),
        trial=_trial(slurm, new is not None, _has_tables(sections)),
    )


def _slurm_of(moved: Moved, space: Space) -> _Slurm:
    made = _Slurm()
    for lever, _, meaning in moved.values():
        if lever.family == "slurm":
            head, _, option = lever.name.partition(".")
            if option:
                made.options[option] = SCHEDULER[option], int(meaning)
            else:
                made.parameters[head] = setting_of(head), int(meaning)
        elif lever.family == "queue":
            queue, key = lever.place
            made.queues.setdefault(queue, {})[key] = int(meaning)
        elif lever.family == "soft_limits" and not space.settings.get(SOFT_OPTION):
            made.options[SOFT_OPTION] = None, 1
    return made


def _today(slurm: _Slurm, space: Space) -> _Slurm:
    """What it says today of the same."""
    settings = space.settings
    return _Slurm(
        {name: (known, settings.get(known.core, known.usual) if known else 0)
         for name, (known, _) in slurm.options.items()},
        {name: (known, settings[known.core]) for name, (known, _) in slurm.parameters.items()},
        {queue: {key: _limit_today(key, space.limits[queue]) for key in limits}
         for queue, limits in slurm.queues.items()},
    )  # fmt: skip


def _limit_today(key: str, limits: tuple[int | None, int | None]) -> int | None:
    """A queue without a default limit gives its longest one. Trap: scontrol cannot take DefaultTime away again."""
    longest, usual = limits
    return longest if key == "max_limit" or usual is None else usual


def _conf(slurm: _Slurm) -> list[str]:
    """Lines of slurm.conf, and comments."""
    lines = [f"{name}={setting.typed(value)}" for name, (setting, value) in slurm.parameters.items()]
    words = {name: _option(name, setting, value) for name, (setting, value) in slurm.options.items()}
    if there := [word for word in words.values() if word]:
        lines += ["# the other options of SchedulerParameters stay", f"SchedulerParameters={','.join(there)}"]
    if gone := [name for name, word in words.items() if not word]:
        lines.append(f"# leave out these options of SchedulerParameters: {', '.join(gone)}")
    if slurm.queues:
        lines.append("# in the lines of these queues; otherwise their old limits come back when slurmctld restarts")
        lines += [f"PartitionName={quote(queue)} {_keys(limits)}" for queue, limits in slurm.queues.items()]
    return lines


def _option(name: str, setting: Setting | None, value: int | None) -> str:
    """As a word of SchedulerParameters; "" for an option that is not there."""
    if value is None:
        return ""
    if setting is None or setting.unit == "switch":
        return name if value else ""
    return f"{name}={setting.typed(value)}"


def _keys(limits: Mapping[str, int | None]) -> str:
    return " ".join(f"{_OF_QUEUE[key]}={_limit(limit)}" for key, limit in limits.items())


def _limit(limit: int | None) -> str:
    return "UNLIMITED" if limit is None else show_duration(limit)


def _installs(sections: Sections, policy: str) -> list[str]:
    """The commands that put a policy in place, and its tables of points and needs."""
    names = [name for name, there in (("policy", bool(sections)), ("incentives", _has_tables(sections))) if there]
    return [f"adminkit {name} install --policy {shlex.quote(policy)} --apply" for name in names]


def _has_tables(sections: Sections) -> bool:
    return "incentives" in sections or "soft_limits" in sections


def _updates(slurm: _Slurm) -> list[str]:
    """The commands that put what slurm.conf says into the running slurmctld."""
    known = ["scontrol reconfigure"] if slurm.options or slurm.parameters else []
    return known + [f"scontrol update PartitionName={shlex.quote(queue)} {_keys(limits)}"
                    for queue, limits in slurm.queues.items()]  # fmt: skip


def _sections(moved: Moved, space: Space, policy: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """What policy.toml has to say, and what it cannot say."""
    sections: dict[str, dict[str, Any]] = {}
    points: dict[tuple[str, ...], float] = {}
    for lever, value, meaning in moved.values():
        if lever.family in ("soft_limits", "extend"):
            keys = sections.setdefault(lever.family, {"enabled": True})
            keys[lever.place[0]] = show_duration(int(meaning)) if lever.place[0] in _DURATIONS else value
        elif lever.family == "points":
            points[lever.place] = float(meaning)
    if not points:
        return sections, []
    sizes = {name: hours for (what, name), hours in points.items() if what == "size"}
    notes = []
    if sizes and space.unit != "GPU":
        notes.append(f"policy.toml gives points by GPUs, not by {space.unit}s: these points cannot be put in place")
        sizes = {}
    keys = {f"{name.replace('-', '_')}_hours": hours for (what, name), hours in points.items() if what == "class"}
    keys |= {"size_hours": dict(sorted(sizes.items(), key=lambda one: int(one[0])))} if sizes else {}
    if keys:
        today = Policy.model_validate(parse_toml(policy)).incentives
        most = max([*sizes.values(), *(hours for (what, _), hours in points.items() if what == "class")])
        if most + today.accuracy_hours > today.cap_hours:
            keys["cap_hours"] = most + today.accuracy_hours
        sections["incentives"] = keys
    return sections, notes


_DURATIONS: Final = ("least", "gap", "longest", "lead")


def _policy(text: str, sections: Sections) -> str:
    """The new text, which says what is meant and is valid."""
    new = text
    for section, keys in sections.items():
        for key, value in keys.items():
            new = edited(new, section, key, value)
    wanted = meant(parse_toml(text), sections)
    try:
        same = parse_toml(new) == wanted
    except AdminkitError:
        same = False
    if not same:
        raise AdminkitError(
            f"policy.toml is written in a way in which {', '.join(f'[{section}]' for section in sections)} cannot be "
            "edited line by line",
            "write these sections as tables with a line for each key, as etc/policy.toml does",
        )
    _, problems = examine_table(wanted)
    wrong = [one for one in problems if not one.note]
    if wrong:
        raise AdminkitError(f"the new policy would not be valid: {wrong[0]}", wrong[0].hint)
    return new


def _diff(before: str, after: str, name: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, "policy-b.toml", lineterm="", n=2)
    return list(lines)


def _trial(slurm: _Slurm, policy: bool, tables: bool) -> str:
    """The file of `adminkit trial` that compares today with this combination."""
    lines = ["# Written by adminkit tune: today's configuration (a) against what was found (b). docs/trial.md.", ""]
    lines += ["version = 1", "", "[a]", "", "[b]"]
    lines += ['policy = "policy-b.toml"'] if policy else []
    if tables:
        lines += [f"# To make this folder: {_TABLES}", f'tables = "{FOLDER}"']
    if slurm.parameters or slurm.options:
        lines += ["", "[b.slurm]"]
        lines += [f"{name} = {_toml(setting.typed(value))}" for name, (setting, value) in slurm.parameters.items()]
        words = [f"{name} = {_of_trial(setting, value)}" for name, (setting, value) in slurm.options.items()]
        lines += [f"SchedulerParameters = {{ {', '.join(words)} }}"] if words else []
    for queue, limits in slurm.queues.items():
        lines += ["", f"[b.queues.{_toml(queue)}]"]
        lines += [f"{_OF_QUEUE[key]} = {_toml(_limit(limit))}" for key, limit in limits.items()]
    return "\n".join([*lines, ""])


def _of_trial(setting: Setting | None, value: int | None) -> str:
    return _toml(bool(value) if setting is None or setting.unit == "switch" else setting.typed(value or 0))


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def next_steps(typed: Typed) -> list[str]:
    """What to type in the folder of the trial's file: what makes B's tables, where it names some, and the preview."""
    return [*([_TABLES] if f'tables = "{FOLDER}"' in typed.trial else []), "adminkit trial plan trial.toml"]


def hits(space: Space, choice: Choice, case: Case) -> list[str]:
    """Whom each new longest limit of a queue would have hit, of today's jobs."""
    import numpy as np

    found = []
    for lever, _, meaning in space.moved(choice).values():
        if lever.family != "queue" or lever.place[1] != "max_limit":
            continue
        queue, limit = lever.place[0], int(meaning)
        only = case.column("queues", 1) == 1 << case.queue(queue)
        longer = only & (case.column("run") > limit)
        asked = only & (case.column("limit") > limit)
        users = case.facts["user"][longer]
        codes, counts = np.unique(users[users != NONE], return_counts=True)
        first = codes[np.argsort(-counts, kind="stable")][:_NAMED].tolist()
        names = ", ".join(str(case.names["users"][code]) for code in first) + (", …" if len(codes) > _NAMED else "")
        found.append(
            f"{quote(queue)}: {int(longer.sum())} jobs of {len(codes)} users ran longer than {show_duration(limit)}"
            f"{f' ({quote(names)})' if names else ''}; {int(asked.sum())} jobs asked for more"
        )
    return found
