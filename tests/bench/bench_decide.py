"""One submission through job_submit.lua under Lua 5.1, and loading its tables: 50 rules, 10,000 users.

Both are measured again with soft limits of 10,000 users and names, each in one queue and in any.

The time is the process's own CPU time inside slurm_job_submit, from a mock of job_desc to the fields written back. The
mixture is 88 % jobs that keep every rule, 8 % without a queue, 3 % amended, 1 % refused. The lines show the best of
several blocks of 2,000 submissions; `noise` is a loop that is always alike, so its p99 is the machine's own part.

Judged is a p99 without that part: every round is a process that makes the same 2,000 submissions in the same order from
the same state, and the least time of each of them counts. The collector's pauses, which fall into the same ones, stay.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from adminkit.economy.tables import lua, soft_table
from adminkit.lua.literal import module
from adminkit.policy.soft_settings import SoftLimits
from adminkit.recommend.needs import Need
from tests.bench.pairs import CORE, Ratio
from tests.job_submit import site
from tests.job_submit.policies import HOUR, incentives, policy, rule

INTERPRETER = "lua5.1"
ROUNDS = 7
BLOCKS = 10  # of 2,000 submissions, in each round
USERS = 10_000
P99_MICROSECONDS = 20.0
QUEUES = ("gq", "gq-short", "gq-middle", "gq-long")
SETTINGS: dict[str, Any] = {
    "queues": dict.fromkeys(QUEUES, True), "quantile": 75, "least": 600, "gap": 1800, "users_off": {},
    "accounts_off": {}, "classes_off": {}, "preemptible": False, "arrays": False, "variable": "ADMINKIT_PLAN",
}  # fmt: skip
#: One that lasts.
LEASE: dict[str, Any] = {
    "format": 1, "generation": "lease", "made_at": 0, "valid_until": 2**40, "qos_off": {}, "accounts_off": {},
    "users_off": {}, "queues": {name: {"most": 720 * HOUR} for name in QUEUES},
}  # fmt: skip
LOAD_MILLISECONDS = 50.0


def fifty_rules() -> list[dict[str, Any]]:
    """Rules as a busy site might have them: by queue, class, account and user, most of them kept by most jobs."""
    queues = ("gq", "gq-short", "gq-middle", "gq-long")
    made = [
        rule("require_limit", True, "warn"),
        rule("gpus", {"min": 1, "max": 1}, queues="gq-middle", name="one-gpu"),
        rule("restartable_above", 48 * HOUR, "warn"),
    ]
    for i in range(47):
        queue = queues[i % 4]
        conditions: dict[str, Any] = {"queues": queue}
        if i % 3 == 1:
            conditions["classes"] = {"single-gpu", "cpu"}
        if i % 5 == 2:
            conditions["accounts"] = {"physics", f"group{i}"}
        if i % 7 == 3:
            conditions["except_users"] = set(range(2000, 2050))
        check, value = ("max_limit", (100 + 10 * i) * HOUR) if i % 2 else ("cpus", {"max": 1000 + i})
        made.append(rule(check, value, "amend" if i % 2 else "reject", name=f"rule-{i}", **conditions))
    return made


def needs() -> list[Need]:
    """Two rows for each user: of the queue that most jobs name, and of any. A third of the names are the jobs'."""
    made = []
    for i in range(USERS):
        name = (f"train-{(1000 + i) % 50}", f"eval_{i % 97}.sh", f"run {i}")[i % 3]
        for queue in ("gq", ""):
            middle = 600 + i * 7919 % 1_200  # else [soft_limits] longest would leave most of them out
            made.append(Need("bench", 1000 + i, "", name, queue, (middle // 2, middle, 2 * middle), i))
    return made


def folder_of(folder: Path, soft: bool) -> Path:
    users = {1000 + i: {"points": i % 600, "class": i % 9 != 0} for i in range(USERS)}
    place = folder / ("soft" if soft else "decide")
    place.mkdir(parents=True, exist_ok=True)
    table = policy(*fifty_rules())
    site.write(place, policy=table, incentives=incentives(users=users))
    if soft:
        text = lua(soft_table(needs(), SoftLimits(enabled=True), (), 1))
        site.write(place, policy={**table, "record": "admin_comment", "soft_limits": SETTINGS}, soft_limits=text)
        (place / "adminkit" / "soft_lease").write_text(module(LEASE, "made for the bench"))
    shutil.copy(site.DRIVER.with_name("mock.lua"), place)
    return place


def run(rows: int, folder: Path) -> list[Ratio]:
    """`rows` is not used: the size of the question is in its name."""
    if not shutil.which(INTERPRETER):
        print(f"decide: not run: no {INTERPRETER} (apt-get install lua5.1)")
        return []
    return [
        ratio for soft in (False, True) for ratio in measured(folder_of(folder, soft), "soft" if soft else "decide")
    ]


def measured(place: Path, what: str) -> list[Ratio]:
    script = str(Path(__file__).with_name("decide.lua"))
    command = ["taskset", "-c", str(CORE), INTERPRETER, script, str(place), str(BLOCKS)]
    rounds: list[dict[str, tuple[float, float]]] = []
    least: list[float] = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines = [line.split() for line in done.stdout.splitlines()]
        calls = [float(line[1]) for line in lines if line[0] == "call"]
        least = [min(pair) for pair in zip(least or calls, calls, strict=True)]
        rounds.append({line[0]: (float(line[1]), float(line[2])) for line in lines if line[0] != "call"})
    for name in rounds[0]:
        for word, column in (("p50", 0), ("p99", 1)):
            if name not in ("load", "given") or column == 0:
                print(f"{what}: {name:8} {word} " + " ".join(f"{one[name][column]:6.1f}" for one in rounds))
    p99, load = sorted(least)[len(least) * 99 // 100], min(one["load"][0] for one in rounds)
    for name, value, target, unit in (
        (f"{what}: one decision at p99, 50 rules, 10,000 users", p99, P99_MICROSECONDS, "µs"),
        (f"{what}: loading script and tables", load, LOAD_MILLISECONDS, "ms"),
    ):
        met = "met" if value <= target else "MISSED"
        print(
            f"{name:<58} {value:6.1f} {unit}  target ≤ {target:g} {unit} {met}   (least of {ROUNDS} rounds)",
            flush=True,
        )
    constant = [P99_MICROSECONDS] * ROUNDS, [LOAD_MILLISECONDS] * ROUNDS
    return [
        Ratio(f"{what}: one decision at p99 against 20 µs", [p99] * ROUNDS, constant[0], 1.0, at_most=True),
        Ratio(f"{what}: loading against 50 ms", [load] * ROUNDS, constant[1], 1.0, at_most=True),
    ]
