"""Jobs as people submit them: limits far from what they need, arrays, several nodes, failures, a timeout."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Seconds between two submissions.
PAUSE = 6.0


@dataclass(frozen=True, slots=True)
class Job:
    user: str
    options: tuple[str, ...]
    script: str


#: weight, options, script with {seconds} for how long it runs, seconds at most
KINDS: tuple[tuple[int, tuple[str, ...], str, int], ...] = (
    (6, ("-p", "gq", "-t", "3-00:00:00", "--gres=gpu:1"), "sleep {seconds}", 90),
    (4, ("-p", "gq-short", "-t", "03:00:00", "--gres=gpu:1"), "sleep {seconds}", 60),
    (4, ("-p", "gq", "-t", "00:10:00", "-c", "2", "--gres=gpu:1"), "sleep {seconds}", 120),
    (2, ("-p", "gq-middle", "--gres=gpu:1"), "srun sleep {seconds}", 120),
    (2, ("-p", "gq", "-t", "12:00:00", "-N", "2", "--gres=gpu:8"), "srun sleep {seconds}", 60),
    (1, ("-p", "gq-long", "-t", "14-00:00:00", "--gres=gpu:2"), "sleep {seconds}", 180),
    (2, ("-p", "gq", "-t", "01:00:00", "--array=1-4%2", "--gres=gpu:1"), "sleep {seconds}", 20),
    (2, ("-p", "gq", "-t", "00:20:00", "--gres=gpu:1"), "sleep 2; exit 3", 2),
    (2, ("-p", "free", "-t", "04:00:00", "-n", "4"), "srun sleep {seconds}", 60),
    (1, ("-p", "debug", "-t", "1"), "sleep 600", 600),
    (1, ("-p", "gq-short", "-t", "2-00:00:00"), "sleep {seconds}", 10),  # refused: longer than the queue's limit
)


def jobs(people: Sequence[str], seed: int) -> Iterator[Job]:
    """Without end, and the same for the same seed."""
    pick = random.Random(seed)
    weights = [weight for weight, *_ in KINDS]
    while True:
        _, options, script, longest = pick.choices(KINDS, weights)[0]
        seconds = pick.randint(1, longest)
        name = f"--job-name={pick.choice(('train', 'eval', 'prep', 'sweep'))}"
        yield Job(pick.choice(people), (*options, name), script.format(seconds=seconds))


def forever(people: Sequence[str]) -> None:
    for job in jobs(people, seed=int(time.time())):
        command = [
            "runuser",
            "-u",
            job.user,
            "--",
            "sbatch",
            "-Q",
            "-o",
            "/dev/null",
            *job.options,
            "--wrap",
            job.script,
        ]
        subprocess.run(command, cwd="/tmp", check=False, capture_output=True)
        time.sleep(PAUSE)
