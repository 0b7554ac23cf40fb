"""Slurm's reason why a job waits, as a sentence: what it means, and what the job's owner can do.

The codes are those of src/common/job_state_reason.c (before 23.11 slurm_protocol_defs.c), 22.05 to 26.05. Limits have
names made of parts (QOSMaxGRESPerUser, AssocGrpCPURunMinutesLimit), so their sentences are made of parts too.
"""

from __future__ import annotations

import re
from typing import Final

from adminkit.slurm import reasons_ja as ja

#: Code -> sentence.
SENTENCES: Final[dict[str, str]] = {
    "None": "the scheduler has not looked at it yet: look again in a minute",
    "Priority": "jobs of higher priority are before it in this queue; a shorter --time may start it in a gap",
    "Resources": "it is next, and waits for nodes, CPUs, memory or GPUs to become free",
    "Dependency": "it waits for other jobs (--dependency)",
    "DependencyNeverSatisfied": "the job it depends on ended otherwise than it asks for: cancel it with scancel",
    "BeginTime": "its begin time (--begin), or the pause after a requeue, has not come yet",
    "Prolog": "the prolog runs on its nodes: it starts in a moment",
    "Cleaning": "an earlier run of it is still being cleaned up",
    "JobHeldUser": "its owner held it: release it with scontrol release",
    "JobHeldAdmin": "an administrator held it: ask them",
    "JobHoldMaxRequeue": "it failed to start too often and was held: look at its output, then scontrol release",
    "JobArrayTaskLimit": "as many tasks of the array run as it allows (the % in --array)",
    "Licenses": "it waits for licences (--licenses) that others use",
    "Reservation": "its reservation has not begun or has no room (--reservation)",
    "ReservationDeleted": "its reservation was deleted: scontrol update JobId=… ReservationName=",
    "ReservationInvalid": "its reservation is not valid for it: ask who made it, or take --reservation away",
    "ReqNodeNotAvail": "a node it asks for is down, drained or reserved, as before a maintenance; a shorter --time may"
    " end before it",
    "PartitionDown": "its queue starts no jobs now",
    "PartitionInactive": "its queue takes and starts no jobs now",
    "PartitionNodeLimit": "it asks for more nodes than its queue allows, or for nodes that are not up",
    "PartitionTimeLimit": "it asks for more time than its queue allows: a lower limit, or another queue",
    "PartitionConfig": "it asks for what its queue does not allow (nodes, account, QOS …)",
    "NodeDown": "a node it asks for is down",
    "FrontEndDown": "no front end is up",
    "BadConstraints": "no node has what it asks for (--constraint, --gres, --mem …): correct it, or cancel it",
    "Constraints": "no node has the features it asks for now (--constraint)",
    "MaxMemPerLimit": "it asks for more memory per CPU or node than is allowed",
    "AccountNotAllowed": "its account may not use this queue: another -A or -p",
    "QOSNotAllowed": "its QOS may not be used in this queue: another -q or -p",
    "InvalidAccount": "its account is not valid: another -A, or ask an administrator",
    "InvalidQOS": "its QOS is not valid: another -q, or ask an administrator",
    "AccountingPolicy": "a limit of its account or QOS holds it",
    "QOSUsageThreshold": "the use of its account is above what its QOS takes",
    "AssociationJobLimit": "its account has as many jobs as it may have",
    "AssociationResourceLimit": "its account uses as much as it may use",
    "AssociationTimeLimit": "its account has used its time",
    "QOSJobLimit": "its QOS has as many jobs as it may have",
    "QOSResourceLimit": "its QOS uses as much as it may use",
    "QOSTimeLimit": "its QOS has used its time",
    "BurstBufferOperation": "an operation of its burst buffer failed",
    "BurstBufferResources": "it waits for room in the burst buffer",
    "BurstBufferStageIn": "its data is on the way into the burst buffer",
    "DeadLine": "it cannot end before its --deadline any more",
    "FedJobLock": "another cluster of the federation looks at it now",
    "MaxPoweredUpNodes": "as many nodes are powered up as may be",
    "MpiPortsBusy": "it waits for ports of MPI to become free",
    "SchedDefer": "the scheduler is put off: look again later",
    "SystemFailure": "Slurm failed to start it: ask an administrator",
    "JobLaunchFailure": "its launch failed: look at its output; a path or a node may be bad",
    "PowerNotAvail": "there is no electrical power for it now",
    "PowerReserved": "electrical power is reserved for others",
}
#: How slurmctld's own words begin where it has some in place of a code -> sentence. Some releases write _ for blanks.
_WORDS: Final = {
    "Nodes required for job are DOWN": "no node for it is up: down, drained or kept for jobs of higher priority",
    "job requeued in held state": "it was requeued and is held: release it with scontrol release",
    "launch failed requeued held": "its start failed and it is held: look at its output, then scontrol release",
    "user env retrieval failed": "its environment could not be read (--export, --get-user-env) and it is held",
}
#: Part of a limit's name -> what it is of.
_WHAT: Final = {
    "Submit": "jobs in the queue",
    "Job": "running jobs",
    "License": "licences",
    "Billing": "billing units",
    "Energy": "energy",
    "Mem": "memory",
    "GRES": "GPUs and other GRES",
    "Node": "nodes",
    "Cpu": "CPUs",
    "CPU": "CPUs",
    "Wall": "time",
    "BB": "burst buffer",
    "Unknown": "of one resource",
}
_LIMIT: Final = re.compile(
    rf"(?P<whose>QOS|Assoc|)(?P<kind>Grp|Max|Min)(?P<what>{'|'.join(_WHAT)})(?:Jobs?|Duration|ory|s|)"
    r"(?P<minutes>RunMin(?:ute)?s|Minutes|)(?P<per>PerJob|PerNode|PerUser|PerAccount|)(?:Limit|NotSatisfied|)"
)
_PER: Final = {"PerJob": "one job", "PerNode": "one node", "PerUser": "a user", "PerAccount": "an account"}


