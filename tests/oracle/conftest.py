"""Traces on which every statistic is computed a second time: the look-alike, and public ones under $ADMINKIT_TRACES.

Tests here are written from "How it is computed" of a report's page, with DuckDB or numpy, over the table `job` alone.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.ingest.files import Import, import_file
from adminkit.job import Job
from tests.support.study import made as look_alike
from tests.support.swf import public

#: sacct's names of the columns of the anonymised dump of pozidriv, which has no header.
_POZIDRIV = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,"
    "nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)
_TYPES = {"int": "BIGINT", "float": "DOUBLE", "str": "VARCHAR"}
#: A name -> its file, and how it is imported.
_PUBLIC: dict[str, tuple[str, dict[str, Any]]] = {
    "kth": ("KTH-SP2-1996-2.swf.gz", {"cluster": "kth"}),
    "ricc": ("RICC-2010-2.swf.gz", {"cluster": "ricc"}),
    "philly": ("philly-2017.csv.xz", {}),
    "pozidriv": ("xdmod-pozidriv.sacct26col.log.gz", {"columns": _POZIDRIV.split(","), "timezone": "UTC"}),
}


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """traces("lookalike" | "kth" | "ricc" | "pozidriv" | "philly"): the trace, made once. Skips where no file is."""
    folder = tmp_path_factory.mktemp("oracle")

    def made(name: str) -> Path:
        if name == "lookalike":
            return look_alike(tmp_path_factory)
        path = folder / f"{name}.db"
        if not path.exists():
            file, how = _PUBLIC[name]
            source = public(file)
            if source is None:
                pytest.skip(f"not run: no {file} under $ADMINKIT_TRACES")
            if name == "philly":
                assert main(["import", str(source), "--db", str(path), "--map", "philly"]) == 0
            else:
                import_file(Import(source, path, **how), 0)
        return path

    return made


@pytest.fixture
def jobs_in(tmp_path: Path) -> Callable[[Path, str], Any]:
    """jobs_in(trace, columns): a connection of DuckDB whose table `job` has these columns of the trace's."""
    duckdb = pytest.importorskip("duckdb", reason="not run: no duckdb (pip install -e '.[dev]')")

    def loaded(path: Path, columns: str) -> Any:
        names = columns.replace(" ", "").split(",")
        written = tmp_path / "job.csv"
        with closing(sqlite3.connect(path)) as db, written.open("w", newline="") as text:
            csv.writer(text).writerows(db.execute(f"SELECT {columns} FROM job"))
        types = {one.name: _TYPES[str(one.type).removesuffix(" | None")] for one in fields(Job)}
        other = duckdb.connect()
        declared = {name: types[name] for name in names}
        other.execute(
            f"CREATE TABLE job AS SELECT * FROM read_csv(?, header = false, columns = {declared})", [str(written)]
        )
        return other

    return loaded
