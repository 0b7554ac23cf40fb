"""sacct's fields as SQL over slurmdbd's tables.

What adminkit-ingest would only read back into a number is left as it is in the tables: times, limits, lists of TRES.

The tables of a cluster have aliases: j for its jobs, a for its associations, s for its steps. A field whose words are
Slurm's own (State, Reason, Flags …) is a code in the tables. Its words are not written down here: sacct is asked once
for a job that has the code (slurmdbd.py), so that they are always those of this release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.slurm.release import Release

#: Slurm's marks in numbers: NO_VAL and INFINITE, and the state of a suspended job (slurm.h).
NO_VAL: Final = 0xFFFFFFFE
INFINITE: Final = 0xFFFFFFFF
SUSPENDED: Final = 2
CANCELLED: Final = 4
STATE_BASE: Final = 0xFF
#: Ids in tres_table that every cluster has (slurmdb.h).
CPU, MEM, NODE = 1, 2, 4
#: How adminkit-ingest reads fields that are not spelt as sacct spells them.
KINDS: Final = {"Eligible": "epoch", "Start": "epoch", "End": "epoch", "MaxRSS": "usage", "Microseconds": "int"}
#: Fields that sacct does not have.
OWN: Final = ("Microseconds",)
#: Fields that may have text of users in them. An account or a queue is as its job named it.
OPEN: Final = frozenset("Account Partition AdminComment SystemComment Comment Extra SubmitLine JobName".split())
#: The trace's column -> SQL over what it reads, where a field of its own would only repeat others.
JOB_VALUES: Final = {"req_nodes": "coalesce({ReqTRES.nodes}, 0)"}
#: sacct has thousandths of a second only below an hour.
STEP_VALUES: Final = {
    "max_rss": "{MaxRSS.mem}",
    "cpu_time": (
        "CASE WHEN {TotalCPU} + {Microseconds} / 1000000 < 3600"
        " THEN {TotalCPU} + {Microseconds} / 1000000 + {Microseconds} % 1000000 / 1000 / 1000.0"
        " ELSE CAST({TotalCPU} + {Microseconds} / 1000000 AS REAL) END"
    ),
}
#: Steps that have a word for a number (slurm_protocol_defs.h).
_STEPS: Final = {-5: "batch", -4: "extern", -6: "interactive", -3: "TBD"}


@dataclass(frozen=True, slots=True)
class Coded:
    """A field whose words sacct knows. `code` is SQL for what stands in the table."""

    field: str
    code: str


#: Whether a job's list of what it asked for has memory.
_HAS_MEMORY: Final = f"LOCATE(',{MEM}=', CONCAT(',', j.tres_req))"
#: Fields that are learned from sacct. A state's word does not depend on who cancelled the job.
CODED: Final = (
    Coded("State", "j.state"),
    Coded("Reason", "j.state_reason_prev"),
    Coded("Flags", "j.flags"),
    Coded("QOS", "j.id_qos"),
    Coded("Group", "j.id_group"),
    Coded("ReqMem", f"IF({_HAS_MEMORY}, NULL, 0)"),  # what a release prints where none was asked for
    Coded("User", "IF(a.user IS NULL, j.id_user, NULL)"),  # an association that was removed
)
#: The states that a run or a step can be in, by their numbers in slurm.h. Words with a flag, such as REQUEUED, are
#: learned from sacct.
STATES: Final = dict(
    enumerate(
        """PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE
        OUT_OF_MEMORY""".split()
    )
)
#: The first release of which sacct prints every exit code as it is. Those before take 128 off one of 128 or more.
WHOLE_CODES: Final[Release] = (25, 11, 0)
#: The first release of which sacct does not print the CPUs that were asked for where none were allocated.
ONLY_ALLOCATED: Final[Release] = (23, 2, 0)
#: Codes that are compared one after the other.
_FEW: Final = 8
#: Codes below this one are looked up by their place.
_DENSE: Final = 64
#: Associations below this one too: they have names of two fields.
ASSOCIATIONS: Final = 4096
#: field -> code -> word
Words = Mapping[str, Mapping[int, str]]


def literal(text: str) -> str:
    """A text as SQL. Bytes as hexadecimal digits: nothing in it can end the literal, whatever the server's mode."""
    return f"x'{text.encode('utf-8', 'surrogateescape').hex()}'" if text else "''"


def word(field: str, code: str, words: Words, dense: int = _DENSE) -> str:
    """The word of a code. NULL where it has none yet: the record is left out of the answer, which says so."""
    known = words.get(field, {})
    if not known or min(known) < 0 or max(known) >= dense:
        return _among(code, sorted(known.items()))
    listed = ", ".join(literal(known[number]) if number in known else "NULL" for number in range(max(known) + 1))
    return f"ELT({code} + 1, {listed})"


