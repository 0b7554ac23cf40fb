"""The examples of docs/checkpoint.md do what the page says: they save at the signal, leave with 85, and go on."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.examples.running import (
    FOLDER,
    MORE,
    PYTHON,
    WITHOUT_LIBUV,
    below,
    digest,
    has_torch,
    script_for_here,
    start,
    tell,
)
from tools.docs import DOCS

PAGE = DOCS / "checkpoint.md"

torch = pytest.mark.skipif(not has_torch(), reason="not run: apt-get install python3-torch")


@pytest.mark.parametrize("file", sorted(FOLDER.iterdir()), ids=lambda file: file.name)
def test_the_page_shows_each_example_as_it_is(file: Path) -> None:
    shown = re.findall(r"^```\w*\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert file.read_text() in shown


def test_the_page_has_the_words_for_a_torch_without_libuv() -> None:
    script = (FOLDER / "torchrun.sbatch").read_text()
    (line,) = (line for line in script.splitlines() if line.startswith("torchrun"))
    assert line.replace("torchrun --standalone", WITHOUT_LIBUV) in PAGE.read_text()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.s*")), ids=lambda file: file.name)
def test_a_script_is_one(file: Path) -> None:
    subprocess.run(["bash", "-n", file], check=True)
    assert file.read_text().startswith("#!/bin/bash\n#SBATCH --open-mode=append"), "what earlier pieces wrote must stay"


@pytest.mark.parametrize("program", [["bash", "sum.sh"], [PYTHON, "sum.py"]], ids=["bash", "python"])
def test_a_sum_that_is_stopped_twice_is_the_sum(tmp_path: Path, program: list[str]) -> None:
    command = [*program, "40", str(tmp_path / "state")]
    for _ in range(2):
        run = start(command, tmp_path / "out", pause=0.05)
        time.sleep(0.8)
        tell(run.process.pid)
        assert run.ended() == MORE, run.text()
    saved = (tmp_path / "state").read_text()
    assert not list(tmp_path.glob("*.new"))
    run = start(command, tmp_path / "out", pause=0.001)
    assert run.ended() == 0
    assert run.text() == "the sum of 1 to 40 is 820\n", "and nothing was said before"
    n = int(re.findall(r"\d+", saved)[0])
    assert 2 < n < 40, "two runs' worth, and work was left"


@pytest.mark.parametrize("program", [["bash", "sum.sh"], [PYTHON, "sum.py"]], ids=["bash", "python"])
def test_one_that_is_done_and_run_again_has_nothing_to_do(tmp_path: Path, program: list[str]) -> None:
    for _ in range(2):
        run = start([*program, "5", str(tmp_path / "state")], tmp_path / "out", pause=0)
        assert run.ended() == 0
    assert run.text() == "the sum of 1 to 5 is 15\n" * 2


@torch
@pytest.mark.soak
def test_a_training_that_is_stopped_twice_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "pieces", "shorter")]
    for folder in folders:
        folder.mkdir()
    whole, pieces, shorter = folders
    command = [PYTHON, "train.py", "600"]
    assert start([*command, str(whole)], tmp_path / "whole.out", pause=0).ended() == 0
    for at in (100, 300):
        run = start([*command, str(pieces)], tmp_path / "pieces.out", pause=0.005)
        run.until(f"step {at} ")
        tell(run.process.pid)
        assert run.ended() == MORE, run.text()
    run = start([*command, str(pieces)], tmp_path / "pieces.out", pause=0)
    assert run.ended() == 0
    stops = [int(step) for step in re.findall(r"saved at step (\d+)", run.text())]
    assert [int(step) for step in re.findall(r"resumes at step (\d+)", run.text())] == stops
    assert len(stops) == 2 and 100 < stops[0] < 300 < stops[1] < 600
    assert digest(pieces / "weights.pt") == digest(whole / "weights.pt")
    assert start([PYTHON, "train.py", "599", str(shorter)], tmp_path / "s.out", pause=0).ended() == 0
    assert digest(shorter / "weights.pt") != digest(whole / "weights.pt"), "a step more or less shows"


@torch
@pytest.mark.soak
@pytest.mark.parametrize("heard_by", [2, 1], ids=["both hear it", "one hears it later than the other"])
def test_two_processes_stop_at_the_same_step(tmp_path: Path, heard_by: int) -> None:
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    whole.mkdir()
    pieces.mkdir()
    (tmp_path / "torchrun.sbatch").write_text(script_for_here(FOLDER / "torchrun.sbatch"))
    command = ["bash", str(tmp_path / "torchrun.sbatch"), "400"]
    assert start([*command, str(whole)], tmp_path / "whole.out", pause=0).ended() == 0
    run = start([*command, str(pieces)], tmp_path / "pieces.out", pause=0.02)
    run.until("step 100 ")
    (launcher,) = below(run.process.pid)
    workers = below(launcher)
    assert len(workers) == 2
    tell(*workers[:heard_by])
    assert run.ended() == MORE, run.text()
    run = start([*command, str(pieces)], tmp_path / "pieces.out", pause=0)
    assert run.ended() == 0
    assert len(re.findall(r"saved at step", run.text())) == 1
    assert digest(pieces / "weights.pt") == digest(whole / "weights.pt")
