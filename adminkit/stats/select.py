"""Which jobs count: one Filter, the one WHERE made of it, and how many jobs each part of it left out.

Nothing that came from a person or a job stands in SQL text; every value is bound.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from adminkit.errors import AdminkitError, unknown_word
from adminkit.job import CLASSES, LIMIT_SOURCES
from adminkit.stats.sources import ACTING

#: The study's: jobs that ended as they should, or at their limit.
DEFAULT_STATES: Final = ("COMPLETED", "TIMEOUT")
#: Slurm's states of a finished job. "all" among the states a person names stands for these.
ENDED_STATES: Final = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED",
    "TIMEOUT",
)  # fmt: skip
#: Shorter or equal jobs are mostly typing errors (the study's choice), in seconds.
DEFAULT_MIN_ELAPSED: Final = 60
#: Durations from here on (68 years) are nonsense and count as unknown; measures keep durations in 32 bits.
TOO_LONG: Final = 2**31 - 1

#: SQL: what was typed at submission, else the final limit; NULL for none.
TYPED: Final = "coalesce(limit_original, time_limit)"
#: SQL: the most that the job ever asked for, whoever lowered or raised it since; NULL for none. Nobody looks better by
#: lowering a limit before the end, nor by typing a small one and having it raised.
LIMIT: Final = f"max({TYPED}, coalesce(time_limit, limit_original))"
#: SQL: ended by a checkpoint, or one piece of a job that was: how long it ran says nothing about its limit.
#: Every note has a count of requeues, so most runs are told by one column.
CHECKPOINT: Final = "(ckpt_requeues IS NOT NULL AND coalesce(ckpt_heard > 0 OR ckpt_requeues > 0, 0))"
#: SQL: allocated, else requested.
NODES: Final = "coalesce(nodes, req_nodes)"
GPUS: Final = "coalesce(gpus, req_gpus)"
CPUS: Final = "coalesce(cpus, req_cpus)"


def class_sql(nodes: str, gpus: str) -> str:
    """SQL: one of job.CLASSES from two SQL expressions; NULL where the GPUs are unknown."""
    return (
        f"CASE WHEN {nodes} > 1 THEN 'multi-node' WHEN {gpus} > 1 THEN 'multi-gpu'"
        f" WHEN {gpus} = 1 THEN 'single-gpu' WHEN {gpus} = 0 THEN 'cpu' END"
    )


#: SQL: the class of the job in this row.
CLASS: Final = class_sql(NODES, GPUS)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs count. An empty sequence takes every value; times are epoch seconds on end_time, [since, until)."""

    clusters: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    queues: Sequence[str] = ()
    users: Sequence[str] = ()
    accounts: Sequence[str] = ()
    classes: Sequence[str] = ()
    states: Sequence[str] = DEFAULT_STATES
    min_elapsed: int = DEFAULT_MIN_ELAPSED  # strictly longer jobs count
    limit_source: str | None = None
    acting: bool = False  # only rows that may have consequences for a person

    def described(self) -> dict[str, str]:
        """What is filtered, for people: {"states": "COMPLETED, TIMEOUT", "elapsed": "> 60 s", …}."""
        words = {
            "queue": self.queues,
            "user": self.users,
            "account": self.accounts,
            "class": self.classes,
            "states": self.states,
        }
        shown = {name: ", ".join(values) for name, values in words.items() if values}
        shown["elapsed"] = f"> {self.min_elapsed} s"
        if self.limit_source:
            shown["limit source"] = self.limit_source
        return shown


@dataclass(frozen=True, slots=True)
class Selection:
    """A Filter as SQL over the table job; `params` are the values of its named parameters.

    `within` is the window's condition. `reason` is 0 for a job that counts, else k for the k-th of `rules` (from 1).
    """

    within: str
    reason: str
    rules: tuple[str, ...]
    params: Mapping[str, str | int]

    @property
    def where(self) -> str:
        return f"{self.within} AND {self.reason} = 0"


