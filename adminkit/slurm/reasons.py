"""Slurm's reason why a job waits, as a sentence: what it means, and what the job's owner can do.

The codes are those of src/common/job_state_reason.c (before 23.11 slurm_protocol_defs.c), 22.05 to 26.05. Limits have
names made of parts (QOSMaxGRESPerUser, AssocGrpCPURunMinutesLimit), so their sentences are made of parts too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from adminkit.messages import Message, joined, message

#: Code -> sentence.
SENTENCES: Final[Mapping[str, Message]] = {
    "None": message("the scheduler has not looked at it yet: look again in a minute"),
    "Priority": message(
        "jobs with higher priority are ahead of this job in the queue; with a shorter --time it may start in a gap"
    ),
    "Resources": message("it is next, and waits for nodes, CPUs, memory or GPUs to become free"),
    "Dependency": message("it waits for other jobs (--dependency)"),
    "DependencyNeverSatisfied": message(
        "the job it depends on did not end as --dependency requires: cancel it with scancel"
    ),
    "BeginTime": message("its begin time (--begin) has not come yet, or the pause after a requeue is not over"),
    "Prolog": message("the prolog runs on its nodes: it starts in a moment"),
    "Cleaning": message("its previous run is still being cleaned up"),
    "JobHeldUser": message("its owner held it: release it with scontrol release"),
    "JobHeldAdmin": message("an administrator held it: ask your administrators"),
    "JobHoldMaxRequeue": message(
        "it failed to start too often and was held: look at its output, then scontrol release"
    ),
    "JobArrayTaskLimit": message("the array is already running as many tasks as it allows (the % in --array)"),
    "Licenses": message("it waits for licences (--licenses) that other jobs are using"),
    "Reservation": message("its reservation has not begun or has no room (--reservation)"),
    "ReservationDeleted": message("its reservation was deleted: scontrol update JobId=… ReservationName="),
    "ReservationInvalid": message("it may not use its reservation: ask whoever created it, or remove --reservation"),
    "ReqNodeNotAvail": message(
        "a node it asks for is down, drained or reserved, for example ahead of maintenance; a job with a shorter --time"
        " may end before then"
    ),
    "PartitionDown": message("its queue is down: it starts no jobs at the moment"),
    "PartitionInactive": message("its queue is inactive: it neither accepts nor starts jobs at the moment"),
    "PartitionNodeLimit": message("it asks for more nodes than its queue allows, or for nodes that are not up"),
    "PartitionTimeLimit": message(
        "it asks for more time than its queue allows: set a lower limit or use another queue"
    ),
    "PartitionConfig": message("it asks for something that its queue does not allow (nodes, account, QOS …)"),
    "NodeDown": message("a node it asks for is down"),
    "FrontEndDown": message("no front end is up"),
    "BadConstraints": message("no node has what it asks for (--constraint, --gres, --mem …): correct it, or cancel it"),
    "Constraints": message("no node currently has the features it asks for (--constraint)"),
    "MaxMemPerLimit": message("it asks for more memory per CPU or node than is allowed"),
    "AccountNotAllowed": message("its account may not use this queue: use another -A or -p"),
    "QOSNotAllowed": message("its QOS may not be used in this queue: use another -q or -p"),
    "InvalidAccount": message("its account is not valid: use another -A, or ask an administrator"),
    "InvalidQOS": message("its QOS is not valid: use another -q, or ask an administrator"),
    "AccountingPolicy": message("a limit of its account or QOS holds it"),
    "QOSUsageThreshold": message("its account is using more than its QOS allows"),
    "AssociationJobLimit": message("its account already has as many jobs as it is allowed"),
    "AssociationResourceLimit": message("its account is already using all that it is allowed to"),
    "AssociationTimeLimit": message("its account has used up its time"),
    "QOSJobLimit": message("its QOS already has as many jobs as it is allowed"),
    "QOSResourceLimit": message("its QOS is already using all that it is allowed to"),
    "QOSTimeLimit": message("its QOS has used up its time"),
    "BurstBufferOperation": message("an operation on its burst buffer failed"),
    "BurstBufferResources": message("it waits for room in the burst buffer"),
    "BurstBufferStageIn": message("its data is being copied into the burst buffer"),
    "DeadLine": message("it can no longer end before its --deadline"),
    "FedJobLock": message("another cluster in the federation is looking at it"),
    "MaxPoweredUpNodes": message("the limit on powered-up nodes has been reached"),
    "MpiPortsBusy": message("it waits for MPI ports to become free"),
    "SchedDefer": message("Slurm has deferred scheduling it: look again later"),
    "SystemFailure": message("Slurm failed to start it: ask an administrator"),
    "JobLaunchFailure": message("its launch failed: look at its output; a path or a node may be bad"),
    "PowerNotAvail": message("there is no electrical power for it now"),
    "PowerReserved": message("electrical power is reserved for other jobs"),
}
#: How slurmctld's own words begin where it has some in place of a code -> sentence. Some releases write _ for blanks.
_WORDS: Final = {
    "Nodes required for job are DOWN": message(
        "every node it could use is down, drained or kept for jobs of higher priority"
    ),
    "job requeued in held state": message("it was requeued and is held: release it with scontrol release"),
    "launch failed requeued held": message("it failed to start and is held: look at its output, then scontrol release"),
    "user env retrieval failed": message("its environment could not be read (--export, --get-user-env), so it is held"),
}
#: Part of a limit's name -> what it is of.
_WHAT: Final = {
    "Submit": message("jobs in the queue"),
    "Job": message("running jobs"),
    "License": message("licences"),
    "Billing": message("billing units"),
    "Energy": message("energy"),
    "Mem": message("memory"),
    "GRES": message("GPUs and other GRES"),
    "Node": message("nodes"),
    "Cpu": message("CPUs"),
    "CPU": message("CPUs"),
    "Wall": message("time"),
    "BB": message("burst buffer"),
    "Unknown": message("of one resource"),
}
_LIMIT: Final = re.compile(
    rf"(?P<whose>QOS|Assoc|)(?P<kind>Grp|Max|Min)(?P<what>{'|'.join(_WHAT)})(?:Jobs?|Duration|ory|s|)"
    r"(?P<minutes>RunMin(?:ute)?s|Minutes|)(?P<per>PerJob|PerNode|PerUser|PerAccount|)(?:Limit|NotSatisfied|)"
)
#: Part of a limit's name -> whom it allows something.
_PER: Final = {
    "PerJob": message("one job"),
    "PerNode": message("one node"),
    "PerUser": message("a user"),
    "PerAccount": message("an account"),
}


def meaning(code: str) -> str:
    """One sentence for a code of Slurm's, or for words in its place; what it was given where it is unknown.

    Slurm may add words behind a code (ReqNodeNotAvail, UnavailableNodes:n1): these stay.
    """
    plain = code.replace("_", " ").lstrip("(")
    if said := next((said for begin, said in _WORDS.items() if plain.startswith(begin)), None):
        return said
    word, _, more = code.partition(",")
    found = SENTENCES.get(word) or _limit(word)
    if found is None:
        return code
    return joined(" ", (found, f"({more.strip()})")) if more.strip() else found


def _limit(code: str) -> Message | None:
    """The sentence for a limit's name, made of its parts; None for any other word."""
    parts = _LIMIT.fullmatch(code)
    if parts is None:
        return None
    kind, per, what = parts["kind"], parts["per"], _WHAT[parts["what"]]
    later = parts["minutes"].startswith("Run")
    if later:
        what = message("run minutes of {what}", what=what)
    elif parts["minutes"]:
        what = message("minutes of {what}", what=what)
    of = message("its account") if parts["whose"] == "Assoc" else message("its QOS")
    values = {
        "what": what,
        "of": of,
        "shorter": message("; with a shorter --time, the job counts less") if later else "",
    }
    if kind == "Min":
        return message("it asks for less {what} than {of} requires: ask for more, or another QOS", **values)
    if per in ("PerJob", "PerNode"):
        return message(
            "it asks for more {what} than {of} allows {whom}: it will not start; ask for less",
            **values,
            whom=_PER[per],
        )
    if kind == "Grp" and (parts["minutes"] == "Minutes" or parts["what"] == "Wall"):
        return message(
            "{of} has used all its {what}: the job waits until that use has decayed; or ask an administrator", **values
        )
    if per:
        return message(
            "{whom} of {of} may have no more {what}: the job waits until other jobs have ended{shorter}",
            **values,
            whom=_PER[per],
        )
    if kind == "Grp":
        return message(
            "all users of {of} together may have no more {what}: this job waits until some of their jobs have"
            " ended{shorter}",
            **values,
        )
    return message(
        "within {of}, you may have no more {what}: this job waits until some of your jobs have ended{shorter}", **values
    )
