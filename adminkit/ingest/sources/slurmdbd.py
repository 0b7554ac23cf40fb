"""slurmdbd's own database as a source: the records that sacct would print, made by SQL in a fraction of its time.

A record has sacct's fields, behind each field the answer's delimiter and behind both times of submission its seal, as
sacct's answers have them; so all that follows is the same. Spelling costs the server more than anything else, so what
adminkit-ingest reads as well from the tables is left as it is (slurmdbd_fields.py). The tables are private to Slurm:
their shape is looked at before the first question, and one that is not known is refused (slurmdbd_schema.py).
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import ClassVar, Final

from adminkit import __version__
from adminkit.ingest.sources.base import JOBS, STEPS, Opener, Part, SourceFailed, Spool
from adminkit.ingest.sources.gpu_values import filled
from adminkit.ingest.sources.sacct import FOREVER, Accounting, own_runs, spool_of
from adminkit.ingest.sources.slurmdbd_answer import finish
from adminkit.ingest.sources.slurmdbd_fields import (
    CODED,
    JOB_VALUES,
    KINDS,
    NO_VAL,
    OWN,
    STATES,
    STEP_END,
    STEP_VALUES,
    Coded,
    Known,
    ended_elapsed,
    exit_code,
    job_fields,
    literal,
    packed_of,
    step_fields,
)
from adminkit.ingest.sources.slurmdbd_schema import Schema, associations_of, schema_of
from adminkit.ingest.spec import Column, parameters
from adminkit.ingest.window_plan import HOUR, Window
from adminkit.slurm import cluster as slurm
from adminkit.slurm import release
from adminkit.slurm.database import Database, DatabaseFailed
from adminkit.slurm.sacct import Answer, Query, SacctFailed, fetch
from adminkit.slurm.seal import SHORT, Marks, draw_typed
from adminkit.trace import runs

#: Jobs that sacct is asked about at once, for the words of their codes.
_AT_ONCE: Final = 200
#: Numbers that are drawn for each job that is wanted.
_DRAWS: Final = 4
#: Seconds after now at which sacct's window for them ends.
_LATER: Final = 86_400


def _first_words() -> dict[str, dict[int, str]]:
    return {one.field: dict(STATES) if one.field == "State" else {} for one in CODED}


@dataclass
class Slurmdbd(Accounting):
    """One cluster's jobs from the tables. `words`: field -> code -> sacct's word; it grows as codes are met."""

    name: ClassVar[str] = "slurmdbd"
    cluster: str
    folder: Path
    database: Database
    record: str
    schema: Schema
    sacct: release.Release
    started_at: int | None = None
    releases: str = ""  # of all that a record's spelling depends on: another one after an upgrade
    words: dict[str, dict[int, str]] = field(default_factory=_first_words)
    #: User and Account by association; None: too many to know them all.
    associations: dict[str, dict[int, str]] | None = None
    #: Held while words are learned: another thread never sees a code of which the word is not there yet.
    learning: Lock = field(default_factory=Lock)

    def closed(self, part: Part, window: Window, ids: Sequence[int] = ()) -> Spool:
        ended = f"j.time_end BETWEEN {window.since:d} AND {window.until - 1:d}"
        return self._spool(part, "closed", window, ended, ids, ended=True)

    def open_snapshot(self, part: Part, moment: int, ids: Sequence[int] = ()) -> Spool:
        after = moment + 1
        still = (
            f"j.time_eligible AND j.time_eligible < {after:d}"
            f" AND (j.time_start > {moment:d} OR j.time_start = 0 AND (j.time_end = 0 OR j.time_end > {moment:d}))"
            f" OR j.time_start AND j.time_start < {after:d} AND (j.time_end = 0 OR j.time_end > {moment:d})"
        )
        return self._spool(part, "open", Window(moment, FOREVER), f"({still})", ids, ended=False)

    def lookup(self, part: Part, window: Window, ids: Sequence[int]) -> Spool:
        there = f"j.time_submit < {window.until:d} AND (j.time_end = 0 OR j.time_end >= {window.since:d})"
        spool = self._spool(part, "lookup", Window(window.since, FOREVER), there, ids, ended=False)
        return replace(spool, only_where=own_runs(spool.values, stored=True)) if part == JOBS else spool

    def digest(self, window: Window) -> runs.Digest:
        ended = f"j.time_end BETWEEN {window.since:d} AND {window.until - 1:d}"
        begun = time.monotonic()
        try:
            code = exit_code("j.derived_ec")
            limit = f"IF(j.timelimit >= {NO_VAL}, 0, 60 * j.timelimit)"
            found = self.database.ask(
                f"SELECT j.state, COUNT(*), SUM({ended_elapsed()}), SUM(j.time_end), SUM({limit}), SUM({code})"
                f" FROM `{self.cluster}_job_table` AS j WHERE {ended} GROUP BY j.state"
            )
            if any(int(state) not in self.words["State"] for state, *_ in found):
                self._learn(ended, STEPS)
        except DatabaseFailed as error:
            raise SourceFailed(error, time.monotonic() - begun, error.unreachable) from error
        states = dict.fromkeys(runs.DIGEST_STATES, 0)
        sums = [0] * 5
        for state, *numbers in found:
            word = self.words["State"].get(int(state), "")
            if word == "REVOKED":
                continue
            sums = [total + int(number) for total, number in zip(sums, numbers, strict=True)]
            if word in states:
                states[word] += int(numbers[0])
        return (sums[0], sums[1], sums[2], sums[3], sums[4], *states.values())

    def step_digest(self, window: Window) -> tuple[int, int]:
        ended = f"j.time_end BETWEEN {window.since:d} AND {window.until - 1:d}"
        sql = f"SELECT COUNT(*), IFNULL(SUM({STEP_END}), 0) FROM {_tables(self.cluster, STEPS)} WHERE {ended}"
        [(count, ends)] = self._ask(sql)
        return int(count), int(ends)

    def changed(self, since: int, among: Window) -> list[int]:
        sql = (
            f"SELECT DISTINCT j.time_end DIV {HOUR} FROM `{self.cluster}_job_table` AS j"
            f" WHERE j.mod_time >= {since:d} AND j.time_end BETWEEN {among.since:d} AND {among.until - 1:d}"
        )
        return [int(hour) * HOUR for (hour,) in self._ask(sql)]

    def kept_since(self) -> tuple[int, int] | None:
        jobs = f"`{self.cluster}_job_table`"
        steps = f"SELECT MIN(job_db_inx) FROM `{self.cluster}_step_table`"
        [(job, step)] = self._ask(
            f"SELECT (SELECT MIN(time_end) FROM {jobs} WHERE time_end > 0),"
            f" (SELECT NULLIF(time_end, 0) FROM {jobs} WHERE job_db_inx = ({steps}))"
        )
        return None if job == "NULL" else (int(job), int(job) if step == "NULL" else int(step))

    def _ask(self, sql: str) -> list[list[str]]:
        begun = time.monotonic()
        try:
            return self.database.ask(sql)
        except DatabaseFailed as error:
            raise SourceFailed(error, time.monotonic() - begun, error.unreachable) from error

    def sample(self, count: int) -> list[tuple[int, int]]:
        """(JobIDRaw, Submit) of up to `count` runs that have ended, drawn at random over the whole table."""
        table = f"`{self.cluster}_job_table`"
        [(low, high)] = self.database.ask(f"SELECT MIN(job_db_inx), MAX(job_db_inx) FROM {table}")
        if low == "NULL":
            return []
        # Numbers that purged jobs left free all lead to the job behind them, so more are drawn than are wanted.
        draws = {random.randint(int(low), int(high)) for _ in range(_DRAWS * count)}
        one = f"SELECT id_job, time_submit FROM {table} WHERE time_end > 0 AND job_db_inx >="
        found = self.database.ask(" UNION ".join(f"({one} {place:d} ORDER BY job_db_inx LIMIT 1)" for place in draws))
        return [(int(number), int(submit)) for number, submit in random.sample(found, min(count, len(found)))]

    def _fields(self, part: Part, known: Known) -> dict[str, str]:
        """The fields in the order of their SQL, free text behind the others -> SQL."""
        there = step_fields(known) if part == STEPS else job_fields(known)
        wanted = {*self.wanted(part), *OWN}
        return {name: sql for name, sql in there.items() if name in wanted}

    def _known(self, marks: Marks) -> Known:
        return Known(marks.seal, int(time.time()), self.words, self.associations, self.schema.columns, self.sacct)

    def _spool(self, part: Part, kind: str, window: Window, where: str, ids: Sequence[int], ended: bool) -> Spool:
        """The runs, or steps of runs, for which `where` is true, of these JobIDRaws if any are given."""
        begun, marks = time.monotonic(), draw_typed()
        target = self.folder / f"{kind}-{part}-{window.since}-{window.until}"
        chosen = f"{where}{_among(ids)}"
        try:
            if part != STEPS and not self.words["QOS"]:
                self._learn(chosen, part)  # before the first answer, which would lack nearly all words
            fields, partial = self._read(part, chosen, marks, target, ended and not ids)
            if partial and self._learn(chosen, part):
                fields, partial = self._read(part, chosen, marks, target, ended and not ids)
        except DatabaseFailed as error:
            raise SourceFailed(error, time.monotonic() - begun, error.unreachable) from error
        answer = Answer(target, time.monotonic() - begun, marks)
        span, names = (window.since, window.until), [*fields, "Submit"]
        spool = spool_of(part, answer, names, span, ended, self.cluster, self.record, kinds=KINDS)
        values = {**spool.values, **_values(part, spool.reading.columns)}
        reading = replace(spool.reading, tres=self.schema.numbers, packed=packed_of(fields))
        return replace(spool, reading=reading, values=values, partial=partial)

    def _read(self, part: Part, where: str, marks: Marks, target: Path, many: bool) -> tuple[list[str], bool]:
        """An answer into `target`: its fields, and whether records were left out for lack of a word."""
        with self.learning:
            known = self._known(marks)
            fields = self._fields(part, known)
        tables = _tables(self.cluster, part, joined=known.associations is None)
        sql = _select(tables, [*fields.values(), fields["Submit"]], packed_of(fields), marks, where)
        self.database.spool(f"{_span(self.cluster, where)}{sql}{_WITHIN}" if many else sql, target)
        return list(fields), finish(target, marks)

    def _learn(self, where: str, part: Part) -> bool:
        """Ask sacct for the words of codes that are new, each by one job that has it. Returns whether any came.

        Steps have only states.
        """
        coded = [one for one in CODED if part != STEPS or one.field == "State"]
        with self.learning:
            asked: dict[tuple[str, int], tuple[int, int]] = {}
            for row in self.database.ask(_codes(self.cluster, where, coded)):
                for one, cell in zip(coded, row[:-2], strict=True):
                    if cell != "NULL" and int(cell) not in self.words[one.field]:
                        asked[one.field, int(cell)] = int(row[-2]), int(row[-1])
            jobs = sorted(set(asked.values()))
            told: dict[tuple[int, int], dict[str, str]] = {}
            for at in range(0, len(jobs), _AT_ONCE):
                told |= self._told(jobs[at : at + _AT_ONCE])
            for (name, code), job in asked.items():
                if job in told:
                    self.words[name][code] = told[job][name]
            before, self.associations = self.associations, associations_of(self.database, self.cluster)
            return bool(told) or before != self.associations

    def _told(self, jobs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], dict[str, str]]:
        """(JobIDRaw, Submit) -> the words of the coded fields, as sacct prints them."""
        names = [one.field for one in CODED]
        ids = sorted({number for number, _ in jobs})
        since = min(submit for _, submit in jobs)
        fields = ["JobIDRaw", *names, "Submit"]
        query = Query(self.cluster, since, int(time.time()) + _LATER, (), fields, job_ids=ids)
        target = self.folder / f"words-{ids[0]}-{len(ids)}"
        try:
            answer = fetch(query, target, self.database.timeout)
        except SacctFailed as error:
            raise SourceFailed(error, error.seconds, error.unreachable) from error
        mark, told = answer.marks.delimiter, {}
        for line in target.read_text(errors="replace").split("\n"):
            cells = line.split(mark)
            submit = answer.marks.epoch(cells[-2]) if len(cells) == len(fields) + 1 else None
            if submit is not None and cells[0].isdigit():
                words = dict(zip(names, cells[1:], strict=False))
                words["State"] = words["State"].partition(" ")[0]
                told[int(cells[0]), submit] = words
        target.unlink()
        return told


def opener(option_file: Path) -> Opener:
    """Opens the source by the option file of the database's client.

    AdminkitError where the database does not answer, has tables of another shape, or no jobs of this cluster.
    """

    def open_slurmdbd(cluster: str, folder: Path, *, timeout: float, record: str) -> Slurmdbd:
        database = Database(option_file, timeout)
        schema = schema_of(database, cluster)
        running, sacct = slurm.accounting(), release.release()
        releases = (
            f"slurmdbd {running.release or 'unknown'}, sacct {release.show_release(sacct)},"
            f" tables {schema.version or 'unknown'}, adminkit {__version__}"
        )
        return Slurmdbd(cluster, folder, database, record, schema, sacct, running.booted_at, releases)

    return open_slurmdbd


def _span(cluster: str, where: str) -> str:
    """SQL before a question of a window, in one snapshot with it: the numbers of its first and last row.

    A server that goes by the ends of jobs looks for each row by itself, which takes three times as long as to read
    rows one after the other. With these numbers it has the choice.
    """
    return (
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;\nSELECT MIN(j.job_db_inx), MAX(j.job_db_inx)"
        f" INTO @low, @high FROM `{cluster}_job_table` AS j WHERE {where};\n"
    )


_WITHIN: Final = " AND j.job_db_inx BETWEEN @low AND @high"


def _values(part: Part, columns: Sequence[Column]) -> dict[str, str]:
    """The trace's column -> SQL, where a field that sacct has is made of others."""
    place = parameters(list(columns))
    made = {JOBS: JOB_VALUES, STEPS: STEP_VALUES}.get(part, {})
    return {column: text for column, sql in made.items() if (text := filled(sql, place)) is not None}


