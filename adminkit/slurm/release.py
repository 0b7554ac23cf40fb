"""The release of Slurm here, the fields of its sacct and the states that it knows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.process import NoSuchProgram, ask

Release = tuple[int, int, int]

#: The oldest release adminkit is tried on.
OLDEST: Final[Release] = (22, 5, 0)

#: What ends a run, in sacct's short words. RQ: a run that was requeued; RS: one whose size changed, its other part
#: continues under its own submit time; RV: a federation sibling that another cluster took, counted and not stored.
FINISHED: Final = ("CD", "F", "TO", "CA", "NF", "PR", "BF", "DL", "OOM", "RQ", "RS", "RV")

#: What is not over yet.
OPEN: Final = ("PD", "R", "S")

_RELEASE: Final = re.compile(r"\b(\d{2})\.(\d{1,2})(?:\.(\d+))?")
_REFUSED: Final = re.compile(r"unrecognized job state value '?([A-Za-z_]+)'?")


def release() -> Release:
    """The release of the client programs here, as (22, 5, 8). AdminkitError where none is installed."""
    try:
        return parse_release(ask(["sacct", "-V"]))
    except NoSuchProgram:
        return parse_release(ask(["scontrol", "-V"]))


def parse_release(text: str) -> Release:
    """ "slurm-wlm 22.05.8" -> (22, 5, 8); "slurm 24.11.0-rc1" -> (24, 11, 0)."""
    match = _RELEASE.search(text)
    if match is None:
        raise AdminkitError(f"no release in the output of Slurm: {text.strip()[:80]!r}", "`sacct -V` should print one")
    major, minor, micro = match.groups()
    return int(major), int(minor), int(micro or 0)


def show_release(release: Release) -> str:
    """(22, 5, 8) -> 22.05.8, as Slurm writes it."""
    return f"{release[0]}.{release[1]:02}.{release[2]}"


def sacct_fields() -> frozenset[str]:
    """The fields this sacct can print. Trap: one field too many and it prints nothing at all.

    sacct connects to slurmdbd even for this; that of 26.05 no longer does.
    """
    return parse_fields(ask(["sacct", "--helpformat"]))


def parse_fields(text: str) -> frozenset[str]:
    """The words of `sacct --helpformat`."""
    fields = frozenset(text.split())
    if not {"JobID", "JobIDRaw", "Submit"} <= fields:
        raise AdminkitError("`sacct --helpformat` does not list JobID", "look at what it prints: sacct --helpformat")
    return fields


def finished_states(states: Iterable[str] = FINISHED) -> tuple[str, ...]:
    """The `states` that this sacct knows; it refuses the whole question for one that it does not.

    No jobs are asked for. Trap: even so sacct connects to slurmdbd first, and fails where that is away; that of 26.05
    does not.
    """
    left = list(states)
    while left:
        try:
            ask(["sacct", "-s", ",".join(left), "--helpformat"])
            break
        except AdminkitError as error:
            refused = _REFUSED.search(error.message)
            if refused is None or refused.group(1) not in left:
                raise
            left.remove(refused.group(1))
    return tuple(left)
