"""The records of a day: what sacct says of its jobs, and the site as Slurm describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.cluster.harness.ruled import Ruled
from tests.matrix.rows import ROOT

DATA: Final = ROOT / "tests/data/tune_real"
SITE: Final = "site.toml"
#: Those that `adminkit sync` asks for and that say something of a job which sleeps.
FIELDS: Final = (
    "Cluster", "JobID", "JobIDRaw", "JobName", "User", "UID", "Account", "Partition", "QOS", "Submit", "Eligible",
    "Start", "End", "ElapsedRaw", "State", "ExitCode", "Priority", "TimelimitRaw", "NNodes", "ReqNodes", "NCPUS",
    "ReqCPUS", "ReqMem", "AllocTRES", "ReqTRES", "NodeList",
)  # fmt: skip


def name(seed: int) -> str:
    """Of the file."""
    return f"{seed}.sacct.txt"


def told(ruled: Ruled) -> str:
    """What sacct says of all that ran, once slurmdbd knows it; times in epoch seconds."""
    ruled.cluster.settle()
    command = ("sacct", "-a", "-P", "-X", "-D", "-S", "now-2hours", "-o", ",".join(FIELDS))
    listed = ruled.cluster.run(*command, env={"SLURM_TIME_FORMAT": "%s"})
    assert listed.code == 0, listed.err
    return listed.text


def site(ruled: Ruled, to: Path) -> None:
    """The file of --site, as `adminkit site` writes it."""
    ruled.adminkit("site", "--output", to)
