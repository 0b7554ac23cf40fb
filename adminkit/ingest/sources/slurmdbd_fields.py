"""sacct's fields as SQL over slurmdbd's tables: each expression gives the text that sacct prints for the field.

The tables of a cluster have aliases: j for its jobs, a for its associations, s for its steps. A field whose words are
Slurm's own (State, Reason, Flags …) is a code in the tables. Its words are not written down here: sacct is asked once
for a job that has the code (slurmdbd.py), so that they are always those of this release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.slurm.release import Release

#: Slurm's marks in numbers: NO_VAL and INFINITE, and the state of a suspended job (slurm.h).
NO_VAL: Final = 0xFFFFFFFE
INFINITE: Final = 0xFFFFFFFF
SUSPENDED: Final = 2
CANCELLED: Final = 4
STATE_BASE: Final = 0xFF
#: SLURMDB_JOB_FLAG_START_R of slurmdb.h: slurmdbd was told that the job started.
STARTED: Final = 16
#: Ids in tres_table that every cluster has (slurmdb.h).
CPU, MEM, NODE = 1, 2, 4
#: Steps that have a word for a number (slurm_protocol_defs.h).
_STEPS: Final = {-5: "batch", -4: "extern", -6: "interactive", -3: "TBD"}


@dataclass(frozen=True, slots=True)
class Coded:
    """A field whose words sacct knows. `code` is SQL for what stands in the table."""

    field: str
    code: str


#: Fields that are learned from sacct. A state's word does not depend on who cancelled the job.
CODED: Final = (
    Coded("State", "j.state"),
    Coded("Reason", "j.state_reason_prev"),
    Coded("Flags", "j.flags"),
    Coded("QOS", "j.id_qos"),
    Coded("Group", "j.id_group"),
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
#: The largest id in tres_table that is the same on every cluster, but for a few that nobody counts.
_COMMON: Final = 8
#: The first release of which sacct prints every exit code as it is. Those before take 128 off one from 128 on.
WHOLE_CODES: Final[Release] = (25, 11, 0)
#: Codes that are compared one after the other.
_FEW: Final = 8
#: Codes below this one are looked up by their place.
_DENSE: Final = 64
#: field -> code -> word
Words = Mapping[str, Mapping[int, str]]


def literal(text: str) -> str:
    """A text as SQL. Bytes as hexadecimal digits: nothing in it can end the literal, whatever the server's mode."""
    return f"x'{text.encode('utf-8', 'surrogateescape').hex()}'" if text else "''"


def word(field: str, code: str, words: Words) -> str:
    """The word of a code. NULL where it has none yet: the record is left out of the answer, which says so."""
    known = words.get(field, {})
    if not known or min(known) < 0 or max(known) >= _DENSE:
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


def tres_list(column: str, names: Mapping[int, str]) -> str:
    """A list of TRES as the tables have it, but for ids that are a cluster's own: these get their names.

    adminkit-ingest knows the ids of what every cluster has, and leaves out what is not known.
    """
    own = [(number, name) for number, name in sorted(names.items()) if number > _COMMON]
    sql = f"CONCAT(',', {column})"
    for number, name in own:
        sql = f"REPLACE({sql}, ',{number}=', {literal(f',{name}=')})"
    return f"SUBSTRING({sql}, 2)" if own else column


def exit_code(column: str) -> str:
    """The code of a status of wait(); 0 where a signal ended it, or nothing is known."""
    return f"IF({column} = {NO_VAL} OR {column} & 127, 0, ({column} >> 8) & 255)"


