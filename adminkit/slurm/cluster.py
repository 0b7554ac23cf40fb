"""The clusters that slurmdbd keeps accounts of, slurmdbd itself, and what slurmctld still has to tell it."""

from __future__ import annotations

import calendar
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.slurm.keyvalue import given, settings
from adminkit.slurm.process import NoSuchProgram, ask
from adminkit.slurm.show_config import show_config
from adminkit.units import parse_duration
from adminkit.users import in_slurmdbd, name_of

#: Seconds for which jobs are kept that are never purged.
FOR_GOOD: Final = 1 << 61

#: Seconds by which two clocks of a cluster may differ: munge refuses what is older.
SKEW: Final = 300
#: Levels at which slurmdbd shows the jobs of others and takes questions of any length.
OPERATORS: Final = ("Operator", "Administrator")


@dataclass(frozen=True, slots=True)
class Accounting:
    """The configuration of slurmdbd. None is unknown."""

    release: str | None
    booted_at: int | None  # epoch seconds; later than last time: it restarted
    private: frozenset[str] | None  # PrivateData: jobs, usage, users …
    max_query_seconds: int | None  # MaxQueryTimeRange; None for no limit
    private_here: frozenset[str] = frozenset()  # PrivateData of this host's slurm.conf
    purges_after: int | None = None  # seconds after submission that a job is kept at least: PurgeJobAfter


def local_cluster() -> str:
    """The name of the cluster this host belongs to. With slurmctld away, slurmdbd's only cluster."""
    try:
        name = given(settings(show_config()).get("ClusterName"))
        if name is not None:
            return name
    except NoSuchProgram:
        raise
    except AdminkitError:
        if len(known := known_clusters()) == 1:
            return known[0]
        raise
    raise AdminkitError("slurmctld does not say its cluster's name", "name it with --cluster, or [sync] clusters")


