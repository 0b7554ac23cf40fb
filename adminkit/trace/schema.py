"""The schema, as ordered migrations. A released one is never edited; the next change is a new function.

`user_version` is the number of migrations applied, so a reader can tell an older or newer trace without
loading sqlite_utils.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import IN_PIECES
from adminkit.trace.forgotten import SCHEMA as FORGOTTEN
from adminkit.trace.gpu_words import CREATE as GPU_TABLES
from adminkit.trace.ledger import SCHEMA as LEDGER
from adminkit.trace.months.manifest import CREATE as MONTH_FILE
from adminkit.trace.power_curve import SCHEMA as POWER_CURVE
from adminkit.trace.run_view import RUN_SELECT, UNEXTENDED

if TYPE_CHECKING:
    from sqlite_utils import Database

#: How many migrations this release knows. A test keeps it equal to their number.
SCHEMA_VERSION: Final = 3

_JOB = """
CREATE TABLE job (
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', audited TEXT, seen_open INTEGER, db_index INTEGER,
    job_id TEXT, array_job INTEGER, array_task INTEGER, array_tasks INTEGER, het_job INTEGER, het_offset INTEGER,
    user TEXT, uid INTEGER, "group" TEXT, account TEXT, queue TEXT, qos TEXT, job_name TEXT,
    state TEXT, cancelled_by INTEGER, reason TEXT,
    exit_code INTEGER, exit_signal INTEGER, derived_exit_code INTEGER,
    priority INTEGER, flags TEXT, restarts INTEGER,
    eligible_time INTEGER, start_time INTEGER, end_time INTEGER, elapsed INTEGER, suspended INTEGER,
    time_limit INTEGER, limit_kind TEXT NOT NULL DEFAULT 'unknown',
    limit_source TEXT NOT NULL DEFAULT 'unknown', limit_original INTEGER,
    ext_asked INTEGER, ext_limit INTEGER, ext_times INTEGER,
    ckpt_at INTEGER, ckpt_heard INTEGER, ckpt_requeues INTEGER, ckpt_end TEXT,
    req_nodes INTEGER, req_cpus INTEGER, req_gpus INTEGER, req_gpu_parts TEXT, req_mem INTEGER,
    nodes INTEGER, cpus INTEGER, gpus INTEGER, gpu_type TEXT, gpu_parts TEXT, mem INTEGER, node_list TEXT,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    admin_comment TEXT,
    submitted_by TEXT, ckpt_asked INTEGER, program TEXT, framework TEXT, container TEXT, fingerprint INTEGER
) STRICT
"""

_STEP = """
CREATE TABLE step (
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL, step TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'text', step_name TEXT, state TEXT, nodes INTEGER, tasks INTEGER, gpus INTEGER,
    start_time INTEGER, end_time INTEGER, elapsed INTEGER,
    cpu_time REAL, max_rss INTEGER, disk_read INTEGER, disk_write INTEGER, energy INTEGER,
    exit_code INTEGER, exit_signal INTEGER, fingerprint INTEGER, mem_used INTEGER, gpus_used REAL,
    UNIQUE (cluster, job_id_raw, submit_time, step)
) STRICT
"""

# What an audit took out of job and step, whole and to be put back: their columns, why, and when.
_ASIDE = "aside (\n    why TEXT NOT NULL, aside_at INTEGER NOT NULL,"
_JOB_ASIDE = _JOB.replace("job (", f"job_{_ASIDE}", 1)
_STEP_ASIDE = _STEP.replace("step (", f"step_{_ASIDE}", 1).replace(
    ",\n    UNIQUE (cluster, job_id_raw, submit_time, step)", ""
)

# Every window in which sacct was asked: [since, until), whose rows ended in it. `pass` is job or step.
# provisional = 1 while rows for it may still be on their way to slurmdbd.
_WINDOW = """
CREATE TABLE window (
    cluster TEXT NOT NULL, pass TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    provisional INTEGER NOT NULL, asked_at INTEGER NOT NULL, seconds REAL NOT NULL,
    rows INTEGER NOT NULL, new INTEGER NOT NULL, changed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    revoked INTEGER NOT NULL,
    PRIMARY KEY (cluster, pass, since, until)
) STRICT
"""

# What could not be read, whole, with its place. The same text from the same source is one row.
_REJECTED = """
CREATE TABLE rejected (
    source TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL, raw BLOB NOT NULL, seen_at INTEGER NOT NULL,
    UNIQUE (source, raw)
) STRICT
"""

# One row per import, sync pass or demo: what came in.
_LOAD = """
CREATE TABLE load (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, cluster TEXT,
    started_at INTEGER NOT NULL, seconds REAL NOT NULL,
    rows INTEGER NOT NULL, new INTEGER NOT NULL, changed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    skipped INTEGER NOT NULL
) STRICT
"""

# A queue's limits as they were from `since` on; seconds, NULL for none. The newest row is today's.
_QUEUE = """
CREATE TABLE queue (
    cluster TEXT NOT NULL, queue TEXT NOT NULL, since INTEGER NOT NULL,
    default_limit INTEGER, max_limit INTEGER, nodes INTEGER,
    PRIMARY KEY (cluster, queue, since)
) STRICT
"""

# What a node is from `since` on; the newest row is today's. present = 0: Slurm no longer has it, and the rest is NULL.
# Lists are in order, between commas: gpu_types a100:4,v100:2; gpu_shares, shards and MPS of its GPUs, shard:a100:16.
_NODE = """
CREATE TABLE node (
    cluster TEXT NOT NULL, node TEXT NOT NULL, since INTEGER NOT NULL, present INTEGER NOT NULL,
    cpus INTEGER, mem INTEGER, gpus INTEGER, gpu_types TEXT, gpu_shares TEXT, features TEXT, queues TEXT,
    PRIMARY KEY (cluster, node, since)
) STRICT
"""

# When a node could not be used, as slurmdbd has it; end_time is NULL while it lasts.
_NODE_EVENT = """
CREATE TABLE node_event (
    cluster TEXT NOT NULL, node TEXT NOT NULL, start_time INTEGER NOT NULL, end_time INTEGER,
    state TEXT NOT NULL, reason TEXT, user TEXT, uid INTEGER,
    PRIMARY KEY (cluster, node, start_time)
) STRICT
"""

# Small facts adminkit keeps about a cluster (slurmdbd's release, when it was rebuilt …).
_FACT = """
CREATE TABLE fact (
    cluster TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (cluster, key)
) STRICT
"""

# Acts on Slurm, from the log that each acting host keeps; `line` is the whole of one, as JSON with sorted keys.
_ACTION = """
CREATE TABLE action (
    at INTEGER NOT NULL, host TEXT, who TEXT, what TEXT, generation TEXT, line TEXT NOT NULL UNIQUE
) STRICT
"""

# Who a random id stands for: a user of a cluster. Charges have the id; a person who is forgotten has no row.
_PERSON = """
CREATE TABLE person (
    person TEXT PRIMARY KEY, cluster TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER, since INTEGER NOT NULL,
    UNIQUE (cluster, user)
) STRICT
"""

# Letters: one row each, under the key that makes two of them one. Its recipient and its subject stand in it, so that
# it can be told without the run; what a kind of letter is not about is NULL. state: due, claimed, sent, refused,
# expired.
_OUTBOX = """
CREATE TABLE outbox (
    cluster TEXT NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL,
    until INTEGER NOT NULL, language TEXT NOT NULL, address TEXT NOT NULL,
    user TEXT, uid INTEGER,
    job_id_raw INTEGER, submit_time INTEGER, is_array INTEGER, job_name TEXT,
    week TEXT, since INTEGER, notes TEXT,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, copy INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL, next_at INTEGER NOT NULL, claimed_at INTEGER, sent_at INTEGER, said TEXT,
    PRIMARY KEY (cluster, run, kind),
    CHECK (CASE kind
        WHEN 'end' THEN user IS NOT NULL AND uid IS NOT NULL
            AND job_id_raw IS NOT NULL AND submit_time IS NOT NULL AND is_array IS NOT NULL
        WHEN 'digest' THEN user IS NOT NULL AND uid IS NOT NULL AND week IS NOT NULL AND since IS NOT NULL
        WHEN 'statement' THEN user IS NOT NULL AND uid IS NOT NULL AND week IS NOT NULL AND since IS NOT NULL
        WHEN 'operator' THEN week IS NOT NULL AND since IS NOT NULL
        WHEN 'budget' THEN week IS NOT NULL AND since IS NOT NULL
        ELSE FALSE END)
) STRICT
"""

# The study's table: 19 columns under its names. wait_time counts from submission, as the study does;
# adminkit's own reports count from the moment the job was eligible.
_TRACE_SELECT = f"""SELECT
    coalesce(array_job, het_job, job_id_raw) AS job_id,
    CASE WHEN array_job IS NOT NULL THEN 'array' WHEN het_job IS NOT NULL THEN 'het' ELSE 'normal' END AS job_type,
    array_task AS task_id, user, "group", priority, queue, req_nodes, req_cpus, req_gpus, req_mem,
    coalesce(limit_original, {UNEXTENDED}) AS time_limit, node_list, exit_code,
    submit_time, start_time, end_time, start_time - submit_time AS wait_time, elapsed
