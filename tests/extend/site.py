"""A whole site as squeue and scontrol print it: nodes of eight CPUs with a job on each, near their ends, and a queue.

The answers are made once, so that what is measured is the reading and the deciding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.extend.jobs import RECORD
from tests.support.answered import Answer, Question, seal_of

CONFIG = """Configuration data as of 2026-11-28T10:00:00
AccountingStorageType   = accounting_storage/slurmdbd
AccountingStorageEnforce = associations,limits
ClusterName             = alpha
PreemptType             = preempt/none
SchedulerType           = sched/backfill
SelectTypeParameters    = CR_CPU_MEMORY
SLURM_VERSION           = {release}
SlurmctldHost[0]        = head
"""
QUEUE = (
    "PartitionName=gq AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES QoS=N/A DefaultTime=01:00:00"
    " MaxTime=3-00:00:00 MinNodes=0 MaxNodes=UNLIMITED OverSubscribe=NO PreemptMode=OFF PriorityTier=1 State=UP"
    " TotalNodes={nodes} DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
)
ACCOUNT = """Current Association Manager state

Association Records

ClusterName=alpha Account=physics UserName= Partition= Priority=0 ID=2
    ParentAccount=root(1) Lft=2 DefAssoc=No
    GrpTRESMins=cpu=N(39)
    MaxWallPJ=
"""
USER = """ClusterName=alpha Account=physics UserName=u{uid}({uid}) Partition= Priority=0 ID={uid}
    ParentAccount=physics(2) Lft=3 DefAssoc=Yes
    MaxJobs= MaxWallPJ=
"""
QOS = """
QOS Records

QOS=normal(1)
    GrpJobs=N(3)
    MaxWallPJ=
"""


@dataclass
class Site:
    """`near`: running jobs with five minutes left; `holding`: those that were given time and have an hour; the rest
    have hours. `planned` jobs wait with a plan, `unplanned` without one, for a queue of their own.
    """

    now: int
    running: int
    near: int = 0
    holding: int = 0
    planned: int = 0
    unplanned: int = 0
    jobs_each: int = 8  # on a node
    users: int = 1  # with an association
    release: str = "24.11.5"
    calls: Counter[str] = field(default_factory=Counter)
    _kept: dict[str, str] = field(default_factory=dict)

    def answer(self, asked: Question) -> Answer:
        """What the program prints."""
        said = " ".join([asked.name, *asked.args])
        self.calls[asked.name] += 1
        if asked.name == "squeue":
            shape = asked.args[asked.args.index("-O") + 1]
            mark = shape.split(",")[0].partition(":0")[2]
            fields = [field.partition(":")[0] for field in shape.split(",")]
            key = " ".join(fields)
            if key not in self._kept:
                self._kept[key] = "".join("\x1f".join([*map(cells.get, fields), ""]) + "\n" for cells in self.jobs())
            return Answer(self._kept[key].replace("\x1f", mark).replace("\x1e", seal_of(asked)))
        if "show config" in said:
            return Answer(CONFIG.format(release=self.release))
        return Answer("".join(self.typed(line) for line in asked.typed.splitlines()))

    def typed(self, line: str) -> str:
        """What scontrol prints for a line that it reads."""
        what, _, names = line.removeprefix("show ").partition(" ")
        match what:
            case "hostlist":
                return f"{names}\n"
            case "node":
                return "".join(self.nodes(set(names.split(",")) if names else None))
            case "partition":
                return QUEUE.format(nodes=-(-self.running // self.jobs_each))
            case "assoc_mgr":
                return ACCOUNT + "".join(USER.format(uid=1001 + nth) for nth in range(self.users)) + QOS
            case "reservation":
                return "No reservations in the system\n"
        return f"scontrol: {line}\n"

    def nodes(self, only: set[str] | None) -> Iterator[str]:
        for number in range(-(-self.running // self.jobs_each)):
            name, used = f"n{number}", min(self.jobs_each, self.running - number * self.jobs_each)
            if only is None or name in only:
                yield (
                    f"NodeName={name} CPUAlloc={used} CPUEfctv=8 CPUTot=8 AvailableFeatures=(null)"
                    f" ActiveFeatures=(null) Gres=(null) GresUsed=gpu:0 RealMemory=64000 AllocMem={500 * used}"
                    " State=MIXED ThreadsPerCore=1 Partitions=gq CfgTRES=cpu=8,mem=62.50G\n"
                )

    def jobs(self) -> Iterator[dict[str, str]]:
        """The cells of each job; \\x1e stands for the seal."""
        for number in range(self.running):
            left = 300 if number < self.near else 3600 if number < self.near + self.holding else 7200 + number
            given = self.near <= number < self.near + self.holding
            limit, comment = (150, f"{RECORD} xt1:asked=3600,lim=9000,n=3") if given else (60, RECORD)
            node = f"n{number // self.jobs_each}"
            yield self._cells(
                number + 1, State="RUNNING", NodeList=node, SchedNodes="(null)", TimeLimit=f"{limit}:00",
                StartTime=f"{self.now + left - limit * 60}\x1e", EndTime=f"{self.now + left}\x1e", Reason="None",
                admin_comment=comment,
            )  # fmt: skip
        for number in range(self.planned + self.unplanned):
            is_planned = number < self.planned
            node = f"n{number % max(1, self.running // self.jobs_each)}"
            yield self._cells(
                self.running + number + 1, State="PENDING", NodeList="", SchedNodes=node if is_planned else "(null)",
                StartTime=f"{self.now + 3600}\x1e" if is_planned else "N/A", EndTime="N/A", TimeLimit="60:00",
                Partition="gq" if is_planned else "other", Reason="Priority", admin_comment=RECORD,
            )  # fmt: skip

    def _cells(self, number: int, **more: str) -> dict[str, str]:
        return {
            "JobID": str(number), "ArrayJobID": str(number), "Partition": "gq", "tres-alloc": "cpu=1,mem=500M,node=1",
            "NumNodes": "1", "PriorityLong": str(10_000 - number % 5000), "UserID": "1001", "Account": "physics",
            "QOS": "normal", "EligibleTime": f"{self.now - 90}\x1e", "Feature": "(null)", "Licenses": "(null)",
            "OverSubscribe": "OK", "Exclusive": "NO", "Reservation": "(null)", "SubmitTime": f"{self.now - 90}\x1e",
            "ArrayTaskID": "N/A", "HetJobID": "0", "MinTime": "0:00", "RestartCnt": "0", "Deadline": "N/A",
            "UserName": "games", "BatchFlag": "1", **more,
        }  # fmt: skip