def meaning(code: str, language: str = "en") -> str:
    """One sentence for a code of Slurm's, or for words in its place, in English or Japanese ("ja"); what it was given
    where it is unknown.

    Slurm may add words behind a code (ReqNodeNotAvail, UnavailableNodes:n1): these stay.
    """
    plain = code.replace("_", " ").lstrip("(")
    words, sentences = (ja.WORDS, ja.SENTENCES) if language == "ja" else (_WORDS, SENTENCES)
    if said := next((said for begin, said in words.items() if plain.startswith(begin)), None):
        return said
    word, _, more = code.partition(",")
    found = sentences.get(word) or _limit(word, language)
    if found is None:
        return code
    return f"{found} ({more.strip()})" if more.strip() else found


def _limit(code: str, language: str) -> str | None:
    """The sentence for a limit's name, made of its parts; None for any other word."""
    parts = _LIMIT.fullmatch(code)
    if parts is None:
        return None
    if language == "ja":
        return ja.limit(parts.groupdict())
    of, kind, per = "its account" if parts["whose"] == "Assoc" else "its QOS", parts["kind"], parts["per"]
    what = _WHAT[parts["what"]]
    later = parts["minutes"].startswith("Run")
    if later:
        what += " times the time that is left"
    elif parts["minutes"]:
        what += " times minutes"
    if kind == "Min":
        return f"it asks for less {what} than {of} takes as the least: ask for more, or another QOS"
    if per in ("PerJob", "PerNode"):
        return f"it asks for more {what} than {of} allows {_PER[per]}: it will not start; ask for less"
    if kind == "Grp" and (parts["minutes"] == "Minutes" or parts["what"] == "Wall"):
        return f"{of} has used all its {what}: it waits until that use has faded, or ask an administrator"
    shorter = "; a shorter --time counts less" if later else ""
    if per:
        return f"{_PER[per]} of {of} may have no more {what}: it waits until jobs have ended{shorter}"
    together = "the jobs of all its users together" if kind == "Grp" else "your jobs in it"
    return f"{of} allows {together} no more {what}: it waits until some have ended{shorter}"
