"""What the trace keeps about words of GPUs: what those of its runs make, and of which runs accounting said nothing.

The view `run` looks both up. ingest/gpus.py fills them after each load, as they follow from the nodes and the config.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3

#: What `words` (gpu_parts of a run) are: kind, one of gres.KINDS; how many of each; and the GPUs that they make, NULL
#: where that is not known.
_WORDS: Final = """
CREATE TABLE gpu_words (
    cluster TEXT NOT NULL, words TEXT NOT NULL, kind TEXT,
    slices INTEGER, shards INTEGER, mps INTEGER, equivalents REAL,
    PRIMARY KEY (cluster, words)
) STRICT
"""
#: Runs of a queue ('': of none) that began in [since, until) and name no GPU: how many they had is not known.
_UNTRACKED: Final = """
CREATE TABLE gpu_untracked (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (cluster, queue, since)
) STRICT
"""
#: Runs of a queue that began in [since, until) and name GPUs without a type: these may be slices of MIG.
_UNTYPED: Final = """
CREATE TABLE gpu_untyped (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (cluster, queue, since)
) STRICT
"""
#: The statements that make the tables, and find the words of runs: few runs have any.
CREATE: Final = (
    _WORDS,
    _UNTRACKED,
    _UNTYPED,
    "CREATE INDEX job_gpu_parts ON job (cluster, gpu_parts) WHERE gpu_parts IS NOT NULL",
    "CREATE INDEX job_req_gpu_parts ON job (cluster, req_gpu_parts) WHERE req_gpu_parts IS NOT NULL",
)
NAMES: Final = ("gpu_words", "gpu_untracked", "gpu_untyped")


class Words(NamedTuple):
    """A row of gpu_words."""

    cluster: str
    words: str
    kind: str | None
    slices: int | None
    shards: int | None
    mps: int | None
    equivalents: float | None


class Untracked(NamedTuple):
    """A row of gpu_untracked, or of gpu_untyped."""

    cluster: str
    queue: str
    since: int
    until: int


class Node(NamedTuple):
    """A node as it is now: its GPUs, their types, shards and MPS, and its queues, in the form of the table `node`."""

    gpus: int
    gpu_types: str
    gpu_shares: str
    queues: frozenset[str]


class Typed(NamedTuple):
    """The types of a node's GPUs, in the form of the table `node`, its queues, and when it had them."""

    gpu_types: str
    queues: frozenset[str]
    since: int
    until: int | None


class Queue(NamedTuple):
    """Runs of a queue that began: how many, how many name GPUs, all of those by type, and when the first and the last
    of those began.
    """

    queue: str
    runs: int
    named: int
    typed: int
    first: int | None
    last: int | None


_BEGAN: Final = "coalesce(start_time, submit_time)"
_NAMES_GPUS: Final = "(gpus > 0 OR gpu_parts IS NOT NULL)"


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of the runs and of the nodes."""
    return [name for (name,) in db.execute("SELECT DISTINCT cluster FROM job UNION SELECT DISTINCT cluster FROM node")]


def words_of(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """The cluster and the words of every run that has any."""
    return db.execute(
        "SELECT DISTINCT cluster, gpu_parts FROM job WHERE gpu_parts IS NOT NULL"
        " UNION SELECT DISTINCT cluster, req_gpu_parts FROM job WHERE req_gpu_parts IS NOT NULL"
    ).fetchall()


def nodes_of(db: sqlite3.Connection, cluster: str) -> list[Node]:
    """The nodes of a cluster as they are now."""
    rows = db.execute(
        "SELECT coalesce(gpus, 0), coalesce(gpu_types, ''), coalesce(gpu_shares, ''), coalesce(queues, '') FROM"
        " (SELECT *, max(since) FROM node WHERE cluster = ? GROUP BY node) WHERE present = 1",
        (cluster,),
    )
    return [Node(many, types, shares, frozenset(filter(None, names.split(",")))) for many, types, shares, names in rows]


def types_of_nodes(db: sqlite3.Connection, cluster: str) -> list[Typed]:
    """The types of every node at every time; those that it had when it was first seen it had before."""
    rows = db.execute(
        "SELECT coalesce(gpu_types, ''), coalesce(queues, ''),"
        " CASE WHEN lag(since) OVER its IS NULL THEN 0 ELSE since END, lead(since) OVER its"
        " FROM node WHERE cluster = ? WINDOW its AS (PARTITION BY node ORDER BY since)",
        (cluster,),
    )
    return [Typed(types, frozenset(filter(None, names.split(","))), *span) for types, names, *span in rows if types]


def queues_of(db: sqlite3.Connection, cluster: str) -> list[Queue]:
    """The runs of each queue of a cluster. Reads every run."""
    rows = db.execute(
        f"SELECT coalesce(queue, ''), count(*), count(*) FILTER (WHERE {_NAMES_GPUS}),"
        f" count(*) FILTER (WHERE {_NAMES_GPUS} AND gpu_type IS NOT NULL),"
        f" min({_BEGAN}) FILTER (WHERE {_NAMES_GPUS}), max({_BEGAN}) FILTER (WHERE {_NAMES_GPUS})"
        " FROM job WHERE cluster = ? AND gpus IS NOT NULL GROUP BY 1",
        (cluster,),
    )
    return [Queue(*row) for row in rows]


def types_of(db: sqlite3.Connection, cluster: str) -> set[str]:
    """The types of GPUs that runs of a cluster name."""
    rows = db.execute("SELECT DISTINCT gpu_type FROM job WHERE cluster = ? AND gpu_type IS NOT NULL", (cluster,))
    return {name for (names,) in rows for name in names.split("+")}


def began_before(db: sqlite3.Connection, cluster: str, queues: Iterable[str], at: int) -> int:
    """How many runs of these queues began before `at` and name no GPU. Reads every run."""
    wanted = set(queues)
    rows = db.execute(
        f"SELECT coalesce(queue, ''), count(*) FROM job WHERE cluster = ? AND gpus = 0 AND {_BEGAN} < ? GROUP BY 1",
        (cluster, at),
    )
    return sum(count for queue, count in rows if queue in wanted)


def put(
    db: sqlite3.Connection, words: Iterable[Words], untracked: Iterable[Untracked], untyped: Iterable[Untracked]
) -> None:
    """Make the tables these rows. The caller holds a transaction.

    A row that stays is not touched: files of months (months/manifest.py) are made again for those that are.
    """
    its: tuple[set[Words | Untracked], ...] = (set(words), set(untracked), set(untyped))
    for table, rows in zip(NAMES, its, strict=True):
        there, wanted = set(db.execute(f"SELECT * FROM {table}")), {tuple(row) for row in rows}
        key = ("cluster", "words") if table == "gpu_words" else ("cluster", "queue", "since")
        same = " AND ".join(f"{column} = ?" for column in key)
        db.executemany(f"DELETE FROM {table} WHERE {same}", [row[: len(key)] for row in there - wanted])
        for row in wanted - there:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def is_cut_or_untracked(db: sqlite3.Connection) -> bool:
    """Whether GPUs of any run are not the whole number that its row has."""
    return any(db.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0] for name in NAMES)