def _exit(column: str, less: bool, unset: str = "") -> str:
    """A status of wait() as code:signal, empty for a step without one. `less`: sacct takes 128 off a code from 128 on.

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

    cluster: str
    seal: str
    now: int
    tres: Mapping[int, str]  # id -> name as sacct prints it
    words: Words
    columns: frozenset[str]  # of the job table
    sacct: Release  # whose spelling the records have

    def time(self, column: str, never: str = "Unknown") -> str:
        return f"IF({column}, CONCAT({column}, {literal(self.seal)}), '{never}')"


def job_fields(known: Known) -> dict[str, str]:
    """sacct's field -> SQL for a job's row."""
    words, names = known.words, known.tres
    never = f"j.time_start = 0 AND j.time_end AND j.flags & {STARTED}"
    fields = {
        "JobID": _JOB_ID,
        "JobIDRaw": "j.id_job",
        "Cluster": literal(known.cluster),
        "DBIndex": "j.job_db_inx",
        "User": f"IFNULL(a.user, {word('User', 'j.id_user', words)})",
        "UID": "j.id_user",
        "Group": word("Group", "j.id_group", words),
        "Account": "IFNULL(NULLIF(a.acct, ''), IFNULL(j.account, ''))",
        "Partition": "j.`partition`",
        "QOS": word("QOS", "j.id_qos", words),
        "State": f"CONCAT({word('State', 'j.state', words)}{_by('j.state', 'j.kill_requid')})",
        "Reason": word("Reason", "j.state_reason_prev", words),
        "ExitCode": _exit("j.exit_code", less=known.sacct < WHOLE_CODES),
        "DerivedExitCode": _exit("j.derived_ec", less=False, unset="0:0"),
        "Priority": f"IF(j.priority = {NO_VAL}, '', j.priority)",
        "Submit": known.time("j.time_submit"),
        "Eligible": known.time("j.time_eligible"),
        "Start": f"IF({never}, 'None', {known.time(_START)})",
        "End": known.time("j.time_end"),
        "ElapsedRaw": _elapsed("j.state", _START, "j.time_end", "j.time_suspended", known.now),
        "Suspended": _since("j.state", "j.time_suspended", known.now),
        "TimelimitRaw": (
            f"CASE j.timelimit WHEN {INFINITE} THEN 'UNLIMITED' WHEN {NO_VAL} THEN 'Partition_Limit' WHEN 0 THEN ''"
            " ELSE j.timelimit END"
        ),
        "ReqNodes": _unless_listed("j.tres_req", NODE),
        "ReqCPUS": "j.cpus_req",
        "ReqMem": "''",  # in the list of TRES, or unknown
        "ReqTRES": tres_list("j.tres_req", names),
        "AllocNodes": "j.nodes_alloc",
        "AllocCPUS": (
            f"IF(j.tres_alloc = '', IFNULL({_tres('j.tres_req', CPU)}, 0), {_unless_listed('j.tres_alloc', CPU)})"
        ),
        "AllocTRES": tres_list("j.tres_alloc", names),
        "NodeList": "IF(j.nodelist IS NULL OR j.nodelist IN ('', '(null)'), 'None assigned', j.nodelist)",
        "Restarts": "j.restart_cnt",
        "Flags": word("Flags", "j.flags", words),
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
        "JobIDRaw": f"CONCAT(j.id_job, {step})",
        "Cluster": literal(known.cluster),
        "Submit": known.time("j.time_submit"),  # its run's: sacct prints the job's row before it, which says so
        "State": f"CONCAT({word('State', state, known.words)}{_by(state, 's.kill_requid')})",
        "ExitCode": _exit("s.exit_code", less=known.sacct < WHOLE_CODES),
        "Start": known.time("s.time_start"),
        "End": known.time(STEP_END),
        "ElapsedRaw": _elapsed(state, "s.time_start", STEP_END, "s.time_suspended", known.now),
        "NNodes": "s.nodes_alloc",
        "NTasks": "s.task_cnt",
        "AllocTRES": tres_list("s.tres_alloc", known.tres),
        "TotalCPU": _cpu_time("s.user_sec + s.sys_sec", "s.user_usec + s.sys_usec"),
        "MaxRSS": f"IFNULL({_tres('s.tres_usage_in_max', MEM)}, '')",
        "TRESUsageInTot": tres_list("s.tres_usage_in_tot", known.tres),
        "TRESUsageOutTot": tres_list("s.tres_usage_out_tot", known.tres),
        "ConsumedEnergyRaw": "s.consumed_energy",
        "JobName": "s.step_name",
    }


def _unless_listed(column: str, number: int) -> str:
    """Nothing where a list of TRES has this one: its reader takes it from there. Otherwise 0."""
    return f"IF(LOCATE(',{number}=', CONCAT(',', {column})), '', 0)"


def _by(state: str, who: str) -> str:
    """What follows the word of a state, as a further part of a CONCAT: who cancelled it."""
    return f", IF({state} & {STATE_BASE} = {CANCELLED} AND {who} <> {INFINITE}, CONCAT(' by ', {who}), '')"


def _cpu_time(seconds: str, micros: str) -> str:
    """Seconds as sacct has them: thousandths, but only where there are no hours."""
    total = f"({seconds} + ({micros}) DIV 1000000)"
    thousandths = f"LPAD(({micros}) MOD 1000000 DIV 1000, 3, '0')"
    return f"IF({total} < 3600, CONCAT({total}, '.', {thousandths}), {total})"
