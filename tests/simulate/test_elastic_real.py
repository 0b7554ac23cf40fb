"""ElasticFlow's workload with its throughputs (Apache-2.0, pkusys/ElasticFlow): what docs/simulate-elastic.md shows."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.simulate.elastic import Machine, Rules, Runs, best_efficiency
from adminkit.simulate.elastic_input import Programs, Workload, read_curves, read_jobs
from adminkit.units import show_short
from tests.support.swf import public
from tools import docs

WORKLOAD = "philly_103959.csv"
#: Watts of a GPU that waits for others, and of one that computes: assumed, as the page says.
WAITING, COMPUTING = 120, 300


def write_curves(folder: Path, to: Path) -> None:
    """All tables of A100 as one file of --curves. A GPU computes for the share of its parallel efficiency."""
    lines = ["model,gpus,batch,iterations_per_s,watts"]
    for table in sorted(folder.glob("throughputs_A100_*.csv")):
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                batch = row.pop("global_batch_size")
                rates = {int(gpus): float(rate) for gpus, rate in row.items() if float(rate) > 0}
                for gpus, rate in rates.items():
                    watts = gpus * (WAITING + (COMPUTING - WAITING) * min(1, rate / (gpus * rates[1])))
                    model = table.stem.removeprefix("throughputs_A100_")
                    lines.append(f"{model},{gpus},{batch},{rate},{watts:.1f}")
    to.write_text("\n".join(lines) + "\n")


def test_the_page_shows_what_the_command_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = public(WORKLOAD)
    if workload is None:
        pytest.skip(f"not run: no {WORKLOAD} under $ADMINKIT_TRACES")
    write_curves(workload.parent, tmp_path / "a100.csv")
    (tmp_path / WORKLOAD).symlink_to(workload)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    page = (docs.DOCS / "simulate-elastic.md").read_text()
    found = re.search(r"^\$ (adminkit simulate elastic[^\n]*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found
    words = [word for word in shlex.split(found[1])[1:] if word not in ("--picture", "energy.png")]
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == found[2].strip()


def table(heading: str) -> list[list[str]]:
    """The rows below a heading of the page, as they are shown."""
    text = (docs.DOCS / "simulate-elastic.md").read_text().partition(f"\n### {heading}\n")[2].split("\n#")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    found = public(WORKLOAD)
    if found is None:
        pytest.skip(f"not run: no {WORKLOAD} under $ADMINKIT_TRACES")
    write_curves(found.parent, tmp_path / "a100.csv")
    return read_jobs(found, Programs(read_curves(tmp_path / "a100.csv"), None))


def chosen(runs: Runs) -> int:
    """The efficiency that keeps within fifo's energy."""
    budget = runs.measures("fifo").energy
    return best_efficiency(runs, budget, lambda asked: [runs.measures(*one) for one in asked])[0]


def test_what_is_chosen_on_one_half_of_the_jobs_helps_the_other(workload: Workload) -> None:
    middle = sorted(workload.submit_time)[len(workload) // 2]
    first, second = (half(workload, middle, later) for later in (False, True))
    shown = []
    for machine in (Machine(8, 8), Machine(4, 8), Machine(3, 8)):
        there, here = (Runs(jobs, machine, Rules()) for jobs in (first, second))
        fifo = here.measures("fifo")
        both = [here.measures("elastic", chosen(runs)) for runs in (there, here)]
        cells = [text for one in both for text in (f"{fifo.mean / one.mean:.2f}", f"{one.energy / fifo.energy:.3f}")]
        shown.append([machine.name, *cells, f"{fifo.mean / here.measures('srtf').mean:.2f}"])
    assert table("A bound chosen beforehand") == shown


def half(jobs: Workload, middle: int, later: bool) -> Workload:
    which = [job for job in range(len(jobs)) if (jobs.submit_time[job] >= middle) is later]
    columns = (jobs.submit_time, jobs.run, jobs.gpus, jobs.curve, jobs.high)
    return Workload(*([column[job] for job in which] for column in columns), jobs.curves)  # type: ignore[arg-type]


def test_what_resizes_and_idle_gpus_cost_changes_the_answer(workload: Workload) -> None:
    shown = []
    for restart, hold, idle in ((30, 60, 55.0), (120, 3600, 55.0), (600, 4 * 3600, 55.0), (120, 3600, 0.0)):
        runs = Runs(workload, Machine(4, 8), Rules(restart, hold, idle_watts=idle))
        fifo, srtf, elastic = runs.measures("fifo"), runs.measures("srtf"), runs.measures("elastic", chosen(runs))
        shown.append([
            show_short(restart), show_short(hold), f"{idle:g} W", f"{fifo.mean / srtf.mean:.2f}",
            f"{fifo.mean / elastic.mean:.2f}", f"{elastic.resizes:,}",
        ])  # fmt: skip
    assert table("What the speed-up depends on") == shown
