"""The form of an export: which tables of the trace are in it, with which columns, and which file has what.

docs/export.md describes it to others. The writer is export/, the reader ingest/sources/exported.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from adminkit.job import Job, Step

#: The version of an export's form; a reader refuses another number.
FORMAT: Final = 1
#: The file that makes a folder an export; it is written last.
ABOUT: Final = "export.json"
#: Kind of file -> its ending.
ENDINGS: Final[Mapping[str, str]] = {"csv": ".csv", "jsonl": ".jsonl", "parquet": ".parquet"}
#: What stands beside an SWF trace for what the format has no place for.
SIDECAR: Final = ".names.csv"
#: The month of runs without an end.
OPEN: Final = "open"

#: A column's type in an export: int, float or str.
Columns = Mapping[str, type]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the trace: its columns, its key, and whether its rows belong to runs."""

    columns: Columns
    key: tuple[str, ...]
    of_runs: bool = False


def _columns(record: type[Any], without: tuple[str, ...]) -> dict[str, type]:
    kinds = {"int": int, "float": float, "str": str}
    return {one.name: kinds[str(one.type).removesuffix(" | None")] for one in fields(record) if one.name not in without}


def _named(texts: str, numbers: str) -> dict[str, type]:
    return {**dict.fromkeys(texts.split(), str), **dict.fromkeys(numbers.split(), int)}


#: In the order in which they are read again: a step needs its run.
TABLES: Final[Mapping[str, Table]] = {
    "queue": Table(_named("cluster queue", "since default_limit max_limit nodes"), ("cluster", "queue", "since")),
    "node": Table(
        _named("cluster node gpu_types gpu_shares features queues", "since present cpus mem gpus"),
        ("cluster", "node", "since"),
    ),
    "node_event": Table(
        _named("cluster node state reason user", "start_time end_time uid"), ("cluster", "node", "start_time")
    ),
    # A fingerprint is of sacct's text, an audit of slurmdbd: neither is true of an export.
    "job": Table(_columns(Job, ("fingerprint", "audited")), ("cluster", "job_id_raw", "submit_time"), True),
    "step": Table(_columns(Step, ("fingerprint",)), ("cluster", "job_id_raw", "submit_time", "step"), True),
}
