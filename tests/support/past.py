"""Traces of every kind of job, and a trace cut at a moment, row by row, without adminkit's SQL.

adminkit/trace/as_of.py does the same in SQL; tests compare the two.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final

from adminkit.job import Job, Step
from adminkit.trace.ledger import append
from adminkit.trace.outbox import SWITCHED_ON
from tests.support.builders import HOUR, MONDAY, add_letters, job, ledger_entry, letter, make_trace

DAY: Final = 24 * HOUR
SPAN: Final = 56 * DAY
#: The now of the commands: every run that ever ends has ended.
TODAY: Final = MONDAY + SPAN + 40 * DAY
USERS: Final = {1001: "ada", 1002: "bob", 1003: "cyd", 1004: "dan"}

#: What a trace knows of a run once it has started, once it has ended. What is in none of these is known at submission.
FROM_START: Final = "start_time priority flags restarts nodes cpus gpus gpu_type gpu_parts mem node_list"
FROM_END: Final = """end_time elapsed suspended cancelled_by reason exit_code exit_signal derived_exit_code ckpt_at
    ckpt_heard ckpt_requeues ckpt_end cpu_time max_rss disk_read disk_write energy"""
SPECIAL: Final = "state seen_open eligible_time admin_comment"
STEP_FROM_END: Final = (
    "state end_time elapsed exit_code exit_signal cpu_time max_rss disk_read disk_write energy mem_used gpus_used"
)


def crafted(path: Path, seed: int) -> Path:
    """Eight weeks of every kind of job, open and cancelled ones among them, with letters and changing queues.

    Each of these traces is made once, and copied for others.
    """
    if seed not in _CRAFTED:
        _CRAFTED[seed] = _craft(path, seed).read_bytes()
    make_trace(path).write_bytes(_CRAFTED[seed])
    return path


#: By seed, a trace.
_CRAFTED: Final[dict[int, bytes]] = {}


def _craft(path: Path, seed: int) -> Path:
    luck = random.Random(seed)
    jobs: list[Job] = []
    number = 0
    while number < 260:
        number += luck.choice([1, 1, 2])
        jobs += luck.choice([_single, _single, _single, _chain, _array, _het])(luck, number)
        number = max(one.job_id_raw for one in jobs)
    queues = [
        ("aaic", queue, MONDAY + week * 7 * DAY, HOUR, luck.choice([24, 48, 72]) * HOUR)
        for queue in ("gq", "short")
        for week in (-1, 3, 6)
    ]
    make_trace(path, jobs, queues)
    letters = [_letter(luck, nth) for nth in range(60)]
    with closing(sqlite3.connect(path)) as db, db:
        names = [field.name for field in fields(Step)]
        rows = [asdict(one) for run in jobs for one in _steps(luck, run)]
        db.executemany(f"INSERT INTO step VALUES ({', '.join(f':{name}' for name in names)})", rows)
        for week in range(-4, 14):
            begin = MONDAY + week * 7 * DAY
            db.execute(
                "INSERT INTO window VALUES ('aaic', 'job', ?, ?, 0, ?, 1.0, 9, 9, 0, 0, 0)",
                (begin, begin + 7 * DAY, begin + 8 * DAY),
            )
            db.execute("INSERT INTO rejected VALUES ('sacct', ?1, 'no key', CAST(?1 AS BLOB), ?2)", (week, begin))
            db.execute("INSERT INTO load VALUES (NULL, 'sync', 'sacct', 'aaic', ?, 1.0, 9, 9, 0, 0, 0)", (begin,))
            db.execute("INSERT INTO action VALUES (?, 'h', 'root', 'install', 'g', ?)", (begin, f"line {week}"))
            db.execute("INSERT INTO node VALUES ('aaic', 'n1', ?, 1, 8, 9, 1, 'a100:1', NULL, '', ',gq,')", (begin,))
            db.execute("INSERT INTO person VALUES (?, 'aaic', ?, NULL, ?)", (f"person:{week}", f"u{week}", begin))
            append(db, [ledger_entry("2026-01", f"person:{week}", at=begin)])
            db.execute("INSERT INTO ledger_scheme VALUES (?, 'actual', '{}', ?)", (f"scheme {week}", begin))
            until = luck.choice([None, begin + luck.randrange(14 * DAY)])
            db.execute(
                "INSERT INTO node_event VALUES ('aaic', 'n1', ?, ?, 'DOWN', 'tested', 'root', 0)", (begin, until)
            )
        on = MONDAY + luck.randrange(SPAN // 2)
        db.execute("INSERT INTO fact VALUES ('aaic', ?, ?, ?)", (SWITCHED_ON, str(on), on))
        for table in ("job", "step"):
            db.execute(
                f"INSERT INTO {table}_aside SELECT 'x', submit_time + {DAY}, * FROM {table} WHERE job_id_raw % 9 = 0"
            )
    return add_letters(path, letters)


def _run(luck: random.Random, number: int, **changes: Any) -> Job:
    """One run of any course."""
    submit = changes.pop("submit_time", MONDAY + luck.randrange(SPAN))
    eligible = submit + luck.choice([0, 0, luck.randrange(3 * HOUR)])
    start = eligible + luck.choice([1, luck.randrange(2 * DAY)])
    elapsed = luck.choice([luck.randrange(120), luck.randrange(8 * HOUR), luck.randrange(6 * DAY)])
    uid, user = luck.choice(list(USERS.items()))
    gpus = luck.choice([0, 1, 1, 1, 4])
    limit = luck.choice([HOUR, 10 * HOUR, 72 * HOUR, 6 * DAY])
    given: dict[str, Any] = {
        "submit_time": submit, "eligible_time": eligible, "start_time": start, "end_time": start + elapsed,
        "elapsed": elapsed, "suspended": 0, "user": user, "uid": uid, "account": f"a{uid % 2}",
        "queue": luck.choice(["gq", "gq", "short"]), "job_name": luck.choice(["train", "eval", None]),
        "state": luck.choice(["COMPLETED"] * 6 + ["TIMEOUT", "FAILED"]), "exit_code": luck.choice([0, 0, 0, 1, 85]),
        "exit_signal": 0, "derived_exit_code": luck.choice([0, 1]), "reason": luck.choice([None, "None"]),
        "time_limit": limit, "limit_original": luck.choice([None, limit, limit // 2]),
        "ext_asked": luck.choice([None, limit // 2]), "ext_limit": limit, "ext_times": luck.choice([None, 0, 2]),
        "limit_source": luck.choice(["explicit"] * 4 + ["default"]), "restarts": 0, "priority": luck.randrange(9000),
        "req_nodes": 1, "req_cpus": 8, "req_gpus": gpus, "nodes": luck.choice([1, 1, 2]), "cpus": 8, "gpus": gpus,
        "mem": 2**30, "node_list": f"n{number}", "cpu_time": luck.choice([None, elapsed * 4.0]), "max_rss": 2**20,
        "energy": luck.choice([None, 100]), "submitted_by": luck.choice(["sbatch"] * 5 + ["srun", None]),
        "admin_comment": luck.choice([None, f"ak1:lim={limit},src=e,rules=x ck1:at={start}", "by hand"]),
        "source": luck.choice(["slurmdbd"] * 5 + ["text"]), "audited": luck.choice([None, None, "confirmed", "beyond"]),
        "seen_open": luck.choice([None, start]),
    }  # fmt: skip
    return job(number, **{**given, **changes})


def _single(luck: random.Random, number: int) -> list[Job]:
    one = _run(luck, number)
    course = luck.randrange(20)
    if course == 0:  # running still
        return [replace(one, state="RUNNING", end_time=None, elapsed=luck.choice([None, 5]), seen_open=TODAY)]
    if course == 1:  # pending still, or lost
        seen = luck.choice([TODAY, one.submit_time])
        return [replace(one, state="PENDING", start_time=None, end_time=None, elapsed=None, seen_open=seen)]
    if course == 2:  # cancelled while it waited
        end = one.start_time
        return [replace(one, state="CANCELLED", cancelled_by=0, start_time=None, end_time=end, elapsed=0)]
    if course == 3:  # of a trace without times
        return [replace(one, source="swf", start_time=None, end_time=None)]
    if course == 4 and one.end_time is not None:
        return [replace(one, end_time=one.end_time + 900, suspended=900)]
    if course == 5:
        at = (one.start_time or 0) + (one.elapsed or 0) // 2
        return [replace(one, ckpt_at=at, ckpt_heard=luck.randrange(2), ckpt_requeues=0, ckpt_end="done")]
    return [one]


def _chain(luck: random.Random, number: int) -> list[Job]:
    """A job that is put back into the queue, each run submitted as the last one ends."""
    runs = [_run(luck, number, restarts=0)]
    for nth in range(luck.randint(1, 4)):
        last = runs[-1]
        heard = luck.choice([None, 0, 2])
        note = (
            {} if heard is None else {"ckpt_at": (last.end_time or 0) - 60, "ckpt_heard": heard, "ckpt_requeues": nth}
        )
        runs[-1] = replace(last, state="REQUEUED", **note)
        who = {"user": last.user, "uid": last.uid, "queue": last.queue, "job_name": last.job_name}
        runs.append(_run(luck, number, submit_time=last.end_time, restarts=nth + 1, **who))
    return runs


def _array(luck: random.Random, number: int) -> list[Job]:
    first = _run(luck, number, source="slurmdbd", state="COMPLETED", exit_code=0)
    shared = {
        "submit_time": first.submit_time, "user": first.user, "uid": first.uid, "array_job": number,
        "job_name": first.job_name, "source": "slurmdbd", "time_limit": 72 * HOUR,
    }  # fmt: skip
    return [
        _run(luck, number + nth, **shared, array_task=nth, job_id=f"{number}_{nth}")
        for nth in range(luck.randint(2, 6))
    ]


def _het(luck: random.Random, number: int) -> list[Job]:
    first = _run(luck, number)
    shared = {"submit_time": first.submit_time, "user": first.user, "uid": first.uid, "het_job": number}
    return [_run(luck, number + nth, **shared, het_offset=nth, job_id=f"{number}+{nth}") for nth in range(2)]


def _steps(luck: random.Random, run: Job) -> Iterator[Step]:
    if luck.random() < 0.4:
        return
    for name in ("batch", "0", "1", "interactive")[: luck.randint(1, 4)]:
        start = None if luck.random() < 0.1 else (run.start_time or run.submit_time) + luck.randrange(DAY)
        end = None if luck.random() < 0.1 else (start or run.submit_time) + luck.randrange(DAY)
        yield Step(
            run.cluster, run.job_id_raw, run.submit_time, name, run.source, name, "COMPLETED", 1, 1, 1, start, end, 9,
            cpu_time=luck.choice([None, 900.0]), exit_code=0,
        )  # fmt: skip


def _letter(luck: random.Random, nth: int) -> Any:
    """A letter in any state; some were sent again by hand."""
    due = MONDAY + luck.randrange(SPAN)
    claimed = due + luck.randrange(3 * DAY)
    uid = luck.choice(list(USERS))
    state = luck.choice(["sent"] * 5 + ["due", "claimed", "refused", "expired"])
    again = state != "due" and luck.random() < 0.2
    return letter(
        uid, run=f"{nth}@{due}", job_name=luck.choice(["train", "eval"]), user=USERS[uid], state=state,
        kind=luck.choice(["end", "end", "digest"]), submit_time=due - DAY, until=due - HOUR, attempts=luck.randrange(3),
        due_at=due + 10 * DAY if again else due, next_at=claimed, said=luck.choice([None, "250 ok"]),
        claimed_at=None
        if state == "due" and luck.random() < 0.5
        else claimed + (10 * DAY if again and luck.random() < 0.5 else 0),
        sent_at=claimed if state == "sent" or again else None,
    )  # fmt: skip


def cut(path: Path, to: Path, at: int) -> Path:
    """A copy of the trace at `path` that holds what one could have held at that moment."""
    shutil.copyfile(path, to)
    with closing(sqlite3.connect(to)) as db, db:
        db.row_factory = sqlite3.Row
        ends: dict[tuple[Any, ...], int | None] = {}
        for row in db.execute("SELECT rowid, * FROM job").fetchall():
            if row["submit_time"] > at:
                db.execute("DELETE FROM job WHERE rowid = ?", (row["rowid"],))
                continue
            ended = row["end_time"] is not None and row["end_time"] <= at
            ends[row["cluster"], row["job_id_raw"], row["submit_time"]] = row["end_time"] if ended else None
            if not ended:
                _set(db, "job", row["rowid"], _opened(row, at))
        for row in db.execute("SELECT rowid, * FROM step").fetchall():
            key = row["cluster"], row["job_id_raw"], row["submit_time"]
            begun = row["start_time"] is not None and row["start_time"] <= at
            if key not in ends or (ends[key] is None and not begun):
                db.execute("DELETE FROM step WHERE rowid = ?", (row["rowid"],))
            elif row["end_time"] is None or row["end_time"] > at:
                _set(db, "step", row["rowid"], dict.fromkeys(STEP_FROM_END.split()))
        for row in db.execute("SELECT rowid, * FROM outbox").fetchall():
            _cut_letter(db, row, at)
        for name in ("ledger_delete", "ledger_scheme_delete"):
            db.execute(f"DROP TRIGGER {name}")
        for table, column in (
            ("queue", "since"), ("node", "since"), ("node_event", "start_time"), ("fact", "at"),
            ("rejected", "seen_at"), ("load", "started_at"), ("action", "at"), ("person", "since"),
            ("job_aside", "aside_at"), ("step_aside", "aside_at"), ("ledger", "at"), ("ledger_scheme", "at"),
        ):  # fmt: skip
            db.execute(f"DELETE FROM {table} WHERE {column} > ?", (at,))
        db.execute("UPDATE node_event SET end_time = NULL WHERE end_time > ?", (at,))
        db.execute("DELETE FROM window WHERE since >= ?", (at,))
        db.execute("UPDATE window SET until = ?1 WHERE until > ?1", (at,))
        db.execute("UPDATE window SET asked_at = ?1 WHERE asked_at > ?1", (at,))
    return to


def _opened(row: sqlite3.Row, at: int) -> dict[str, Any]:
    """The columns of a run that differ while the run is open."""
    started = row["start_time"] is not None and row["start_time"] <= at
    changes: dict[str, Any] = dict.fromkeys(FROM_END.split())
    if not started:
        changes |= dict.fromkeys(FROM_START.split())
    changes["state"] = "RUNNING" if started else "PENDING"
    if row["end_time"] is not None:
        changes["seen_open"] = at
    elif row["seen_open"] is not None:
        changes["seen_open"] = min(row["seen_open"], at)
    if row["eligible_time"] is not None and row["eligible_time"] > at:
        changes["eligible_time"] = None
    comment = row["admin_comment"] or ""
    changes["admin_comment"] = comment.split(" ")[0] if comment.startswith("ak1:") else None
    return changes


def _cut_letter(db: sqlite3.Connection, row: sqlite3.Row, at: int) -> None:
    sent = row["sent_at"] is not None and row["sent_at"] <= at
    if row["due_at"] > at and not sent:
        db.execute("DELETE FROM outbox WHERE rowid = ?", (row["rowid"],))
        return
    changes: dict[str, Any] = {name: None for name in ("claimed_at", "sent_at") if (row[name] or 0) > at}
    if row["due_at"] > at:
        changes["state"] = "sent"
    else:
        settled = "sent_at" if row["state"] == "sent" else "claimed_at"
        if (row[settled] or 0) > at:
            changes |= {"state": "due", "attempts": 0, "said": None, "next_at": row["due_at"]}
    _set(db, "outbox", row["rowid"], changes)


def _set(db: sqlite3.Connection, table: str, rowid: int, values: dict[str, Any]) -> None:
    if values:
        names = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE {table} SET {names} WHERE rowid = ?", (*values.values(), rowid))


def moments(seed: int, many: int) -> list[int]:
    luck = random.Random(seed)
    return [MONDAY + luck.randrange(DAY * 10, SPAN + 8 * DAY) for _ in range(many)]


def contents_of(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as db:
        return contents(db)


def contents(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Every row of every table and view, in some order."""
    names = [
        row[0]
        for row in db.execute("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        if not row[0].startswith("_")
    ]
    return {name: sorted(map(str, db.execute(f"SELECT * FROM {name}"))) for name in names}