FROM job
"""

#: Name -> SELECT of every view of the schema. sight.py makes each once more over the views that it puts before tables.
VIEWS: Final = {"trace": _TRACE_SELECT, "run": RUN_SELECT}


def m001_trace(db: Database) -> None:
    """The trace as first released."""
    for table in (
        _JOB,
        _STEP,
        _JOB_ASIDE,
        _STEP_ASIDE,
        _WINDOW,
        _REJECTED,
        _LOAD,
        _QUEUE,
        _NODE,
        _NODE_EVENT,
        _FACT,
        _ACTION,
        _PERSON,
        FORGOTTEN,
        _OUTBOX,
        *GPU_TABLES,
        *LEDGER,
        POWER_CURVE,
    ):
        db.execute(table)
    for name, select in VIEWS.items():
        db.execute(f"CREATE VIEW {name} AS {select}")
    # The key is an index of its own, not a constraint of the table, so that a first import can make it at its end.
    db.execute("CREATE UNIQUE INDEX job_key ON job (cluster, job_id_raw, submit_time)")
    # end_time: reports by period, sync's reconciliation of a window, who is due a letter.
    db.execute("CREATE INDEX job_end ON job (end_time)")
    # db_index: does another job already carry this DBIndex, that is, was the accounting database rebuilt?
    db.execute("CREATE INDEX job_db_index ON job (db_index)")
    # what sync has to look up again: the few runs without an end.
    db.execute("CREATE INDEX job_open ON job (cluster, seen_open) WHERE end_time IS NULL")
    # Is there any row of the demo? Nothing is installed or sent of those.
    db.execute("CREATE INDEX job_demo ON job (cluster) WHERE source = 'demo'")
    # Was an earlier run of the same job put back? The view run asks it of every run, and only this index answers.
    db.execute(
        f"CREATE INDEX job_requeued ON job (cluster, job_id_raw, submit_time, state, restarts) WHERE {IN_PIECES}"
    )
    # array_job: an array is judged, and told of, as a whole.
    db.execute("CREATE INDEX job_array ON job (cluster, array_job) WHERE array_job IS NOT NULL")
    # what is left to send, and when a user last got a letter.
    db.execute("CREATE INDEX outbox_open ON outbox (next_at) WHERE state IN ('due', 'claimed')")
    db.execute("CREATE INDEX outbox_user ON outbox (cluster, uid, kind)")


def m002_months(db: Database) -> None:
    """The table of the files that months are copied to."""
    db.execute(MONTH_FILE)


#: Sums that reports read before there were files of months; a trace has them if it was made then.
_ROLLUPS: Final = (
    "rollup_kept", "rollup_key", "ended_month", "ended_month_user", "occupied_hour", "occupied_key", "started_month",
    "started_key", "ended_day", "rollup_queue",
)  # fmt: skip


def m003_no_rollups(db: Database) -> None:
    """Remove the rollups, with what kept them: reports read files of months (docs/adr/0026-months-in-parquet.md)."""
    for trigger in ("rollup_insert", "rollup_update", "rollup_delete"):
        db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    db.execute("DROP VIEW IF EXISTS rollup_change")
    db.execute("DROP INDEX IF EXISTS rollup_odd")
    for table in _ROLLUPS:
        db.execute(f"DROP TABLE IF EXISTS {table}")


MIGRATIONS: Final = (m001_trace, m002_months, m003_no_rollups)


def lay_out(connection: sqlite3.Connection) -> None:
    """This release's tables in an empty file that is thrown away, not migrated: no migration is recorded.

    It takes a hundredth of the time that loading sqlite_utils takes.
    """
    for migration in MIGRATIONS:
        migration(connection)  # type: ignore[arg-type]
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _sqlite_utils() -> Any:
    """sqlite_utils without pandas and numpy, which it imports wherever they are installed and does not need here."""
    blocked = [name for name in ("pandas", "numpy") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(blocked))  # type: ignore[arg-type]  # None: as if not installed
    try:
        return importlib.import_module("sqlite_utils")
    finally:
        for name in blocked:
            del sys.modules[name]


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a trace up to SCHEMA_VERSION. Each migration is one transaction.

    Trap: a file with no migration recorded but user_version above 0 was built by someone else; connect() refuses it.
    """
    sqlite_utils = _sqlite_utils()
    migrations = sqlite_utils.Migrations("adminkit")
    for number, migration in enumerate(MIGRATIONS, start=1):

        def step(db: Database, number: int = number, migration=migration) -> None:  # type: ignore[no-untyped-def]
            migration(db)
            db.execute(f"PRAGMA user_version = {number}")

        migrations(name=migration.__name__)(step)
    migrations.apply(sqlite_utils.Database(connection))
