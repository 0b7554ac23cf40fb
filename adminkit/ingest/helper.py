"""Runs adminkit-ingest: bytes in, counts out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Final

from adminkit.errors import AdminkitError
from adminkit.ingest.spec import Column, outputs
from adminkit.installed import helper_path
from adminkit.owner import of_own_child
from adminkit.programs import known
from adminkit.trace.forgotten import nameless_runs, nameless_steps
from adminkit.trace.upsert import (
    LOAD_BEGINS,
    Apart,
    insert_job,
    insert_step,
    same_job,
    same_step,
    upsert_job,
    upsert_step,
)

CHUNK: Final = 1 << 20
#: The environment's variable with the seal: arguments are for every user to read.
SEAL: Final = "ADMINKIT_SEAL"
#: The one with the key of who was forgotten; empty for none.
KEY: Final = "ADMINKIT_FORGET_KEY"


class OtherColumns(AdminkitError):
    """A header between the rows has a column that the statement has no place for."""


class RunTwice(AdminkitError):
    """A load that only inserts met the same run twice."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What one run read. rows = new + changed + unchanged + rejected + skipped + steps_rows."""

    rows: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    skipped: int = 0
    steps_rows: int = 0
    steps_new: int = 0
    steps_changed: int = 0
    repaired: int = 0
    utf8: int = 0
    ambiguous: int = 0
    contradictory: int = 0
    bytes: int = 0
    headers: int = 0  # between the rows, with other columns than those before
    repeated: int = 0  # rows of a job table that are another one again, word for word

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True)
class Statement:
    """The options of adminkit-ingest: how to read a record, and the statements that store it."""

    columns: Sequence[Column]
    delimiter: str
    job_sql: str = ""
    step_sql: str = ""
    insert_sql: str = ""  # tried before job_sql in runs of new rows
    insert_step_sql: str = ""
    same_sql: str = ""  # asked before job_sql in runs of unchanged rows: a row it finds is as the text says
    same_step_sql: str = ""
    reject_sql: str = ""
    bind: Sequence[str] = ()
    ends: bool = False
    packed: int = 0  # the first columns, which no user can write into, have SHORT between them
    swf: bool = False
    timezone: str = ""
    tres: str = ""  # "1001:gres/gpu=,1003:": a site's own TRES, of which lists have the numbers
    seal: str = ""  # a text behind the digits of every time
    wants: Sequence[str] = ()  # "3=alpha": what a column of a job's row must be
    within: Sequence[str] = ()  # "19=0..99": where the time in a column must be
    no_steps: bool = False  # a step's row is rejected
    fields: str = ""  # what headers between the rows may say; "": there are none
    without: Sequence[str] = ()  # "12=REVOKED": jobs' rows with this state in a column are skipped
    without_sql: str = ""  # run for each of these
    order: Sequence[int] = ()  # the columns of ORDER, from 1, or 0: which hour a time means that occurs twice
    first_line: int = 1
    fresh: bool = False
    gentle: bool = False  # at low priority
    once: bool = False  # the key is made at the end: each run comes once, and RunTwice where that was wrong
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    forget_key: str = ""  # hexadecimal: rows of users who were forgotten are stored without names

    def storing_jobs(
        self,
        values: Mapping[str, str],
        source: str,
        only_where: str = "1",
        again: bool = True,
        apart: Apart | None = None,
    ) -> Statement:
        """Store job rows of `source` as `values` (column -> SQL).

        `again`: what the same text stored need not be compared. `apart`: as upsert_job has it.
        """
        values = {**values, "fingerprint": self._fingerprint}
        if self.forget_key:
            values = nameless_runs(values)
        return replace(
            self,
            before=(LOAD_BEGINS, *self.before) if apart else self.before,
            job_sql=upsert_job(values, source, only_where, apart),
            insert_sql=insert_job(values, source, only_where),
            same_sql=same_job(values) if again else "",
        )

    def storing_steps(self, values: Mapping[str, str], source: str) -> Statement:
        """Store step rows of `source` as `values`."""
        values = {**values, "fingerprint": self._fingerprint}
        if self.forget_key:
            values = nameless_steps(values)
        return replace(
            self,
            step_sql=upsert_step(values, source),
            insert_step_sql=insert_step(values, source),
            same_step_sql=same_step(values),
        )

    @property
    def _fingerprint(self) -> str:
        """Where the helper binds a record's fingerprint: after the columns' outputs and what is bound by hand."""
        return f"?{outputs(self.columns) + len(self.bind) + 1}"

    def argv(self, db: Path) -> list[str]:
        args = [helper_path(), "--progress", "--parent", str(os.getpid())]
        args += ["--db", str(db), "--delimiter", self.delimiter]
        args += ["--columns", ",".join(column.spec for column in self.columns), "--first-line", str(self.first_line)]
        for flag, value in (
            ("--sql", self.job_sql),
            ("--step-sql", self.step_sql),
            ("--insert-sql", self.insert_sql),
            ("--insert-step-sql", self.insert_step_sql),
            ("--same-sql", self.same_sql),
            ("--same-step-sql", self.same_step_sql),
            ("--reject-sql", self.reject_sql),
            ("--without-sql", self.without_sql),
            ("--timezone", self.timezone),
            ("--tres", self.tres),
        ):
            args += [flag, value] if value else []
        args += ["--fields", self.fields] if self.fields else []
        args += ["--ends"] if self.ends else []
        args += ["--packed", str(self.packed)] if self.packed else []
        args += ["--comment", ";", "--surplus", "ignore"] if self.swf else []
        args += ["--fresh"] if self.fresh else []
        args += ["--gentle"] if self.gentle else []
        args += ["--sealed"] if self.seal else []
        args += ["--no-steps"] if self.no_steps else []
        args += ["--known", known()] if any(column.kind == "submitted" for column in self.columns) else []
        for flag, values in (
            ("--wants", self.wants),
            ("--within", self.within),
            ("--without", self.without),
            ("--order", [",".join(map(str, self.order))] if self.order else ()),
            ("--bind", self.bind),
            ("--before", self.before),
            ("--after", self.after),
        ):
            for value in values:
                args += [flag, value]
        return args


