"""adminkit simulate elastic, from the command line: jobs of a file and of a trace, budgets, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.cli.main import main
from adminkit.reports.elastic import FIELDS
from tests.support.builders import MONDAY, job, make_trace

#: A program that doubles well at first, and one that does not.
CURVES = """model,gpus,batch,iterations_per_s,watts
resnet,1,64,10,300
resnet,2,64,19,560
resnet,4,64,30,1000
bert,1,64,5,300
bert,2,64,5.5,500
bert,1,128,3,300
"""
#: Whatever --replicates says of the fewest.
FEW = ["--replicates", "20", "--nodes", "2x4", "--idle-watts", "50"]


def curves(folder: Path, text: str = CURVES) -> str:
    file = folder / "curves.csv"
    file.write_text(text)
    return str(file)


def jobs(folder: Path, text: str | None = None) -> str:
    """Of a busy day: every fourth has high priority, every fifth runs what nobody measured."""
    file = folder / "jobs.csv"
    if text is None:
        draw = np.random.default_rng(1)
        lines = ["submit,gpus,seconds,name,batch,high"]
        for number in range(60):
            name = "other" if number % 5 == 0 else "resnet"
            lines.append(
                f"{number * 900},{draw.choice([1, 2])},{draw.integers(3600, 14400)},{name},64,{number % 4 == 0:d}"
            )
        text = "\n".join(lines) + "\n"
    file.write_text(text)
    return str(file)


def asked(folder: Path, *more: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    words = ["simulate", "elastic", "--curves", curves(folder), *FEW, *more, "-f", "json"]
    assert main(words) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_each_policy_has_a_row_on_each_machine_and_every_pair_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = asked(tmp_path, "--jobs", jobs(tmp_path), "--nodes", "1x4", capsys=capsys)
    assert [(row["nodes"], row["policy"]) for row in said["rows"]] == [
        (nodes, policy) for nodes in ("2x4", "1x4") for policy in ("fifo", "las", "srtf", "elastic")
    ]
    assert list(said["rows"][0]) == [field.name for field in FIELDS]
    assert len(said["comparisons"]) == 2 * 6
    assert {row["high_later"] for row in said["rows"]} == {0}
    assert "no job of high priority starts later than under fifo" in said["meta"]["answers"]
    for row in said["rows"]:
        assert row["verdict"] in (None, "", "shorter", "longer", "no difference")
        assert row["low"] is None or row["low"] <= row["change"] <= row["high"]
    light = said["rows"][3]
    assert (light["policy"], light["verdict"]) == ("elastic", "shorter")
    assert light["energy"] <= said["rows"][0]["energy"], "the budget is what fifo draws"


def test_a_policy_that_changes_nothing_makes_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = jobs(tmp_path, "submit,gpus,seconds,name,batch\n0,1,5000,resnet,64\n9000,1,5000,resnet,64\n")
    said = asked(tmp_path, "--jobs", file, "--policy", "srtf", capsys=capsys)
    assert [(row["policy"], row["verdict"]) for row in said["rows"]] == [("fifo", ""), ("srtf", "no difference")]
    assert "2x4 (load 14 %): srtf: no difference from fifo" in said["meta"]["answers"]


@pytest.mark.parametrize(
    ("budget", "kept", "why"),
    [("1000", True, "more than enough"), ("0.1", False, "nothing draws so little")],
)
def test_the_budget_bounds_the_policy_elastic(
    budget: str, kept: bool, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = asked(tmp_path, "--jobs", jobs(tmp_path), "--energy-budget", budget, "--policy", "elastic", capsys=capsys)
    (row,) = (row for row in said["rows"] if row["policy"] == "elastic")
    assert (row["energy"] <= float(budget) * 3.6e6) is kept, why
    assert any("no bound on efficiency stays within" in text for text in said["meta"]["answers"]) is not kept
    tried = {one["efficiency"]: one for one in said["efficiencies"]}
    assert tried[row["efficiency"]]["mean_completion"] == row["mean_completion"]
    least, most = min(one["energy"] for one in tried.values()), min(one["mean_completion"] for one in tried.values())
    assert row["mean_completion"] == most if kept else row["energy"] == least


def test_the_jobs_of_a_trace_are_mapped_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        job(number + 1, submit_time=at, eligible_time=at, start_time=at, end_time=at + 4000, elapsed=4000, gpus=gpus,
            job_name=name, qos=qos)
        for number, (gpus, name, qos) in enumerate(
            [(1, "train-1", "normal"), (1, "train-2", "urgent"), (2, "train*", "normal"), (1, "else", "normal"),
             (0, "train-3", "normal")])
        for at in (MONDAY + 60 * number,)
    ]  # fmt: skip
    db = make_trace(tmp_path / "trace.db", runs, [])
    names = tmp_path / "names.csv"
    names.write_text("name,model,batch\ntrain-*,resnet,64\n*[*],bert,64\n")
    words = ["--db", str(db), "--map-names", str(names), "--high-qos", "urgent", "--policy", "las"]
    said = asked(tmp_path, *words, capsys=capsys)
    assert said["meta"]["jobs"] == 4
    assert "left out: 1 job: without GPUs, or with an unknown number of them" in said["meta"]["notes"]
    assert said["meta"]["answers"][0].startswith("60.0 % of the GPU-hours are elastic")
    assert said["rows"][0]["high_wait"] == 0


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["--nodes", "8x6"], "no such machine: 8x6", "8x4 is 8 nodes of 4 GPUs"),
        (["--restart", "1h"], "--hold must be longer than --restart", "--restart 2m --hold 1h"),
        (["--jobs", "absent.csv"], "couldn't read absent.csv: no such file", ""),
        (["--policy", "best"], "'best' is not one of", ""),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], error: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "elastic", "--curves", curves(tmp_path), "--jobs", jobs(tmp_path), *words]) != 0
    said = capsys.readouterr().err
    assert error in said and hint in said


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("model,gpus\nresnet,1\n", "has no column iterations_per_s"),
        (CURVES + "resnet,3,64,20,900\n", "line 8: GPUs are a power of two up to 64"),
        (CURVES + "resnet,16,64,40,4000\n", "lacks 8 GPUs, between 1 and 16"),
        (CURVES + "resnet,8,64,nan,2000\n", "line 8: iterations_per_s is not a number: nan"),
        (CURVES + "resnet,8,64,-1,2000\n", "line 8: GPUs are"),
        (CURVES + "resnet,8,64,30,1e99\n", "line 8: GPUs are"),
        (CURVES + "resnet,4,64,30,2000\n", "on 4 GPUs appears a second time"),
        (CURVES + "\x1b[31m,1,64,x,0\n", "iterations_per_s is not a number"),
        ("model,gpus,batch,iterations_per_s,watts\n", "has no curve"),
        ('model,gpus,batch,iterations_per_s,watts\n"resnet,1,64,1,1\n', "line"),
    ],
)
def test_a_file_of_curves_is_read_strictly(
    text: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "elastic", "--curves", curves(tmp_path, text), "--jobs", jobs(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert error in said and "\x1b" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("submit,gpus,seconds,name\n", "no job of jobs.csv can be simulated"),
        ("submit,gpus,seconds,name\n0,x,9,resnet\n", "1 with a number missing"),
        ("submit,gpus,seconds,name\n0,1,9,other\n", "0.0% of the GPU-hours are elastic, less than 10%"),
        ("submit,gpus,seconds,name,batch\n0,1,9,bert,\n", "0.0% of the GPU-hours are elastic"),  # which of two batches?
        ("submit,gpus,seconds,name,batch\n0,8,9,resnet,64\n", "0.0% of the GPU-hours are elastic"),  # not measured
        ("submit,gpus,seconds,name,batch\n0,4,9,resnet,64\n", "no job fits 1x2"),
        ("submit,gpus,seconds,name,batch\n0,1e300,9,resnet,64\n", "1 with a number that no job can have"),
    ],
)
def test_a_file_of_jobs_says_why_nothing_can_be_said(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "elastic", "--curves", curves(tmp_path), "--jobs", jobs(tmp_path, text), "--nodes", "1x2"]
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_a_pattern_must_name_one_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = tmp_path / "names.csv"
    names.write_text("name,model,batch\ntrain*,bert,\n")
    words = ["simulate", "elastic", "--curves", curves(tmp_path), "--jobs", jobs(tmp_path), "--map-names", str(names)]
    assert main(words) == 1
    assert "no single curve matches bert" in capsys.readouterr().err


def test_a_picture_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "energy.svg"
    words = [
        "simulate",
        "elastic",
        "--curves",
        curves(tmp_path),
        "--jobs",
        jobs(tmp_path),
        *FEW,
        "--picture",
        str(file),
    ]
    assert main(words) == 0
    assert "mean completion time, hours" in file.read_text()


def test_the_curves_of_the_trace_are_taken_where_no_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One and four GPUs were measured; two are the model's. Of two power limits the higher one counts."""
    trace = make_trace(tmp_path / "t.db")
    own = tmp_path / "own.csv"
    rows = [f"resnet,{n},64,{cap},{seconds},{seconds * watts},100" for n, cap, seconds, watts in (
        (1, 250, 10, 300), (4, 250, 4, 1000), (8, 250, 3, 1900), (1, 150, 99, 150),
    )]  # fmt: skip
    own.write_text("\n".join(["model,gpus,batch,cap,seconds,joules,iterations", *rows, ""]))
    words = ["simulate", "elastic", "--jobs", jobs(tmp_path), *FEW, "--db", str(trace), "-f", "json"]
    assert main(words) == 1 and "no measured curve has watts" in capsys.readouterr().err
    assert main(["power", "import", str(own), "--db", str(trace)]) == 0
    capsys.readouterr()
    assert main(words) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    assert found["meta"]["filters"]["curves"] == "the trace's"
    assert {row["policy"] for row in found["rows"]} == {"fifo", "las", "srtf", "elastic"}
    assert main(["power", "import", str(own), "--gpu", "v100", "--source", "other", "--db", str(trace)]) == 0
    assert main(words) == 1 and "name the kind of GPU with --gpu" in capsys.readouterr().err
    assert main([*words, "--gpu", "v100"]) == 0, capsys.readouterr().err