def select(chosen: Filter, *, limits: bool) -> Selection:
    """`chosen` as SQL. `limits` also leaves out checkpoint runs and jobs without a finite limit, a rule per reason."""
    params: dict[str, str | int] = {}

    def bound(value: str | int) -> str:
        name = f"v{len(params)}"
        params[name] = value
        return f":{name}"

    def among(column: str, values: Sequence[str]) -> str:
        return f"{column} IN ({', '.join(bound(value) for value in values)})"

    window = []
    if chosen.since is not None:
        window.append(f"end_time >= {bound(chosen.since)}")
    if chosen.until is not None:
        window.append(f"end_time < {bound(chosen.until)}")
    rules: list[tuple[str, str]] = []  # name, what must hold
    if chosen.acting:
        rules.append(("source", ACTING))
    for name, values in (
        ("cluster", chosen.clusters),
        ("queue", chosen.queues),
        ("user", chosen.users),
        ("account", chosen.accounts),
    ):
        if values:
            rules.append((name, among(name, values)))
    if chosen.classes:
        rules.append(("class_unknown", f"{CLASS} IS NOT NULL"))
        rules.append(("class", among(CLASS, chosen.classes)))
    if chosen.states:
        rules.append(("state", among("state", chosen.states)))
    rules.append(("elapsed", f"elapsed > {bound(max(chosen.min_elapsed, -1))} AND elapsed < {TOO_LONG}"))
    if limits:
        rules.append(("checkpoint", f"NOT {CHECKPOINT}"))
        rules += [(f"limit_{kind}", f"({LIMIT} > 0 OR limit_kind <> '{kind}')") for kind in ("unlimited", "partition")]
        rules.append(("limit_unknown", f"{LIMIT} > 0 AND {LIMIT} < {TOO_LONG}"))
    if chosen.limit_source:
        rules.append(("limit_source", among("limit_source", (chosen.limit_source,))))
    cases = " ".join(f"WHEN ({holds}) IS NOT TRUE THEN {k}" for k, (_, holds) in enumerate(rules, start=1))
    return Selection(" AND ".join(window) or "TRUE", f"CASE {cases} ELSE 0 END", tuple(n for n, _ in rules), params)


def left_out(db: sqlite3.Connection, chosen: Selection, jobs: int) -> dict[str, int]:
    """How many jobs each rule left out, in the order applied, when `jobs` were taken.

    Trap: without the LIMIT SQLite would write the whole CASE once into every sum.
    """
    sums = ", ".join(f"total(rule = {k})" for k in range(1, len(chosen.rules) + 1))
    reasons = f"SELECT {chosen.reason} AS rule FROM job WHERE {chosen.within} LIMIT -1"
    counts = db.execute(f"SELECT {sums} FROM ({reasons}) WHERE rule > 0", chosen.params).fetchone()
    excluded = dict(zip(chosen.rules, map(int, counts), strict=True))
    if chosen.within != "TRUE":
        everything = int(db.execute("SELECT count(*) FROM job").fetchone()[0])
        excluded = {"window": everything - jobs - sum(excluded.values()), **excluded}
    return excluded


def check_words(db: sqlite3.Connection, chosen: Filter) -> Filter:
    """`chosen` with its states and classes spelt as the trace spells them. UsageError for a word the trace lacks."""
    for kind, words, sources in (
        ("cluster", chosen.clusters, ("job", "queue")),
        ("queue", chosen.queues, ("job", "queue")),
        ("user", chosen.users, ("job",)),
        ("account", chosen.accounts, ("job",)),
    ):
        for word in words:
            if not any(_has(db, table, kind, word) for table in sources):
                raise unknown_word(kind, word, _known(db, sources, kind))
    states: list[str] = []
    for word in (state.strip().upper() for state in chosen.states):
        if word == "ALL":
            states += ENDED_STATES
        elif word in ENDED_STATES or _has(db, "job", "state", word):
            states.append(word)
        else:
            raise unknown_word("state", word, {*ENDED_STATES, "ALL", *_known(db, ("job",), "state")})
    for word in chosen.classes:
        if word not in CLASSES:
            raise unknown_word("class", word, CLASSES)
    if chosen.limit_source and chosen.limit_source not in LIMIT_SOURCES:
        raise unknown_word("limit source", chosen.limit_source, LIMIT_SOURCES)
    return replace(chosen, states=tuple(dict.fromkeys(states)))


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters that have jobs, by name: one look into the key's index for each, not a scan."""
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM job").fetchone()
    while name is not None:
        found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM job WHERE cluster > ?", (name,)).fetchone()
    return found


def only_cluster(db: sqlite3.Connection, named: str | None) -> str:
    """The cluster that is meant: the one named, else the trace's only one."""
    known = clusters(db)
    if named is not None and named in known:
        return named
    if named is None and len(known) == 1:
        return known[0]
    if not known:
        raise AdminkitError("the trace has no jobs yet", "run `adminkit sync`")
    if named is None:
        raise AdminkitError(f"the trace has several clusters: {', '.join(known)}", "name one with --cluster")
    raise AdminkitError(f"no such cluster: {named}", f"known: {', '.join(known)}")


def span(db: sqlite3.Connection) -> tuple[int | None, int | None]:
    """The first and the last end of any job, epoch seconds."""
    (first,) = db.execute("SELECT min(end_time) FROM job").fetchone()
    (last,) = db.execute("SELECT max(end_time) FROM job").fetchone()
    return first, last


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """One view of the trace for several SELECTs, whatever a writer does meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _has(db: sqlite3.Connection, table: str, column: str, word: str) -> bool:
    return db.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (word,)).fetchone() is not None


def _known(db: sqlite3.Connection, tables: Sequence[str], column: str) -> list[str]:
    found: set[str] = set()
    for table in tables:
        found.update(w for (w,) in db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"))
    return sorted(found)
