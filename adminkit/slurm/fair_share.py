"""What fair share gives to each job that waits: sprio's columns. A job of several queues has a line for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adminkit.slurm.process import ask

_PATIENCE: Final = 6.0
#: Job, queue, factor, then parts of the priority: fair share, age, association, size, queue, QOS, the site's, those
#: of TRES (cpu=1,mem=2), and nice, which is taken away.
_FIELDS: Final = "%i|%r|%f|%F|%A|%B|%J|%P|%Q|%S|%T|%N"
_LINE: Final = re.compile(
    r"(?P<job>\d{1,10})\|(?P<queue>[^|\s]+)\|(?P<factor>[01]\.\d{1,10})\|(?P<points>\d{1,18})"
    r"(?P<parts>(?:\|-?\d{1,18}){6})\|(?P<tres>[^|\s]*)\|(?P<nice>-?\d{1,18})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Share:
    """The factor (0 to 1; 1 where nothing was used), the part of the job's priority that it makes, and all other parts.

    Trap: each part is rounded and their sum is cut, so that priority less points differs between jobs that are alike.
    """

    factor: float
    points: int
    rest: int


#: Job and queue -> its share. Tasks of an array that have not split off have the array's number.
Shares = Mapping[tuple[int, str], Share]


def fair_shares() -> Shares:
    """The fair shares of all waiting jobs that are shown. AdminkitError without priority/multifactor."""
    return parse_fair_shares(ask(["sprio", "-h", "-o", _FIELDS], _PATIENCE))


def parse_fair_shares(text: str) -> Shares:
    """Passes over lines of another shape."""
    lines = (re.sub(r"[ \t]", "", line) for line in text.split("\n"))
    return {(int(one["job"]), one["queue"]): _share(one) for one in filter(None, map(_LINE.fullmatch, lines))}


def _share(one: re.Match[str]) -> Share:
    parts = [*one["parts"].split("|")[1:], *re.findall(r"=(\d{1,18})(?![\d])", one["tres"])]
    return Share(float(one["factor"]), int(one["points"]), sum(map(int, parts)) - int(one["nice"]))
