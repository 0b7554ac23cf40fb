"""Which jobs count: one Filter, the WHERE that is made of it, and how many jobs each of its rules left out.

Nothing that came from a person or a job stands in SQL text; every value is bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from adminkit.errors import AdminkitError, unknown_word
from adminkit.job import CLASSES, LIMIT_SOURCES
from adminkit.messages import message
from adminkit.sqlite import sqlite3
from adminkit.trace.months import edges
from adminkit.trace.run_view import STUDY_MIN_ELAPSED, STUDY_STATES, TOO_LONG

#: Slurm's states of a finished job. "all" among the states a person names stands for these.
ENDED_STATES: Final = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED",
    "TIMEOUT",
)  # fmt: skip
#: SQL: the run was carried on, or is a piece of a job that was, so that its run time says nothing about its limit. The
#: view has no column for what a setting decides: a run that exits with :checkpoint_code has more to do.
CARRIED_ON: Final = "(checkpoint OR exit_code IS :checkpoint_code)"
#: How likely a condition of a window is, for SQLite's planner, so that it scans.
_LIKELY: Final = 0.95
#: SQL: the run has an accuracy.
LIMITED: Final = f"(req_limit > 0 AND NOT {CARRIED_ON})"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs count. An empty sequence takes every value; times are epoch seconds, [since, until), on end_time where
    the measure says nothing else.
    """

    clusters: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    queues: Sequence[str] = ()
    users: Sequence[str] = ()
    accounts: Sequence[str] = ()
    classes: Sequence[str] = ()
    states: Sequence[str] = STUDY_STATES
    min_elapsed: int | None = STUDY_MIN_ELAPSED  # strictly longer jobs count; None: also those that never ran
    limit_source: str | None = None
    acting: bool = False  # only rows that may have consequences for a person
    scanned: bool = field(default=False, compare=False)  # the trace is read row by row, not by the index of ends
    checkpoint_code: int = field(kw_only=True)  # the site's: a run that leaves with it has more to do

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
        if self.min_elapsed is not None and self.min_elapsed >= 0:  # -1: every run whose elapsed is known
            shown["elapsed"] = message("> {seconds} s", seconds=self.min_elapsed)
        if self.limit_source:
            shown["limit source"] = self.limit_source
        return shown


@dataclass(frozen=True, slots=True)
class Selection:
    """A Filter as SQL over the view run; `params` are the values of its named parameters.

    `within` is the window's condition. `rules` are what else must hold, by name, in the order applied.
    """

    within: str
    rules: Mapping[str, str]
    params: Mapping[str, str | int]

    @property
    def where(self) -> str:
        return f"{self.within} AND {self.reason} = 0"

    @property
    def plain(self) -> str:
        """`where` without the reason: DuckDB skips what a condition of one column leaves out."""
        return f"{self.within} AND {self.upto(len(self.rules))}"

    def upto(self, rules: int) -> str:
        """That the first `rules` rules hold."""
        return " AND ".join(f"({holds})" for holds in [*self.rules.values()][:rules]) or "TRUE"

    @property
    def reason(self) -> str:
        """0 for a job that counts, else k for the k-th rule (from 1)."""
        return self._case("{}", "0")

    @property
    def counting(self) -> str:
        """`where` for a SELECT from only run; a LeftOut counts the rows that it leaves out."""
        return f"{self.within} AND CASE WHEN {self.within} THEN {self._case('left_out({})', 'TRUE')} END"

    def _case(self, broken: str, kept: str) -> str:
        cases = [
            f"WHEN ({holds}) IS NOT TRUE THEN {broken.format(k)}" for k, holds in enumerate(self.rules.values(), 1)
        ]
        return f"CASE {' '.join(cases)} ELSE {kept} END" if cases else kept


def select(chosen: Filter, *, limits: bool, at: str = "end_time") -> Selection:
    """`chosen` as SQL. `limits` also leaves out checkpoint runs and jobs without a finite limit, a rule per reason.

    `at` is the column that the window bounds.
    """
    params: dict[str, str | int] = {"checkpoint_code": chosen.checkpoint_code} if limits else {}

    def bound(value: str | int) -> str:
        name = f"v{len(params)}"
        params[name] = value
        return f":{name}"

    def among(column: str, values: Sequence[str]) -> str:
        return f"{column} IN ({', '.join(bound(value) for value in values)})"

    window = []
    holds = f"likelihood({{}}, {_LIKELY})" if chosen.scanned else "{}"
    if chosen.since is not None:
        window.append(holds.format(f"{at} >= {bound(chosen.since)}"))
    if chosen.until is not None:
        window.append(holds.format(f"{at} < {bound(chosen.until)}"))
    rules: list[tuple[str, str]] = []  # name, what must hold
    if chosen.acting:
        rules.append(("source", "acting"))
    for name, values in (
        ("cluster", chosen.clusters),
        ("queue", chosen.queues),
        ("user", chosen.users),
        ("account", chosen.accounts),
    ):
        if values:
            rules.append((name, among(name, values)))
    if chosen.classes:
        rules.append(("class_unknown", "class IS NOT NULL"))
        rules.append(("class", among("class", chosen.classes)))
    if chosen.states:
        rules.append(("state", among("state", chosen.states)))
    if chosen.min_elapsed is not None:
        rules.append(("elapsed", f"elapsed > {bound(max(chosen.min_elapsed, -1))} AND elapsed < {TOO_LONG}"))
    if limits:
        rules.append(("checkpoint", f"NOT {CARRIED_ON}"))
        rules += [
            (f"limit_{kind}", f"(req_limit > 0 OR limit_kind <> '{kind}')") for kind in ("unlimited", "partition")
        ]
        rules.append(("limit_unknown", "req_limit > 0"))
    if chosen.limit_source:
        rules.append(("limit_source", among("limit_source", (chosen.limit_source,))))
    return Selection(" AND ".join(window) or "TRUE", dict(rules), params)


