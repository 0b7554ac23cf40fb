"""A sacct file of any length with the columns sync asks for. Deterministic; shaped like a GPU cluster's.

A user has a few habits: a queue, a size, a limit and a usual run time, as users of real sites do (RICC: 447,794 runs of
176 users make 1198 combinations of queue, size, state and limit). Sums by group would be as many as runs otherwise.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

from adminkit.ingest.sources.sacct_fields import JOB_FIELDS

QUEUES = ("gq", "gq-short", "gq-middle", "gq-long", "cpu", "debug")
STATES = ("COMPLETED",) * 14 + ("TIMEOUT", "FAILED", "CANCELLED by 12345", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED")
START = 1_700_000_000
DAY = 86_400
#: Jobs of several nodes begin on one below 200, and take four at most.
LAST_NODE = 202


def write(path: Path, rows: int, delimiter: str = "|", spacing: int = 3) -> Path:
    """Write `rows` jobs with a header in sacct -P form, unless the file is there already. `spacing`: seconds between
    their submissions.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    pick = random.Random(7)
    part = path.with_suffix(".part")
    with part.open("w") as out:
        out.write(delimiter.join(JOB_FIELDS) + "\n")
        for number in range(rows):
            out.write(delimiter.join(_row(number, pick, spacing)) + "\n")
    part.rename(path)
    return path


def add_machine(path: Path, spacing: int) -> None:
    """Give the trace at `path`, of jobs so far apart, the nodes that they ran on: all queues have all of them, and some
    were down for a day.
    """
    gpus = max(8, 144 // spacing)
    names = [f"gpu{number:03d}" for number in range(1, LAST_NODE + 1)]
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO node (cluster, node, since, present, cpus, gpus, mem, queues) VALUES (?, ?, ?, 1, ?, ?, ?, ?)",
            [("alpha", name, START, 5 * gpus, gpus, gpus * 2**37, ",".join(QUEUES)) for name in names],
        )
        db.executemany(
            "INSERT INTO node_event (cluster, node, start_time, end_time, state) VALUES (?, ?, ?, ?, 'DOWN')",
            [("alpha", name, START + day * DAY, START + (day + 1) * DAY) for day, name in enumerate(names[:20], 3)],
        )


class Habit(NamedTuple):
    queue: str
    gpus: int
    nodes: int
    limit: int  # minutes
    usual: int  # seconds
    script: int


@cache
def habits(user: int) -> tuple[Habit, ...]:
    """One to three, the usual one first."""
    pick = random.Random(user)
    found = []
    for _ in range(pick.choice((1, 2, 2, 3))):
        gpus = pick.choice((0, 1, 1, 1, 1, 1, 2, 4, 8))
        nodes = 1 if gpus < 8 else pick.choice((1, 1, 2, 4))
        limit = pick.choice((60, 120, 240, 720, 1440, 2880, 4320, 4320, 4320))
        usual = int(pick.expovariate(1 / 6000)) + 60
        found.append(Habit(pick.choice(QUEUES), gpus, nodes, limit, usual, pick.randrange(13)))
    return tuple(found)


def _row(number: int, pick: random.Random, spacing: int) -> list[str]:
    user = int(pick.random() ** 2 * 400)
    own = habits(user)
    queue, gpus, nodes, limit, usual, script = own[0] if pick.random() < 0.7 else pick.choice(own)
    cpus, mem = nodes * max(4, gpus * 5), nodes * 16 * max(1, gpus)
    submit = START + number * spacing
    wait = int(pick.expovariate(1 / 900))
    elapsed = min(int(pick.lognormvariate(0, 0.8) * usual) + 1, limit * 60)
    start, end = submit + wait, submit + wait + elapsed
    gres = f",gres/gpu={nodes * gpus},gres/gpu:a100={nodes * gpus}" if gpus else ""
    tres = f"billing={cpus},cpu={cpus}{gres},mem={mem}G,node={nodes}"
    job = str(1_000_000 + number)
    node = pick.randrange(1, 200)
    values = {
        "JobID": f"{1_000_000 + number - number % 5}_{number % 5}" if number % 11 == 0 else job,
        "JobIDRaw": job,
        "Cluster": "alpha",
        "DBIndex": str(5_000_000 + number),
        "User": f"user{user:03d}",
        "UID": str(20_000 + user),
        "Group": f"group{user % 40:02d}",
        "Account": f"account{user % 25:02d}",
        "Partition": queue,
        "QOS": "normal",
        "State": pick.choice(STATES),
        "Reason": "None",
        "ExitCode": "0:0",
        "DerivedExitCode": "0:0",
        "Priority": str(pick.randrange(1000, 20000)),
        "Submit": str(submit),
        "Eligible": str(submit),
        "Start": str(start),
        "End": str(end),
        "ElapsedRaw": str(elapsed),
        "Suspended": "00:00:00",
        "TimelimitRaw": str(limit),
        "ReqNodes": str(nodes),
        "ReqCPUS": str(cpus),
        "ReqMem": f"{mem * 1024}M",
        "ReqTRES": tres,
        "AllocNodes": str(nodes),
        "AllocCPUS": str(cpus),
        "AllocTRES": tres,
        "NodeList": f"gpu{node:03d}" if nodes == 1 else f"gpu[{node:03d}-{node + nodes - 1:03d}]",
        "Restarts": "0",
        "Flags": "SchedBackfill,StartRecieved",
        "AdminComment": "",
        "SubmitLine": f"sbatch --gres=gpu:{gpus} train_{user % 17}.sh",
        "JobName": f"train_{user}_{script}",
    }
    return [values[name] for name in JOB_FIELDS]
