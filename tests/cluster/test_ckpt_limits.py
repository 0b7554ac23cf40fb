"""A limit that moves while its job runs: the signal comes before the last end, with the plugin's settings as they are.

An operator or `adminkit extend` moves it. All jobs run at once; a limit of two minutes, as 22.05 tells a step its end
only when it asks, after a minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched, proctrack
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

LEAD = 20  # seconds
#: name -> the script, sbatch's options, and what is done to it: the second of its run, the limit in minutes, how often
#: it then stands extended (None: by an operator, without a word).
CASES: dict[str, tuple[str, tuple[str, ...], list[tuple[int, int, int | None]]]] = {
    "raised three times": ("{train} code=0\n", (), [(70, 3, 1), (130, 4, 2), (190, 5, 3)]),
    "raised three times by hand": ("{train} code=0\n", (), [(70, 3, None), (130, 4, None), (190, 5, None)]),
    "raised and lowered": ("{train} code=0\n", (), [(70, 12, 1), (110, 4, 1)]),
    "raised and lowered, on two nodes": (
        "srun --mem=50 -N2 -n2 {train} code=0\n", ("-N2",), [(70, 12, 1), (110, 4, 1)],
    ),
    "raised, lowered, raised again": ("{train} code=0\n", (), [(70, 12, 1), (110, 4, 1), (180, 5, 2)]),
    "taken back whole": ("{train} code=0\n", (), [(70, 12, 1), (110, 4, 0)]),
    "saves at the signal and is given more": ("{train}\n", (), [(106, 4, 1)]),
    "a step that saves and is given more": ("srun --mem=50 {train}\n", (), [(106, 4, 1)]),
}  # fmt: skip


@dataclass
class Run:
    watched: Watched
    jobs: dict[str, Job] = field(default_factory=dict)

    def signals(self, name: str) -> list[float]:
        """Seconds before the end of its last limit at which its processes heard it."""
        job = self.jobs[name]
        return [round(self.watched.limit_at(job) - at, 1) for at in job.times("heard")]


def word(asked: int, limit: int, times: int) -> str:
    return f"AdminComment=ak1:lim={asked},src=e,ext=auto xt1:asked={asked},lim={limit},n={times}"


@pytest.fixture(scope="module")
def run(outside: Listing) -> Iterator[Run]:
    with private_slurm(proctrack()) as cluster:
        found = Run(watching(cluster))
        for name, (script, options, _) in CASES.items():
            found.jobs[name] = found.watched.submit(script, "-t", "2", *options, wish=f"TERM@{LEAD}")
        for job in found.jobs.values():
            found.watched.until("it to run", lambda job=job: job.times("start"))
        began = time.time()
        moves = sorted((at, name, limit, times) for name, (_, _, all_) in CASES.items() for at, limit, times in all_)
        for at, name, limit, times in moves:
            time.sleep(max(0.0, began + at - time.time()))
            words = [f"TimeLimit={limit}"] + ([] if times is None else [word(120, limit * 60, times)])
            cluster.ask("scontrol", "update", f"JobId={found.jobs[name].id}", *words)
        found.watched.ended(*found.jobs.values(), seconds=300)
        yield found


@pytest.mark.parametrize("name", [name for name in CASES if "given more" not in name])
def test_the_signal_comes_once_before_the_last_end(run: Run, name: str) -> None:
    found = run.signals(name)
    print(name, found)
    assert len(found) == (2 if "two nodes" in name else 1), run.jobs[name].output.read_text()
    assert all(LEAD - 2 <= before <= LEAD + 2 for before in found), found


@pytest.mark.parametrize("name", [name for name in CASES if "given more" in name])
def test_who_lives_on_after_the_signal_hears_it_again_before_the_new_end(run: Run, name: str) -> None:
    """Once before each of the two ends; at the limit Slurm itself sends SIGTERM."""
    found = [before for before in run.signals(name) if before > 1]
    print(name, found)
    assert len(found) == 2, run.jobs[name].output.read_text()
    assert LEAD + 118 <= found[0] <= LEAD + 122 and LEAD - 2 <= found[1] <= LEAD + 2, found