def ingest(
    statement: Statement,
    db: Path,
    source: IO[bytes],
    head: bytes = b"",
    progress: Callable[[Counts], None] | None = None,
) -> Counts:
    """Feed `head` and then all of `source` to the helper, in one transaction.

    A plain `source` without `head` is handed over whole, from where it stands. Raises AdminkitError,
    with nothing written, when the helper fails.
    """
    direct = not head and is_plain(source)
    words = statement.argv(db)
    with of_own_child(str(words[0])) as start:
        process = subprocess.Popen(
            words,
            env={**os.environ, SEAL: statement.seal, KEY: statement.forget_key},
            stdin=source if direct else subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            **start,
        )
    failed: list[BaseException] = []
    with process:
        pump = None if direct else _Pump(process, source, head, failed)
        last, text = Counts(), ""
        assert process.stderr
        for line in process.stderr:
            if line.startswith(b"{"):
                if not line.endswith(b"}\n"):
                    continue  # it was killed as it wrote
                last = _counts(json.loads(line), last)
                if progress:
                    progress(last)
            else:
                text += line.decode(errors="replace")
        if pump:
            pump.join()
    if failed:
        raise failed[0]
    if process.returncode:
        raise _kind_of(statement, text)(*_failure(text, process.returncode))
    return last


def _kind_of(statement: Statement, text: str) -> type[AdminkitError]:
    if statement.once and "UNIQUE constraint failed" in text:
        return RunTwice
    return OtherColumns if "a header has a further column" in text else AdminkitError


class _Pump(threading.Thread):
    """Copies the source into the helper's stdin; on a failure to read kills the helper, so that nothing commits."""

    def __init__(
        self, process: subprocess.Popen[bytes], source: IO[bytes], head: bytes, failed: list[BaseException]
    ) -> None:
        super().__init__(daemon=True)
        self.process, self.source, self.head, self.failed = process, source, head, failed
        self.start()

    def run(self) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(self.head)
            while chunk := self.source.read(CHUNK):
                self.process.stdin.write(chunk)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the helper has stopped; its own words say why
        except Exception as error:  # whatever it was: the helper must not take it for the end of the input
            self.failed.append(
                AdminkitError(
                    f"couldn't read the input: {error}", "nothing was written; correct the file and run it again"
                )
            )
            self.process.kill()
        with suppress(BrokenPipeError):  # what is left in the buffer is for nobody
            self.process.stdin.close()


def is_plain(stream: IO[bytes]) -> bool:
    """Whether the helper can read the stream itself, from its current position: an uncompressed file.

    Trap: a stream that unpacks has a descriptor too, that of the packed bytes.
    """
    return isinstance(stream, io.FileIO) and stream.seekable()


def _counts(said: dict[str, object], last: Counts) -> Counts:
    known = {f.name for f in fields(Counts)}
    return replace(last, **{k: v for k, v in said.items() if k in known and isinstance(v, int)})


def _failure(text: str, code: int) -> tuple[str, str]:
    said = text.strip().removeprefix("error:").strip() or f"adminkit-ingest ended with status {code}"
    hint = "nothing of this run was written"
    if "full" in said or "disk I/O" in said:
        hint += "; free some space and run the same command again"
    elif "the trace already has another job" in said:
        hint += "; this is another cluster's or another trace's file: give it a --cluster of its own"
    elif "two rows have the key" in said:
        hint += (
            "; every run needs a number of its own: a job table may number its rows, --map, job_id_raw = { row = 1 }"
        )
    elif "a header lacks" in said:
        hint += "; every header needs a run's key, and --cluster names the cluster of rows without one"
    elif "locked" in said:
        hint += "; another adminkit is writing: wait for it"
    elif "readonly" in said or "unable to open" in said:
        hint += "; writing needs the user who owns the trace"
    return said, hint
