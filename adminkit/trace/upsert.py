"""The statements that put rows into the trace. A poorer source never erases what a richer one knew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.job import KEY, STEP_KEY

#: Columns whose new value is not simply "the new one, where there is one". {new} and {old} are the two values.
_RULES: Final[dict[str, str]] = {
    "synced": "max(excluded.synced, job.synced)",
    # The two belong together: a limit that became UNLIMITED must not keep its old seconds.
    "time_limit": "CASE excluded.limit_kind WHEN 'unknown' THEN job.time_limit ELSE excluded.time_limit END",
    "limit_kind": "CASE excluded.limit_kind WHEN 'unknown' THEN job.limit_kind ELSE excluded.limit_kind END",
    "fingerprint": "excluded.fingerprint",
    "limit_source": "CASE excluded.limit_source WHEN 'unknown' THEN job.limit_source ELSE excluded.limit_source END",
    # A decision recorded at submission outlives tools that write their own summary over it at the end.
    "admin_comment": (
        "CASE WHEN job.admin_comment GLOB 'ak[0-9]:*' THEN job.admin_comment "
        "ELSE coalesce(excluded.admin_comment, job.admin_comment) END"
    ),
}

#: Trap: slurmctld of 26.05 tells an accounting database that was made anew of the ends of runs it still remembers, and
#: slurmdbd then has a row with these words, root's and without its array, in the place of what it had.
_SHELL: Final = (
    "job.end_time IS NOT NULL AND excluded.qos = 'Unknown' AND excluded.job_name = 'allocation' "
    "AND (job.qos, job.job_name) IS NOT ('Unknown', 'allocation')"
)

#: ?1 line, ?2 reason, ?3 the raw bytes, ?4 source, ?5 epoch seconds
REJECT: Final = """
INSERT INTO rejected (line, reason, raw, source, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (source, raw) DO UPDATE SET line = excluded.line, reason = excluded.reason, seen_at = excluded.seen_at
"""


def upsert_job(values: Mapping[str, str], only_where: str = "1") -> str:
    """INSERT or update one job. `values`: column -> SQL expression over the bound parameters.

    The update happens only where something differs, so that the count of changed rows is the truth, and never
    turns a run that has ended back into one that is still going, or into the shell of one.
    """
    update_where = "NOT (job.end_time IS NOT NULL AND excluded.end_time IS NULL)"
    if {"qos", "job_name"} <= values.keys():
        update_where += f" AND NOT ({_SHELL})"
    return _upsert("job", KEY, values, only_where, update_where)


def insert_job(values: Mapping[str, str], only_where: str = "1") -> str:
    """INSERT one job, or nothing where it is stored. Needs no key in the table, so a bulk load may make it later."""
    return _insert("job", values, only_where) + " ON CONFLICT DO NOTHING"


def insert_step(values: Mapping[str, str]) -> str:
    """As insert_job, of a step."""
    return _insert("step", values, "1") + " ON CONFLICT DO NOTHING"


def upsert_step(values: Mapping[str, str]) -> str:
    """INSERT or update one step; as upsert_job."""
    return _upsert("step", STEP_KEY, values, "1", "NOT (step.end_time IS NOT NULL AND excluded.end_time IS NULL)")


def same_job(values: Mapping[str, str]) -> str:
    """A row, if the job is stored as this very text made it."""
    return _same("job", KEY, values)


def same_step(values: Mapping[str, str]) -> str:
    """As same_job, of a step."""
    return _same("step", STEP_KEY, values)


def _same(table: str, key: tuple[str, ...], values: Mapping[str, str]) -> str:
    wanted = (*key, "fingerprint")
    return f"SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = {values[column]}' for column in wanted)}"


def _upsert(table: str, key: tuple[str, ...], values: Mapping[str, str], only_where: str, update_where: str) -> str:
    rest = [column for column in values if column not in key]
    new = {column: _new_value(table, column) for column in rest}
    compared = [column for column in rest if column != "fingerprint"]
    insert = f"{_insert(table, values, only_where)} ON CONFLICT ({', '.join(key)})"
    if not compared:
        return f"{insert} DO NOTHING"
    if "end_time" not in values:
        update_where = "1"
    return (
        f"{insert} DO UPDATE SET "
        + ", ".join(f"{_quoted(c)} = {new[c]}" for c in rest)
        + f" WHERE {update_where} AND ({', '.join(f'{table}.{_quoted(c)}' for c in compared)})"
        + f" IS NOT ({', '.join(new[c] for c in compared)})"
    )


def _insert(table: str, values: Mapping[str, str], only_where: str) -> str:
    # VALUES is the faster of the two.
    source = f"VALUES ({', '.join(values.values())})"
    if only_where != "1":
        source = f"SELECT {', '.join(values.values())} WHERE {only_where}"
    return f"INSERT INTO {table} ({', '.join(_quoted(c) for c in values)}) {source}"


def _new_value(table: str, column: str) -> str:
    if column == "fingerprint" or (table == "job" and column in _RULES):
        return _RULES[column]
    return f"coalesce(excluded.{_quoted(column)}, {table}.{_quoted(column)})"


def _quoted(column: str) -> str:
    return f'"{column}"' if column == "group" else column
