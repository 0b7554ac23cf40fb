"""The statements that put rows into the trace.

Sources have ranks (job.SOURCES). Among sources of one rank a poorer row never erases what a richer one knew. A lower
source never touches the row of a higher one. A higher one takes a row over whole: what it does not know is unknown
from then on, or a forged column would live on under its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from adminkit.job import KEY, SOURCES, STEP_KEY, Job, Step
from adminkit.trace.sensible import sensible

#: Whole GPUs and what is not whole are of one text.
_PARTS: Final = {"gpus": "gpu_parts", "req_gpus": "req_gpu_parts"}
#: SQL for columns whose new value is not coalesce(new, old).
_RULES: Final[dict[str, str]] = {
    # slurmdbd has sent the row, so it holds the run after all.
    "audited": "CASE job.audited WHEN 'beyond' THEN NULL ELSE job.audited END",
    # These two change together: a limit that became UNLIMITED must not keep its old seconds.
    "time_limit": "CASE excluded.limit_kind WHEN 'unknown' THEN job.time_limit ELSE excluded.time_limit END",
    "limit_kind": "CASE excluded.limit_kind WHEN 'unknown' THEN job.limit_kind ELSE excluded.limit_kind END",
    "fingerprint": "excluded.fingerprint",
    # Nor may whole GPUs keep the parts of an older text, or parts its whole ones.
    **{
        gpus: f"CASE WHEN excluded.{parts} IS NULL THEN coalesce(excluded.{gpus}, job.{gpus}) ELSE excluded.{gpus} END"
        for gpus, parts in _PARTS.items()
    },
    **{
        parts: f"CASE WHEN excluded.{gpus} IS NULL THEN coalesce(excluded.{parts}, job.{parts})"
        f" ELSE excluded.{parts} END"
        for gpus, parts in _PARTS.items()
    },
    "limit_source": "CASE excluded.limit_source WHEN 'unknown' THEN job.limit_source ELSE excluded.limit_source END",
    # A decision recorded at submission outlives tools that write their own summary over it at the end.
    "admin_comment": (
        "CASE WHEN job.admin_comment GLOB 'ak[0-9]:*' THEN job.admin_comment "
        "ELSE coalesce(excluded.admin_comment, job.admin_comment) END"
    ),
}

#: A file without the moment has the submission in its place, which erases no moment that another file knew.
_ELIGIBLE: Final = (
    "CASE WHEN excluded.eligible_time = excluded.submit_time"
    " THEN coalesce(job.eligible_time, excluded.eligible_time)"
    " ELSE coalesce(excluded.eligible_time, job.eligible_time) END"
)

#: Trap: slurmctld 26.05 sends a rebuilt accounting database the ends of the runs it still remembers. slurmdbd then has,
#: in place of the run, a row of root's with these words and without its array.
_SHELL: Final = (
    "job.end_time IS NOT NULL AND (excluded.qos, excluded.job_name) IS ('Unknown', 'allocation') "
    "AND (job.qos, job.job_name) IS NOT ('Unknown', 'allocation')"
)

#: ?1 line, ?2 reason, ?3 the raw bytes, ?4 source, ?5 epoch seconds
REJECT: Final = """
INSERT INTO rejected (line, reason, raw, source, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (source, raw) DO UPDATE SET line = excluded.line, reason = excluded.reason, seen_at = excluded.seen_at
"""


#: Run before a load whose rows are not to share keys: the rows behind this one are the load's own.
LOAD_BEGINS: Final = "SELECT load_base(coalesce(max(rowid), 0)) FROM job"

#: SQL: the stored run and the one that comes are of two users, two starts and two ends. A later file may correct any of
#: these, but not all of them: two jobs have one number, submitted in the same second.
OTHER_JOB: Final = (
    "coalesce(job.user <> excluded.user AND job.start_time <> excluded.start_time"
    " AND job.end_time <> excluded.end_time, FALSE)"
)


@dataclass(frozen=True, slots=True)
class Apart:
    """SQL that tells two runs apart which share a key: where both are of this load, and where one is of an earlier."""

    here: str
    earlier: str


def upsert_job(values: Mapping[str, str], source: str, only_where: str = "1", apart: Apart | None = None) -> str:
    """INSERT or update one job. `values`: column -> SQL expression over the bound parameters.

    `apart`: where it tells the stored run and this one apart, the statement fails (adminkit-ingest, after
    LOAD_BEGINS).

    The update happens only where something differs, so that the count of changed rows is the truth, and never
    turns an ended run into an open one (unless by a higher source), or into a row that has only the end.
    """
    never = _SHELL if {"qos", "job_name"} <= values.keys() else ""
    return _upsert("job", KEY, sensible(values), source, only_where, never, apart)


def insert_job(values: Mapping[str, str], source: str, only_where: str = "1") -> str:
    """INSERT one job, or nothing where it is stored. Needs no key in the table, so a bulk load may make it later."""
    return _insert("job", sensible(values), source, only_where) + " ON CONFLICT DO NOTHING"


def insert_step(values: Mapping[str, str], source: str) -> str:
    """Like insert_job, for a step."""
    return _insert("step", sensible(values), source, "1") + " ON CONFLICT DO NOTHING"


def upsert_step(values: Mapping[str, str], source: str) -> str:
    """INSERT or update one step; as upsert_job."""
    return _upsert("step", STEP_KEY, sensible(values), source, "1", "")


def same_job(values: Mapping[str, str]) -> str:
    """A row, if the job is stored as this very text made it."""
    return _same("job", KEY, values) + " AND audited IS NOT 'beyond'"


def same_step(values: Mapping[str, str]) -> str:
    """Like same_job, for a step."""
    return _same("step", STEP_KEY, values)


def _same(table: str, key: tuple[str, ...], values: Mapping[str, str]) -> str:
    wanted = (*key, "fingerprint")
    return f"SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = {values[column]}' for column in wanted)}"


def _upsert(
    table: str,
    key: tuple[str, ...],
    values: Mapping[str, str],
    source: str,
    only_where: str,
    never: str,
    apart: Apart | None = None,
) -> str:
    given = [column for column in values if column not in key]
    insert = f"{_insert(table, values, source, only_where)} ON CONFLICT ({', '.join(key)})"
    if not given:
        return f"{insert} DO NOTHING"
    lower = [name for name, rank in SOURCES.items() if rank < SOURCES[source]]
    equal = [name for name, rank in SOURCES.items() if rank == SOURCES[source]]
    taken = _among(table, lower)
    told = [*(_columns(table, key) if lower else given), "source"]
    new = {column: _new_value(table, column, given) for column in told}
    if table == "job":
        new["audited"] = _RULES["audited"]
    if "eligible_time" in given and source != "slurmdbd":
        new["eligible_time"] = _ELIGIBLE
    compared = [column for column in new if column != "fingerprint"]
    differs = f"({', '.join(f'{table}.{_quoted(c)}' for c in compared)}) IS NOT ({', '.join(new[c] for c in compared)})"
    goes_on = f"NOT ({table}.end_time IS NOT NULL AND excluded.end_time IS NULL) AND " if "end_time" in values else ""
    where = f"({taken} OR {_among(table, equal)} AND {goes_on}{differs})"
    if never:
        where += f" AND NOT ({never})"
    if apart:
        # Trap: SQLite computes both sides of an OR; of a CASE it does not.
        fails = "shared_key(job.job_id_raw, job.submit_time, job.rowid > load_base())"
        two = f"CASE WHEN job.rowid > load_base() THEN {apart.here} ELSE {apart.earlier} END"
        where = f"CASE WHEN {where} THEN CASE WHEN {two} THEN {fails} ELSE 1 END END"
    if lower:
        new = {c: f"CASE WHEN {taken} THEN {_as_told(c, given)} ELSE {sql} END" for c, sql in new.items()}
    sets = ", ".join(f"{_quoted(c)} = {sql}" for c, sql in new.items())
    return f"{insert} DO UPDATE SET {sets} WHERE {where}"


def _insert(table: str, values: Mapping[str, str], source: str, only_where: str) -> str:
    every = {**values, "source": f"'{source}'"}
    # VALUES is the faster of the two.
    rows = f"VALUES ({', '.join(every.values())})"
    if only_where != "1":
        rows = f"SELECT {', '.join(every.values())} WHERE {only_where}"
    return f"INSERT INTO {table} ({', '.join(_quoted(c) for c in every)}) {rows}"


def _columns(table: str, key: tuple[str, ...]) -> list[str]:
    """The columns that a source may know: every one but the key, source and audited."""
    return [f.name for f in fields(Job if table == "job" else Step) if f.name not in (*key, "source", "audited")]


def _among(table: str, sources: list[str]) -> str:
    return f"{table}.source IN ({', '.join(map(repr, sources))})" if sources else "FALSE"


def _new_value(table: str, column: str, given: list[str]) -> str:
    """The column after a row of the same rank."""
    if column not in (*given, "source"):
        return f"{table}.{_quoted(column)}"
    if column == "source":
        return f"{table}.source"
    if column == "fingerprint" or (table == "job" and column in _RULES):
        return _RULES[column]
    return f"coalesce(excluded.{_quoted(column)}, {table}.{_quoted(column)})"


def _as_told(column: str, given: list[str]) -> str:
    """The column after a row of a higher rank: its value, or unknown."""
    if column in given or column == "source":
        return f"excluded.{_quoted(column)}"
    return "'unknown'" if column in ("limit_kind", "limit_source") else "NULL"


def _quoted(column: str) -> str:
    return f'"{column}"' if column == "group" else column