def known_clusters() -> list[str]:
    """Every cluster slurmdbd keeps accounts of."""
    return ask(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"]).split()


def refuse_unknown_clusters(names: Sequence[str], known: Sequence[str]) -> None:
    """UsageError for a name that slurmdbd does not know. Trap: `sacct -M nosuch` prints nothing and exits with 0."""
    for name in names:
        if name not in known:
            raise unknown_word("cluster", name, known)


def dbd_backlog(cluster: str | None = None) -> int | None:
    """How many records slurmctld still holds for slurmdbd; None where it does not say."""
    return parse_backlog(sdiag(cluster))


def parse_backlog(text: str) -> int | None:
    match = re.search(r"^DBD Agent queue size:\s*(\d+)", text, re.MULTILINE)
    return int(match.group(1)) if match else None


def clock(cluster: str | None = None) -> int | None:
    """slurmctld's time, epoch seconds; None where it does not say. AdminkitError where it is away."""
    return parse_clock(sdiag(cluster))


def sdiag(cluster: str | None = None) -> str:
    """What slurmctld counts, as text. AdminkitError where it is away."""
    return ask(["sdiag", *on(cluster)])


def parse_clock(text: str) -> int | None:
    match = re.search(r"^sdiag output at .*\((\d+)\)$", text, re.MULTILINE)
    return int(match.group(1)) if match else None


def accounting() -> Accounting:
    """The configuration of slurmdbd, which ordinary users may see too. AdminkitError when it is away."""
    answer = parse_accounting(ask(["sacctmgr", "show", "configuration"]))
    if answer.booted_at is not None:
        return answer
    try:
        return replace(answer, booted_at=parse_stats(ask(["sacctmgr", "show", "stats"])))
    except AdminkitError:
        return answer  # only operators may see the statistics


def parse_accounting(text: str) -> Accounting:
    """The second half of `sacctmgr show configuration`; the first is this client's own.

    Traps: with slurmdbd away there is no second half, and sacctmgr exits with 0 all the same. Since 26.05 the client
    writes the second half too: without BOOT_TIME, and with PrivateData and the release of its own.
    """
    ours, there, theirs = text.partition("SlurmDBD configuration")
    if not there:
        raise AdminkitError(
            "slurmdbd is not responding", "check that slurmdbd is running and responds: sacctmgr show cluster"
        )
    words, here = settings(theirs), settings(ours)
    boot = words.get("BOOT_TIME")
    return Accounting(
        release=None if boot is None else words.get("SLURMDBD_VERSION"),
        booted_at=_epoch(boot or ""),
        private=None if boot is None else _private(words),
        max_query_seconds=parse_limit(words.get("MaxQueryTimeRange", "UNLIMITED")),
        purges_after=parse_purge(words.get("PurgeJobAfter", "")),
        private_here=_private(here),
    )


def _private(words: Mapping[str, str]) -> frozenset[str]:
    listed = words.get("PrivateData", "none")
    return frozenset() if listed == "none" else frozenset(listed.split(","))


def parse_purge(text: str) -> int | None:
    """12, 12 months*, 30days, 24 hours -> seconds, of the shortest months there are; a star: archived.

    NONE -> FOR_GOOD, anything else -> None. Trap: sacctmgr of 26.05 does not show the setting.
    """
    if text.strip().upper() == "NONE":
        return FOR_GOOD
    match = re.fullmatch(r"(\d+)\s*(hour|day|month)?s?\*?", text.strip(), re.IGNORECASE)
    if match is None:
        return None
    return int(match[1]) * {"hour": 3600, "day": 86_400, "month": 28 * 86_400}[(match[2] or "month").lower()]


def parse_stats(text: str) -> int | None:
    """When the counting of `sacctmgr show stats` began, epoch seconds: at the start, or when an operator cleared it."""
    match = re.search(r"^Data since .*\((\d+)\)$", text, re.MULTILINE)
    return int(match.group(1)) if match else None


def admin_level(user: str | None = None) -> str | None:
    """AdminLevel of a user, this process's for None: None, Operator or Administrator; None for a user without."""
    name = user or name_of(os.geteuid())
    if name is None:
        return None
    levels = dict(reversed(admin_levels(name)))
    level = next((levels[one] for one in in_slurmdbd(name) if one in levels), "")
    return None if level in ("", "None") else level


def admin_levels(*only: str) -> list[tuple[str, str]]:
    """(user, AdminLevel) of every line that slurmdbd has, or has of these users. Trap: a name may look like a line."""
    answer = ask(["sacctmgr", "-n", "-P", "show", "user", *only, "format=user,adminlevel"])
    return [(name, level) for name, _, level in (line.partition("|") for line in answer.splitlines())]


def shows_every_job() -> bool:
    """Whether slurmdbd tells this user of others' jobs. Trap: those that it hides look as if they did not exist."""
    if os.geteuid() == 0 or admin_level() in OPERATORS:
        return True
    private = accounting().private
    return private is not None and "jobs" not in private


def parse_limit(text: str) -> int | None:
    """03:00:00, 7-00:00:00, 30 (minutes) -> seconds; UNLIMITED, INFINITE, NONE -> None."""
    if not text[:1].isdigit():
        return None
    return int(text) * 60 if text.isdigit() else parse_duration(text)


def read_limit(text: str) -> tuple[int | None, str]:
    """A limit of one job among many, as parse_limit; and why it cannot be read, "" where it can."""
    try:
        return parse_limit(text), ""
    except (AdminkitError, ValueError):
        return None, f"its limit is {quote(text, 20)}"


def _epoch(text: str) -> int | None:
    """slurmdbd's own times are dates whatever SLURM_TIME_FORMAT says; process.environment() makes them UTC."""
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return int(text) if text.isdigit() else None


def on(cluster: str | None) -> list[str]:
    """The option that names a cluster to scontrol, sdiag and squeue; none for the local one."""
    return [] if cluster is None else ["-M", cluster]