class LeftOut:
    """Counts what a SELECT leaves out while it is read to its end: it is made before the SELECT, whose condition is
    `chosen.counting`. A second scan of the trace would cost as much as many a measure.
    """

    def __init__(self, db: sqlite3.Connection, chosen: Selection) -> None:
        self._db, self._chosen = db, chosen
        self._rules = bytearray()  # of each job that is left out
        db.create_function("left_out", 1, self._rules.append)  # answers NULL: the condition does not hold

    def by_rule(self) -> dict[str, int]:
        """How many jobs each rule left out, in the order applied."""
        return {name: self._rules.count(k) for k, name in enumerate(self._chosen.rules, start=1)}

    def counts(self, jobs: int) -> dict[str, int]:
        """The same, with those that the window left out, when `jobs` were taken."""
        excluded = self.by_rule()
        if self._chosen.within != "TRUE":
            everything = edges.count(self._db)
            excluded = {"window": everything - jobs - sum(excluded.values()), **excluded}
        return excluded


def left_out(db: sqlite3.Connection, chosen: Selection, jobs: int) -> dict[str, int]:
    """LeftOut.counts() where no SELECT can count them: one scan more."""
    counted = LeftOut(db, chosen)
    db.execute(f"SELECT count(*) FROM run WHERE {chosen.counting}", chosen.params).fetchone()
    return counted.counts(jobs)


def by_window(db: sqlite3.Connection, chosen: Filter) -> Filter:
    """`chosen`, to be scanned where its window has more than half of the time of the trace: the rows of an index lie
    here and there, and take longer than those beside each other.
    """
    first, last = span(db)
    if first is None or last is None:
        return chosen
    begin = first if chosen.since is None else max(first, chosen.since)
    end = last if chosen.until is None else min(last, chosen.until)
    return replace(chosen, scanned=2 * (end - begin) > last - first)


def check_words(db: sqlite3.Connection, chosen: Filter) -> Filter:
    """`chosen` by_window(), with its states and classes spelt as the trace spells them. UsageError for a word the trace
    lacks."""
    for kind, words, sources in (
        ("cluster", chosen.clusters, ("run", "queue")),
        ("queue", chosen.queues, ("run", "queue")),
        ("user", chosen.users, ("run",)),
        ("account", chosen.accounts, ("run",)),
    ):
        for word in words:
            if not any(_has(db, table, kind, word) for table in sources):
                raise unknown_word(kind, word, _known(db, sources, kind))
    states: list[str] = []
    for word in (state.strip().upper() for state in chosen.states):
        if word == "ALL":
            states += ENDED_STATES
        elif word in ENDED_STATES or _has(db, "run", "state", word):
            states.append(word)
        else:
            raise unknown_word("state", word, {*ENDED_STATES, "ALL", *_known(db, ("run",), "state")})
    for word in chosen.classes:
        if word not in CLASSES:
            raise unknown_word("class", word, CLASSES)
    if chosen.limit_source and chosen.limit_source not in LIMIT_SOURCES:
        raise unknown_word("limit source", chosen.limit_source, LIMIT_SOURCES)
    return by_window(db, replace(chosen, states=tuple(dict.fromkeys(states))))


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters that have jobs, by name."""
    return edges.clusters(db)


def only_cluster(db: sqlite3.Connection, named: str | None) -> str:
    """The cluster that was named, else the trace's only one. AdminkitError where there is no such one, or a choice."""
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
    return edges.span(db)


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """One read transaction for several SELECTs: all of them see the same trace, whatever a writer commits meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("COMMIT")  # what was read of the archive stays


def _has(db: sqlite3.Connection, table: str, column: str, word: str) -> bool:
    if table == "run":
        return edges.is_there(db, f"{column} = :word", {"word": word})
    return db.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (word,)).fetchone() is not None


def _known(db: sqlite3.Connection, tables: Sequence[str], column: str) -> list[str]:
    found: set[str] = set()
    for table in tables:
        found.update(w for (w,) in db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"))
    return sorted(found)
