"""The two configurations of a trial day, and how one is put in place without a restart: policy.toml and slurm.conf."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.harness.processes import ClusterError
from tests.cluster.harness.ruled import HEAD, Ruled
from tests.soft_real.cluster import tables
from tests.soft_real.history import QUIET
from tests.tune_real.records import DATA

PICK: Final = DATA / "pick.json"
_PARAMETERS: Final = "SchedulerParameters"


@dataclass(frozen=True, slots=True)
class Side:
    """`slurm`: lines of slurm.conf as a trial's file has them, SchedulerParameters option by option."""

    policy: str
    slurm: Mapping[str, Any]


#: What adminkit and Slurm have by themselves, and the settings of these days' shape.
DEFAULTS: Final = Side(HEAD + QUIET, {})


def picked() -> Side:
    """What `adminkit tune` wrote."""
    found = json.loads(PICK.read_text())
    return Side(found["policy"], found["slurm"])


def with_lines(conf: str, changes: Mapping[str, Any]) -> str:
    """slurm.conf with other values: a line takes the place of one of its key, or stands at the end."""
    for key, value in changes.items():
        pattern = re.compile(rf"^{re.escape(key)}=(.*)$", re.MULTILINE | re.IGNORECASE)
        there = pattern.search(conf)
        words = _merged(there[1] if there else "", value) if key == _PARAMETERS else str(value)
        line = f"{key}={words}"
        conf = f"{conf[: there.start()]}{line}{conf[there.end() :]}" if there else f"{conf}{line}\n"
    return conf


def _merged(before: str, options: Mapping[str, Any]) -> str:
    """True is an option without a value, False one that is taken away."""
    words = {word.partition("=")[0]: word for word in before.split(",") if word}
    for name, value in options.items():
        words[name] = "" if value is False else name if value is True else f"{name}={value}"
    return ",".join(filter(None, words.values()))


def put(ruled: Ruled, side: Side, base: str, trace: Path) -> None:
    """Have it in force, with its tables of points and needs; `base` is the slurm.conf that it changes. ClusterError
    where slurmctld has something else.
    """
    ruled.rules(side.policy)
    tables(ruled, trace)
    conf, wanted = ruled.cluster.home / "slurm.conf", with_lines(base, side.slurm)
    if conf.read_text() != wanted:
        conf.write_text(wanted)
        ruled.cluster.ask("scontrol", "reconfigure")
        ruled.cluster.until_idle()
    told = dict(re.findall(r"^(\w+)\s+= (.*?)\s*$", ruled.cluster.ask("scontrol", "show", "config"), re.MULTILINE))
    for key in {*side.slurm, _PARAMETERS}:
        line = re.search(rf"^{re.escape(key)}=(.*)$", wanted, re.MULTILINE)
        if line is None or told.get(key) != line[1]:
            raise ClusterError(f"{key} is {told.get(key)} and not {line and line[1]}")