def _among(code: str, known: Sequence[tuple[int, str]]) -> str:
    """A few codes one after the other; of more the half that it can be in, so that a thousand groups cost ten steps."""
    if not known:
        return "NULL"
    if len(known) <= _FEW:
        return f"CASE {code}{''.join(f' WHEN {number:d} THEN {literal(text)}' for number, text in known)} END"
    middle = len(known) // 2
    return f"IF({code} < {known[middle][0]:d}, {_among(code, known[:middle])}, {_among(code, known[middle:])})"


def _tres(column: str, number: int) -> str:
    """What a list of TRES says of one of them; NULL where it says nothing."""
    listed = f"CONCAT(',', {column})"
    return (
        f"IF(LOCATE(',{number}=', {listed}), "
        f"SUBSTRING_INDEX(SUBSTRING_INDEX({listed}, ',{number}=', -1), ',', 1), NULL)"
    )


def exit_code(column: str) -> str:
    """The code of a status of wait(); 0 where a signal ended it, or nothing is known."""
    return f"IF({column} = {NO_VAL} OR {column} & 127, 0, ({column} >> 8) & 255)"


def _exit(column: str, less: bool, unset: str = "") -> str:
    """A status of wait() as code:signal, empty for a step without one.

    `less`: sacct takes 128 off a code of 128 or more.
    `unset`: what it prints for NO_VAL.
    """
    code = f"(({column} >> 8) & 255)"
    shown = f"IF({code} >= 128, {code} - 128, {code})" if less else code
    low = f"({column} & 127)"
    return (
        f"CASE WHEN {column} = 0 THEN '0:0' WHEN {column} = {NO_VAL} THEN '{unset}' WHEN {column} < 0 THEN ''"
        f" WHEN {low} NOT IN (0, 127) THEN CONCAT('0:', {low})"
        f" WHEN {low} = 0 THEN CONCAT({shown}, ':0') ELSE '0:0' END"
    )


def _since(state: str, suspended: str, now: int) -> str:
    """Seconds of suspension: while it lasts, the table has the moment when it began."""
    return f"IF({state} & {STATE_BASE} = {SUSPENDED}, GREATEST({now}, {suspended}) - {suspended}, {suspended})"


def _elapsed(state: str, start: str, end: str, suspended: str, now: int) -> str:
    return f"IF({start} = 0, 0, GREATEST(IF({end} = 0, {now}, {end}) - {start} - {_since(state, suspended, now)}, 0))"


#: sacct takes an end before the start for the start.
_START: Final = "IF(j.time_end, LEAST(j.time_start, j.time_end), j.time_start)"
#: A step without an end of its own ended with its run.
STEP_END: Final = "IF(s.time_end = 0 AND j.time_end, j.time_end, s.time_end)"
_JOB_ID: Final = (
    "CASE WHEN j.array_task_str <> '' THEN CONCAT(j.id_array_job, '_[', j.array_task_str,"
    " IF(j.array_max_tasks, CONCAT('%', j.array_max_tasks), ''), ']')"
    f" WHEN j.id_array_task <> {NO_VAL} AND (j.id_array_job OR j.id_array_task)"
    " THEN CONCAT(j.id_array_job, '_', j.id_array_task)"
    " WHEN j.het_job_id THEN CONCAT(j.het_job_id, '+', j.het_job_offset) ELSE j.id_job END"
)


def ended_elapsed() -> str:
    """Seconds that a run ran that has ended."""
    return _elapsed("j.state", _START, "j.time_end", "j.time_suspended", 0)


@dataclass(frozen=True, slots=True)
class Known:
    """What the expressions need to know besides the tables. `now`: the moment of an open snapshot, epoch seconds."""

    seal: str
    now: int
    words: Words
    associations: Words | None  # User and Account by association; None: they are joined
    columns: frozenset[str]  # of the job table
    sacct: Release  # whose spelling the records have

    def sealed(self, column: str) -> str:
        """A time that is always there."""
        return f"CONCAT({column}, {literal(self.seal)})"


