"""QOS and associations, as slurmdbd has them.

Trap: sacctmgr escapes nothing and its delimiter is fixed, and a coordinator may give a new user a name that looks like
lines of its list. So a record of an association begins with columns in an order that is drawn for the question: whoever
chose the name could not know it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Final

from adminkit.slurm.cluster import parse_limit
from adminkit.slurm.keyvalue import number
from adminkit.slurm.process import TIMEOUT, ask
from adminkit.slurm.site import Association, SiteQos
from adminkit.slurm.site_file import MOST, bad_name

#: How many columns in an unknown order a record begins with.
_DRAWN: Final = 64
_FIELDS: Final = ("Account", "User", "Partition", "ParentName", "Share", "MaxWall", "QOS", "DefaultQOS")
#: 100G, 62.50G; megabytes where no unit stands there.
_MEMORY: Final = re.compile(r"(\d{1,15}(?:\.\d{1,2})?)([KMGTPE]?)", re.ASCII)
_QOS_FIELDS: Final = (
    "Name",
    "Priority",
    "MaxWall",
    "Flags",
    "Preempt",
    "MaxTRES",
    "MaxTRESPU",
    "GrpTRES",
    "MaxJobsPU",
    "GrpJobs",
)


def qos() -> list[SiteQos]:
    """Every QOS. Only administrators name one."""
    return parse_qos(ask(["sacctmgr", "-n", "-P", "show", "qos", f"format={','.join(_QOS_FIELDS)}"]))


def parse_qos(text: str) -> list[SiteQos]:
    rows = []
    for line in text.split("\n"):
        cells = line.split("|")
        if len(cells) != len(_QOS_FIELDS) or bad_name(cells[0]):
            continue
        name, priority, limit, flags, preempts, tres, user_tres, group_tres, user_jobs, group_jobs = cells
        rows.append(
            SiteQos(
                name,
                number(priority) or 0,
                parse_limit(limit),
                _set(flags),
                _set(preempts),
                parse_tres(tres),
                parse_tres(user_tres),
                parse_tres(group_tres),
                number(user_jobs),
                number(group_jobs),
            )
        )
    return rows


def associations(cluster: str, user: str | None = None, patience: float = TIMEOUT) -> list[Association]:
    """Every association of a cluster, or those of one user in it, as far as this user may see them."""
    order = [bool(secrets.randbits(1)) for _ in range(_DRAWN)]
    # Trap: of two equal columns sacctmgr prints one, so that each has a width of its own; -P prints them whole.
    drawn = [f"{'Cluster' if first else 'ID'}%{width}" for width, first in enumerate(order, start=20)]
    columns = ",".join([*drawn, *_FIELDS])
    whose = [] if user is None else [f"user={user}"]
    words = ["sacctmgr", "-n", "-P", "show", "assoc", f"cluster={cluster}", *whose, f"format={columns}"]
    answer = ask(words, patience)
    return parse_associations(answer, cluster, order)


def parse_associations(text: str, cluster: str, order: list[bool]) -> list[Association]:
    """The lines that begin with the cluster's name and one number in this order; any other is somebody's text."""
    begin, known = "", False
    for first in order:
        begin += re.escape(cluster) if first else r"(?P=id)" if known else r"(?P<id>\d+)"
        known = known or not first
        begin += r"\|"
    lines = re.finditer(rf"^{begin}(?P<cells>[^\n]*)$", text, re.MULTILINE)
    rows = []
    for cells in (line["cells"].split("|") for line in lines):
        if len(cells) != len(_FIELDS) or any(bad_name(name) for name in cells[:4] if name):
            continue
        account, user, queue, parent, shares, limit, allowed, default = cells
        rows.append(
            Association(
                account,
                user or None,
                queue or None,
                parent or None,
                number(shares),
                parse_limit(limit),
                _set(allowed),
                default or None,
            )
        )
    return rows


def parse_tres(text: str) -> Mapping[str, int]:
    """cpu=4,gres/gpu=8,mem=100G -> numbers; memory in bytes. A word that is not a number is left out."""
    counts = {}
    for item in text.split(","):
        name, _, count = item.partition("=")
        value = _memory(count) if name == "mem" else number(count)
        if value is not None and not bad_name(name):
            counts[name] = value
    return counts


def _memory(text: str) -> int | None:
    match = _MEMORY.fullmatch(text)
    if match is None:
        return None
    size = int(float(match[1]) * (1 << 10 * (" KMGTPE".index(match[2] or "M"))))
    return size if size <= MOST else None


def _set(text: str) -> frozenset[str]:
    return frozenset(name for name in text.split(",") if not bad_name(name))
