"""Runs adminkit-ingest for the tests: the built one, or the one that $ADMINKIT_INGEST names (a sanitizer's build)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adminkit.installed import helper_path
from tests.native.oracle import Format


def program() -> str:
    return os.environ.get("ADMINKIT_INGEST") or helper_path()


@dataclass
class Ran:
    code: int
    out: str
    error: str  # standard error without its JSON lines
    counts: dict[str, int] = field(default_factory=dict)


def run(data: bytes, *args: str | Path, seal: bytes = b"") -> Ran:
    """The program with `data` on standard input."""
    env = {**os.environb, b"ADMINKIT_SEAL": seal}
    done = subprocess.run([program(), *map(str, args)], input=data, capture_output=True, check=False, env=env)
    said = done.stderr.decode(errors="replace").splitlines()
    counts = [json.loads(line) for line in said if line.startswith("{")]
    error = "\n".join(line for line in said if not line.startswith("{"))
    return Ran(done.returncode, done.stdout.decode(), error, counts[-1] if counts else {})


def flags(form: Format) -> list[str]:
    """A Format as options."""
    args = ["--delimiter", form.delimiter.decode(), "--first-line", str(form.first_line)]
    args += ["--ends"] if form.ends else []
    args += ["--comment", form.comment.decode()] if form.comment else []
    args += ["--surplus", "ignore"] if form.surplus_ignore else []
    args += ["--timezone", form.timezone] if form.timezone else []
    args += ["--sealed"] if form.seal else []
    args += ["--no-steps"] if form.no_steps else []
    args += ["--known", form.known] if form.known else []
    args += ["--tres", form.tres] if form.tres else []
    args += ["--order", ",".join(map(str, form.order))] if form.order else []
    for column, text in form.without.items():
        args += ["--without", f"{column}={text.decode()}"]
    for column, text in form.wants.items():
        args += ["--wants", f"{column}={text.decode()}"]
    for column, (since, until) in form.within.items():
        args += ["--within", f"{column}={since}..{until}"]
    return args


def dump(data: bytes, spec: str, form: Format | None = None) -> tuple[list[list[Any]], dict[str, int]]:
    """The program's result for `data`, in the oracle's types."""
    form = form or Format()
    ran = run(data, "--dump", "--columns", spec, *flags(form), seal=form.seal)
    assert ran.code == 0, ran.error
    assert ran.error == ""
    return [json.loads(line) for line in ran.out.splitlines()], ran.counts


def table(path: Path, *columns: str, key: str = "") -> Path:
    """A database with one table `t`."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        unique = f", UNIQUE ({key})" if key else ""
        db.execute(f"CREATE TABLE t ({', '.join(columns)}{unique})")
        db.execute("CREATE TABLE bad (line INTEGER, reason TEXT, raw BLOB, source TEXT)")
    return path


def rows(path: Path, sql: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()
