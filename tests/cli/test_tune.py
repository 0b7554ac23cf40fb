"""adminkit tune, from the command line: answers, formats, files, errors, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adminkit.cli.main import main
from adminkit.job import Job
from adminkit.reports.tune import FIELDS
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.fakes import Programs

DAY = 24 * HOUR
LEVERS = "version = 1\n[levers]\nsoft_limits.quantile = [75, 90]\nsoft_limits.wide = [0, 50]\n"
KEYS = "--model easy --procs 8 --force --evaluations 130".split()


def jobs(days: int = 90, many: int = 300) -> list[Job]:
    """Jobs of seven users on eight GPUs, which started as a machine without any limit would."""
    rng = np.random.default_rng(1)
    submit = MONDAY + np.sort(rng.integers(0, days * DAY, many))
    submit[0], submit[-1] = MONDAY, MONDAY + days * DAY
    found = []
    for number in range(many):
        at, elapsed, gpus = int(submit[number]), int(rng.integers(12 * HOUR, 60 * HOUR)), int(rng.integers(1, 7))
        times = {"submit_time": at, "eligible_time": at, "start_time": at, "end_time": at + elapsed}
        user = f"user{number % 7}"
        one = {"elapsed": elapsed, "gpus": gpus, "cpus": gpus, "user": user, "uid": 2000 + number % 7, **times}
        found.append(job(number + 1, **one))
    return found


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "trace.db"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_trace(tmp_path / "trace.db", jobs(), [("aaic", "gq", 0, HOUR, 72 * HOUR)])


def levers(folder: Path, text: str = LEVERS) -> str:
    file = folder / "tune.toml"
    file.write_text(text)
    return str(file)


def run(file: str, *more: str) -> int:
    return main(["tune", file, *KEYS, *more])


def test_the_answer_comes_in_sentences_and_rows_and_the_same_again(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = levers(trace.parent)
    assert run(file) == 0
    table = capsys.readouterr().out
    assert table.index("calibration: ") < table.index("recommended") < table.index("database")
    assert "the last 31 days are held out" in table
    assert run(file, "-f", "json") == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert list(found["rows"][0]) == [field.name for field in FIELDS]
    assert {row["days"] for row in found["rows"]} <= {"searched", "held out"}
    assert {"pick", "groups", "typed"} <= set(found)
    assert run(file, "-f", "json") == 0
    assert capsys.readouterr().out == first, "from what was kept"
    assert run(file, "-f", "json", "--keep", str(trace.parent / "other")) == 0
    assert capsys.readouterr().out == first, "from the beginning"


def test_what_is_answered_without_a_basis_says_so_in_each_line(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(levers(trace.parent), "-f", "json") == 0
    first, *others = json.loads(capsys.readouterr().out)["meta"]["answers"]
    assert first.startswith("calibration: no basis")
    assert others and all(line.startswith("no basis: ") for line in others)


def test_without_a_basis_it_is_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for word in KEYS if word != "--force"]
    assert main(["tune", levers(trace.parent), *words]) == 1
    assert "no basis for an answer" in capsys.readouterr().err
    assert not (trace.parent / "cache").exists(), "before anything is run"


def test_where_nothing_is_recommended_no_file_is_written(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trace.parent / "b"
    nothing = 'version = 1\n[levers]\nqueue.gq.max_limit = ["2-23:00:00"]\n'
    assert run(levers(trace.parent, nothing), "--write", str(folder)) == 0
    said = capsys.readouterr()
    assert "nothing is recommended" in said.out
    assert "nothing is written" in said.err and not folder.exists()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("version = 1\n[levers]\nbf_windw = [1]\n", [], "tune.toml:3: "),
        ("version = 1\n[levers]\nSchedulerParameters.bf_window = ['1d']\n", [], "slurm"),
        (LEVERS, ["--budget", "30m"], "--evaluations and --budget contradict each other"),
        (LEVERS, ["--evaluations", "10"], "130"),
        (LEVERS, ["--shard", "0/4"], "no share of a round"),
    ],
)
def test_what_is_wrong_is_refused_with_its_reason(
    text: str, words: list[str], said: str, trace: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("SLURM_ARRAY_TASK_ID", raising=False)
    assert run(levers(trace.parent, text), *words) in (1, 2)
    assert said in capsys.readouterr().err


def test_a_trace_of_a_few_weeks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "trace.db"))
    make_trace(tmp_path / "trace.db", jobs(30), [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    assert main(["tune", levers(tmp_path), *(word for word in KEYS if word != "--force")]) == 1
    assert "28 are needed" in capsys.readouterr().err


def test_jobs_are_told_numbers_where_a_date_was_typed(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = trace.parent / "log"
    programs = Programs(trace.parent / "bin", monkeypatch)
    programs.add("sbatch", f'echo "$*" >> "{log}"; tail -1 >> "{log}"; echo 7')
    file, keep, out = levers(trace.parent), trace.parent / "keep", trace.parent / "answer.json"
    more = ["--keep", str(keep), "--slurm", "3", "--sbatch=--qos=low", "--since", "1000000000", "-f", "json"]
    assert run(file, *more, "-o", str(out), "--seed", "5") == 0
    assert "submitted" in capsys.readouterr().err
    lines = log.read_text().splitlines()
    first, last = lines[1], lines[-1]
    assert "-P -m adminkit tune" in first, "the folder in which a job runs is nowhere that Python looks for modules"
    assert f"tune {file} --model easy --procs 8 --seed 5 --force --since @1000000000 --keep {keep}" in first
    assert first.endswith("--evaluations 130 --shard 0/3")
    assert last.endswith(f"--evaluations 130 --format json --output {out}")
    assert "--qos=low" in lines[0] and "--array=0-2" in lines[0]
    assert not any("--slurm" in line for line in lines)
    assert not out.exists()
