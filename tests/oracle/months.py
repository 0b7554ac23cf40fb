"""Months of a trace as Parquet files, written by DuckDB from the view `run`."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import duckdb

from adminkit.job import Job
from adminkit.trace.run_view import DERIVED

_TYPES = {"int": "BIGINT", "float": "DOUBLE", "str": "VARCHAR"}
_KINDS = {one.name: _TYPES[str(one.type).removesuffix(" | None")] for one in fields(Job)}
_KINDS |= {name: "VARCHAR" if name in ("class", "gpu_kind") else "BIGINT" for name in DERIVED}
_KINDS |= {"size_gpus": "DOUBLE", "size_units": "DOUBLE"}


def write_months(trace: Path, folder: Path) -> Path:
    """FOLDER/cluster=…/month=…/run.parquet of every month in which runs ended."""
    written, columns = folder.with_suffix(".csv"), ", ".join(f'"{name}"' for name in _KINDS)
    with closing(sqlite3.connect(trace)) as db, written.open("w", newline="") as text:
        csv.writer(text).writerows(db.execute(f"SELECT {columns} FROM run WHERE end_time IS NOT NULL"))
    to = duckdb.connect()
    to.execute(f"CREATE TABLE run AS SELECT * FROM read_csv(?, header = false, columns = {_KINDS})", [str(written)])
    month = "strftime(make_timestamp(end_time * 1000000), '%Y-%m')"
    for cluster, when in to.execute(f"SELECT DISTINCT cluster, {month} FROM run").fetchall():
        place = folder / f"cluster={cluster}" / f"month={when}"
        place.mkdir(parents=True)
        where = f"cluster = '{cluster}' AND {month} = '{when}'"
        to.execute(f"COPY (SELECT * FROM run WHERE {where}) TO '{place}/run.parquet' (COMPRESSION zstd)")
    return folder
