"""Nodes on which runs fail that would not have failed elsewhere."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.bad_nodes import Node


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node is to blame."""

    false: float = 0.05  # of the named nodes, the share that may be wrong
    failed: int = 4  # runs
    users: int = 2  # whose runs failed on it


KIND: Final = Kind(
    "bad_node",
    "a node on which runs fail more than similar runs on other nodes",
    {
        "bad": Verdict(
            "warn",
            message("drain the node and test its hardware, its mounts and its drivers; its log shows what happened"),
        ),
        "one_of": Verdict(
            "info",
            message("one of several nodes is bad, but they ran the same jobs: run a test job on each of them"),
        ),
    },
    {
        "runs": Number("runs on the node that can be compared with similar runs on other nodes"),
        "failed": Number("of these, runs that failed or timed out; those that ended in the same hour count once"),
        "users": Number("users whose runs failed on it"),
        "groups": Number("groups of similar runs in which it was compared"),
        "ratio": Number("its failures / those of the other nodes in the same groups"),
        "ratio_low": Number("the lower end of the 95 % interval of this ratio"),
        "ratio_high": Number("the upper end"),
        "p": Number("at most this is the probability of as many failures on a node like the others"),
        "among": Number("nodes that ran the same jobs, so that any of them may be the bad one"),
    },
)
#: The name of one node. Trap: scontrol takes lists of nodes and ALL for a name, and names in a trace may come from
#: anybody's file.
_NODE: Final = re.compile(r"(?!all\Z)[a-z0-9][a-z0-9._-]*", re.ASCII | re.IGNORECASE)


def check(measure: Node, limits: Limits) -> list[Finding]:
    """One finding of a node that was named, and whose failures are several users'."""
    if not measure.among or measure.failed < limits.failed or measure.users < limits.users:
        return []
    low, high = measure.interval
    evidence = {
        "runs": measure.runs, "failed": measure.failed, "users": measure.users, "groups": measure.groups,
        "ratio": measure.ratio, "ratio_low": low, "ratio_high": high, "p": measure.p,
        "among": measure.among if measure.among > 1 else None,
    }  # fmt: skip
    alone = measure.among == 1
    subject = Subject(cluster=measure.cluster, name=measure.name)
    command = drain(measure) if alone else ""
    return [KIND.finding("bad" if alone else "one_of", subject, evidence, Stake.both(measure.used), command)]


def drain(measure: Node) -> str:
    """What an operator types to keep jobs off the node; "" where its name is not that of one node."""
    if not _NODE.fullmatch(measure.name):
        return ""
    reason = f"adminkit: {measure.failed} of {measure.runs} runs failed"
    return f"scontrol update {shlex.quote(f'NodeName={measure.name}')} State=DRAIN {shlex.quote(f'Reason={reason}')}"
