"""adminkit simulate scenarios, from the command line: answers, formats, errors, exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adminkit.cli.main import main
from adminkit.job import Job
from adminkit.reports.simulate_scenarios import FIELDS
from adminkit.simulate.compare import LESS, NO_CHANGE
from tests.support.builders import HOUR, MONDAY, job, make_trace

NODES = 'version = 1\n[[scenarios]]\nname = "twice"\nkind = "nodes"\nfactor = 2\n'
KEYS = "--model easy --procs 8 --force".split()
MANY = 200


def jobs(many: int = MANY, **changes: object) -> list[Job]:
    """A busy machine of eight GPUs, its jobs started as a machine without any limit would."""
    rng = np.random.default_rng(1)
    submit = MONDAY + np.cumsum(rng.integers(60, 1200, many))
    found = []
    for number in range(many):
        at, elapsed, gpus = int(submit[number]), int(rng.integers(600, 7200)), int(rng.integers(1, 5))
        times = {"submit_time": at, "eligible_time": at, "start_time": at, "end_time": at + elapsed}
        user = f"user{number % 7}"
        one = {"elapsed": elapsed, "gpus": gpus, "cpus": gpus, "user": user, "uid": 2000 + number % 7, **times}
        found.append(job(number + 1, **{**one, **changes}))
    return found


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "trace.db"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_trace(tmp_path / "trace.db", jobs(), [("aaic", "gq", 0, HOUR, 72 * HOUR)])


def scenarios(folder: Path, text: str = NODES) -> str:
    file = folder / "scenarios.toml"
    file.write_text(text)
    return str(file)


def run(file: str, *more: str, keys: Sequence[str] = KEYS) -> int:
    return main(["simulate", "scenarios", file, *keys, *more])


def test_the_answer_comes_in_sentences_and_rows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scenarios(trace.parent)) == 0
    said = capsys.readouterr().out
    assert said.index("calibration: ") < said.index("twice: the mean wait is ") < said.index("database")
    assert LESS in said


def test_each_format_has_the_same_rows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenarios(trace.parent)
    assert run(file, "-f", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert run(file, "-f", "csv") == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(table[0]) == [field.name for field in FIELDS]
    assert [row["verdict"] for row in table] == [row["verdict"] for row in data["rows"]]
    assert run(file, "-f", "markdown") == 0
    assert "| twice | all |" in capsys.readouterr().out
    assert run(file, "-f", "html", "-o", str(trace.parent / "a.html")) == 0
    assert "<svg " in (trace.parent / "a.html").read_text()
    assert run(file, "--picture", str(trace.parent / "a.png")) == 0
    assert (trace.parent / "a.png").read_bytes().startswith(b"\x89PNG")


def test_replicates_are_kept_in_the_cache_folder(trace: Path) -> None:
    file, kept = scenarios(trace.parent), trace.parent / "cache" / "adminkit" / "simulate"
    assert run(file) == 0
    assert len(list(kept.iterdir())) == 20
    assert kept.stat().st_mode & 0o777 == 0o700
    assert run(file, "--replicates", "21", "--keep", str(trace.parent / "own")) == 0
    assert len(list((trace.parent / "own").iterdir())) == 21


def test_what_changes_nothing_is_said_so_as_large_as_the_rest(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = NODES + '[[scenarios]]\nname = "same"\nkind = "load"\nfactor = 1\n'
    assert run(scenarios(trace.parent, text), "-f", "json") == 0
    answers = json.loads(capsys.readouterr().out)["meta"]["answers"]
    assert any(one.startswith(f"same: {NO_CHANGE} of the mean wait") for one in answers)


def test_an_uptake_of_none_is_today(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'version = 1\n[[scenarios]]\nname = "it"\nkind = "estimates"\nuptake = 0\n'
    text += '[[scenarios]]\nname = "soft"\nkind = "soft-limits"\nuptake = 0\n'
    assert run(scenarios(trace.parent, text), "-f", "json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {(row["change"], row["verdict"]) for row in rows} == {(0.0, NO_CHANGE)}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (NODES.replace("nodes", "node"), "no such kind: node", "did you mean nodes?"),
        (NODES + 'queue = "gr"\n', "no such queue: gr", "did you mean gq?"),
        (
            NODES + '[[scenarios]]\nname = "p"\nkind = "policy"\npolicy = "no.toml"\n',
            "scenario p: couldn't read",
            "policy = ",
        ),
        (NODES + 'queue = "gq"\n', "the easy model has one pool of processors", "--model slurm"),
    ],
)
def test_a_scenario_that_cannot_be_is_one_error_and_one_hint(
    text: str, message: str, hint: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(scenarios(trace.parent, text)) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(("error:", "hint:"))]
    assert len(lines) == 2
    assert message in lines[0]
    assert hint in lines[1]


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"start_time": None, "end_time": None, "eligible_time": None}, "has no starts", "simulate run needs none"),
        ({"time_limit": None, "limit_kind": "unknown"}, "no job of the trace has a time limit", "--model fcfs"),
    ],
)
def test_a_trace_that_says_too_little_is_one_error_and_one_hint(
    changes: dict[str, object],
    message: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ADMINKIT_DB", str(make_trace(tmp_path / "trace.db", jobs(40, **changes))))
    keys = ["--model", "easy", "--procs", "8"]
    assert run(scenarios(tmp_path), keys=keys) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(("error:", "hint:"))]
    assert len(lines) == 2
    assert message in lines[0]
    assert hint in lines[1]


def test_without_a_basis_there_is_no_number_unless_it_is_forced(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trace's jobs never waited, the machine of eight GPUs makes them wait."""
    file = scenarios(trace.parent)
    assert run(file, keys=KEYS[:-1]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "error: no basis for an answer: " in said.err
    assert "--force" in said.err
    assert run(file) == 0
    assert "calibration: no basis" in capsys.readouterr().out


def test_jobs_that_cannot_run_are_named_and_those_that_leave_or_come_counted(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = NODES.replace("twice", "half").replace("2", "0.25")
    text += '[[scenarios]]\nname = "fewer"\nkind = "load"\nfactor = 0.5\n'
    text += '[[scenarios]]\nname = "more"\nkind = "load"\nfactor = 1.5\n'
    assert run(scenarios(trace.parent, text), "-f", "json") == 0
    data = json.loads(capsys.readouterr().out)
    large = [one for one in jobs() if (one.gpus or 0) > 2]
    named = ", ".join(str(one.job_id_raw) for one in large[:5])
    assert f"half: not run: {len(large)} jobs: {named}, …" in data["meta"]["notes"]
    answers = data["meta"]["answers"]
    assert any(one.startswith("fewer: jobs of today that are not submitted: ") for one in answers)
    assert any(one.startswith("more: additional jobs: ") for one in answers)
    keys = ["--model", "easy", "--procs", "3", "--force"]
    assert run(scenarios(trace.parent, NODES), "-f", "json", keys=keys) == 0
    large = [one for one in jobs() if (one.gpus or 0) > 3]
    named = ", ".join(str(one.job_id_raw) for one in large[:5])
    notes = json.loads(capsys.readouterr().out)["meta"]["notes"]
    assert f"not run: {len(large)} jobs can never start on this machine: {named}, …" in notes


def test_fewer_than_twenty_replicates_are_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scenarios(trace.parent), "--replicates", "19") == 2
    assert "20" in capsys.readouterr().err


def test_policy_replay_leads_to_the_answer(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = trace.parent / "site.toml"
    site.write_text(
        'cluster = "aaic"\n[[queues]]\nname = "gq"\nmax_limit = 259200\nis_default = true\n'
        '[[nodes]]\nname = "n1"\ncpus = 64\ngpus = { "gpu" = 64 }\nqueues = ["gq"]\n'
    )
    policy = trace.parent / "policy.toml"
    policy.write_text('version = 1\n[[rules]]\nname = "short"\nmax_limit = "01:00:00"\naction = "amend"\n')
    words = ["policy", "replay", "--policy", str(policy), "--simulate", "--site", str(site)]
    assert main([*words, "-f", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["meta"]["answers"][0].startswith("calibration: ")
    killed = next(row for row in said["rows"] if row["measure"] == "killed")
    assert killed["scenario"] == "the policy"
    assert killed["verdict"] == "more"
    assert main([*words, "--force"]) == 0
    capsys.readouterr()
    assert main([*words[:-3], "--force"]) == 2
    assert "--force needs --simulate" in capsys.readouterr().err
    assert main([*words, "--lua", "5.4"]) == 2
    assert "--simulate does not accept --lua" in capsys.readouterr().err
    assert main([*words, "--queue", "gq"]) == 2
    assert "--simulate does not accept --queue" in capsys.readouterr().err


@pytest.mark.parametrize("many", [1, 3, 20])
def test_slices_together_are_the_answer_of_one_process(
    trace: Path, capsys: pytest.CaptureFixture[str], many: int
) -> None:
    """A slice that runs again changes nothing, and the answer needs no replicate more."""
    file, keep = scenarios(trace.parent), trace.parent / "keep"
    assert run(file, "-f", "json", "--keep", str(trace.parent / "alone")) == 0
    alone = capsys.readouterr().out
    for number in (*range(1, many + 1), 1):
        assert run(file, "--slice", f"{number}/{many}", "--keep", str(keep)) == 0
    assert capsys.readouterr().out == ""
    kept = {one.name: one.read_bytes() for one in keep.iterdir()}
    assert len(kept) == 20
    assert run(file, "-f", "json", "--keep", str(keep)) == 0
    assert capsys.readouterr().out == alone
    assert {one.name: one.read_bytes() for one in keep.iterdir()} == kept


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1", "--slice '1' is not I/N"),
        ("a/b", "--slice 'a/b' is not I/N"),
        ("-1/2", "--slice '-1/2' is not I/N"),
        ("1/2/3", "--slice '1/2/3' is not I/N"),
        ("²/3", "--slice '²/3' is not I/N"),
        ("/", "--slice '/' is not I/N"),
        ("0/2", "there is no such slice"),
        ("3/2", "there is no such slice"),
        ("1/0", "there is no such slice"),
        ("1/21", "20 replicates are fewer than 21 slices"),
    ],
)
def test_a_slice_that_is_none_is_refused(trace: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    assert run(scenarios(trace.parent), "--slice", text) == 2
    assert said in capsys.readouterr().err
