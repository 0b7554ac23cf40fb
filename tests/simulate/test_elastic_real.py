"""ElasticFlow's workload with its throughputs (Apache-2.0, pkusys/ElasticFlow): what docs/simulate-elastic.md shows."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from adminkit.cli.main import main
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
    page = (docs.DOCS / "simulate-elastic.md").read_text()
    found = re.search(r"^\$ (adminkit simulate elastic[^\n]*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found
    words = [word for word in shlex.split(found[1])[1:] if word not in ("--picture", "energy.png")]
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == found[2].strip()