def _among(ids: Sequence[int]) -> str:
    """SQL: the jobs that sacct -j names: these, and the tasks and components of these."""
    if not ids:
        return ""
    listed = ",".join(f"{one:d}" for one in ids)
    return f" AND (j.id_job IN ({listed}) OR j.id_array_job IN ({listed}) OR j.het_job_id IN ({listed}))"


def _tables(cluster: str, part: Part, joined: bool = True) -> str:
    """`joined`: with the associations, alias a."""
    if part == STEPS:
        return f"`{cluster}_job_table` AS j JOIN `{cluster}_step_table` AS s ON s.job_db_inx = j.job_db_inx"
    association = f" LEFT JOIN `{cluster}_assoc_table` AS a ON a.id_assoc = j.id_assoc" if joined else ""
    return f"`{cluster}_job_table` AS j{association}"


def _codes(cluster: str, where: str, coded: Sequence[Coded]) -> str:
    """SQL: each combination of codes, with a job that has it: a number and a submission."""
    codes = ", ".join(one.code for one in coded)
    latest = "MAX(j.id_job * 4294967296 + j.time_submit)"
    return (
        f"SELECT {codes}, {latest} DIV 4294967296, {latest} MOD 4294967296"
        f" FROM {_tables(cluster, JOBS)} WHERE {where} GROUP BY {codes}"
    )


def _select(tables: str, fields: Sequence[str], packed: int, marks: Marks, where: str) -> str:
    """SQL: one record a row, each field with the delimiter behind it, as sacct -p prints them.

    Of the first `packed` fields only the last one has it behind it.
    """
    between, mark = literal(SHORT), literal(marks.delimiter)
    record = ", ".join(f"{one}, {between if place < packed else mark}" for place, one in enumerate(fields, 1))
    # Traps: a HAVING over the record, or its name in another place, would have the server make it twice; and it sorts
    # records of this width by reading each row a second time.
    return f"SELECT IFNULL(CONCAT({record}), {literal(marks.seal)}) FROM {tables} WHERE {where}"