def job_fields(known: Known) -> dict[str, str]:
    """sacct's field -> SQL for a job's row."""
    words, user, account = known.words, "a.user", "NULLIF(a.acct, '')"
    unallocated = f"IF(j.tres_alloc = '', IFNULL({_tres('j.tres_req', CPU)}, 0), '')"
    if known.associations is not None:
        user, account = (word(field, "j.id_assoc", known.associations, ASSOCIATIONS) for field in ("User", "Account"))
    fields = {
        "JobID": _JOB_ID,
        "JobIDRaw": "j.id_job",
        "DBIndex": "j.job_db_inx",
        "User": f"IFNULL({user}, {word('User', 'j.id_user', words)})",
        "UID": "j.id_user",
        "Group": word("Group", "j.id_group", words),
        "QOS": word("QOS", "j.id_qos", words),
        "State": f"CONCAT({word('State', 'j.state', words)}{_by('j.state', 'j.kill_requid')})",
        "Reason": word("Reason", "j.state_reason_prev", words),
        "ExitCode": _exit("j.exit_code", less=known.sacct < WHOLE_CODES),
        "DerivedExitCode": _exit("j.derived_ec", less=False, unset="0:0"),
        "Priority": "j.priority",
        "Submit": known.sealed("j.time_submit"),
        "Eligible": "j.time_eligible",
        "Start": _START,
        "End": "j.time_end",
        "ElapsedRaw": _elapsed("j.state", _START, "j.time_end", "j.time_suspended", known.now),
        "Suspended": _since("j.state", "j.time_suspended", known.now),
        "TimelimitRaw": "j.timelimit",
        "ReqCPUS": "j.cpus_req",
        "ReqMem": f"IF({_HAS_MEMORY}, '', {word('ReqMem', '0', words)})",  # else it is in the list
        "ReqTRES": "j.tres_req",
        "AllocNodes": "j.nodes_alloc",
        "AllocCPUS": "''" if known.sacct >= ONLY_ALLOCATED else unallocated,  # else it is in the list
        "AllocTRES": "j.tres_alloc",
        "NodeList": "IFNULL(j.nodelist, '')",
        "Restarts": "j.restart_cnt",
        "Flags": word("Flags", "j.flags", words),
        "Account": f"IFNULL({account}, IFNULL(j.account, ''))",
        "Partition": "j.`partition`",
        "AdminComment": "IFNULL(j.admin_comment, '')",
        "SystemComment": "IFNULL(j.system_comment, '')",
        "Comment": "IFNULL(j.derived_es, '')",
        "Extra": "IFNULL(j.extra, '')",
        "SubmitLine": "IFNULL(j.submit_line, '')",
        "JobName": "j.job_name",
    }
    needs = {"Restarts": "restart_cnt", "Extra": "extra"}
    return {name: sql for name, sql in fields.items() if needs.get(name, "id_job") in known.columns}


def step_fields(known: Known) -> dict[str, str]:
    """sacct's field -> SQL for a step's row, beside its job."""
    number = "".join(f" WHEN {code} THEN '{text}'" for code, text in _STEPS.items())
    het = f"IF(s.step_het_comp = {NO_VAL}, '', CONCAT('+', s.step_het_comp))"
    step = f"CONCAT('.', CASE s.id_step{number} ELSE s.id_step END, {het})"
    state = "IF(s.time_end = 0 AND j.time_end, j.state, s.state)"
    return {
        "JobID": f"CONCAT({_JOB_ID}, {step})",
        "JobIDRaw": "j.id_job",
        "Submit": known.sealed("j.time_submit"),  # its run's: sacct prints the job's row before it, which says so
        "State": f"CONCAT({word('State', state, known.words)}{_by(state, 's.kill_requid')})",
        "ExitCode": _exit("s.exit_code", less=known.sacct < WHOLE_CODES),
        "Start": "s.time_start",
        "End": STEP_END,
        "ElapsedRaw": _elapsed(state, "s.time_start", STEP_END, "s.time_suspended", known.now),
        "NNodes": "s.nodes_alloc",
        "NTasks": "s.task_cnt",
        "AllocTRES": "s.tres_alloc",
        "TotalCPU": "s.user_sec + s.sys_sec",
        "Microseconds": "s.user_usec + s.sys_usec",
        "MaxRSS": "s.tres_usage_in_max",
        "TRESUsageInTot": "s.tres_usage_in_tot",
        "TRESUsageOutTot": "s.tres_usage_out_tot",
        "ConsumedEnergyRaw": "s.consumed_energy",
        "JobName": "s.step_name",
    }


def _by(state: str, who: str) -> str:
    """What follows the word of a state, as a further part of a CONCAT: who cancelled it."""
    return f", IF({state} & {STATE_BASE} = {CANCELLED} AND {who} <> {INFINITE}, CONCAT(' by ', {who}), '')"


def packed_of(names: Iterable[str]) -> int:
    """The number of fields before the first that a user can write into."""
    return next(place for place, name in enumerate([*names, "JobName"]) if name in OPEN)
