"""adminkit report …, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adminkit import config
from adminkit.cli.main import main
from adminkit.stats.select import Filter
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace
from tests.support.reports import some_chains

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    jobs = [
        job(1, elapsed=HOUR),
        job(2, elapsed=2 * HOUR, gpus=4, user="bob"),
        job(3, elapsed=30, state="FAILED"),
        job(4, queue="gq-short", limit_source="default"),
    ]
    return make_trace(tmp_path / "t.db", jobs, [("aaic", "gq", 0, HOUR, 4 * HOUR)])


def test_the_effect_of_letters_is_told_or_that_there_is_none(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "feedback", "--db", str(trace)]) == 0
    assert "no letter has been sent yet" in capsys.readouterr().out
    add_letters(trace, [letter()])
    assert main(["report", "feedback", "--db", str(trace), "--days", "14", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["measure"] for row in shown["rows"]] == ["accuracy", "unused_hours"]
    assert "14 before and after" in shown["meta"]["filters"]["days"]
    assert main(["report", "feedback", "--db", str(trace), "--cluster", "aiac"]) == 1
    assert "known: aaic" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "jobs", "why"),
    [
        ([], 3, "completed jobs and those at their limit, longer than a minute"),
        (["--class", "single-gpu"], 2, "the study's class"),
        (["--class", "multi-gpu", "--class", "single-gpu"], 3, "options repeat"),
        (["-p", "gq"], 2, "a queue by Slurm's letter"),
        (["--partition", "gq-short"], 1, "a queue by Slurm's word"),
        (["--user", "bob"], 1, "a user"),
        (["--account", "vision"], 3, "an account"),
        (["--cluster", "aaic"], 3, "a cluster"),
        (["--states", "failed", "--min-elapsed", "29"], 1, "other states, shorter jobs"),
        (["--states", "all", "--min-elapsed", "0"], 4, "every way to end"),
        (["--min-elapsed", "1h"], 1, "a duration with its unit"),
        (["--limit-source", "explicit"], 2, "no defaults"),
        (["--since", "2026-01-04"], 3, "since before all"),
        (["--until", "2026-01-04"], 0, "until before all"),
        (["--since", "1767574920"], 2, "an epoch in between"),
    ],
)
def test_filters_take_the_jobs_they_name(
    trace: Path, capsys: pytest.CaptureFixture[str], options: list[str], jobs: int, why: str
) -> None:
    assert main(["report", "accuracy", "--db", str(trace), "--format", "json", *options]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["meta"]["jobs"] == jobs, why
    assert jobs + sum(shown["meta"]["excluded"].values()) == 4, why
    assert shown["meta"]["database"] == str(trace)


@pytest.mark.parametrize("command", ["accuracy", "parallelism", "restarts"])
@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "html"])
def test_every_format_of_every_report_is_written(
    trace: Path, capsys: pytest.CaptureFixture[str], command: str, format: str
) -> None:
    assert main(["report", command, "--db", str(trace), "-f", format]) == 0
    assert "jobs" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["accuracy", "parallelism", "restarts"])
def test_every_format_of_an_empty_trace_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = make_trace(tmp_path / "empty.db")
    for format in ("table", "json", "csv", "markdown", "html"):
        assert main(["report", command, "--db", str(path), "-f", format]) == 0
    assert main(["report", command, "--db", str(path), "--plot"]) == 0
    assert "no job is left" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "error", "hint"),
    [
        (["--queue", "gq-shrt"], 2, "no such queue: gq-shrt", "did you mean gq-short?"),
        (["--user", "bop"], 2, "no such user: bop", "did you mean bob?"),
        (["--since", "yesterdy"], 2, "no such date: yesterdy", "did you mean yesterday?"),
        (["--since", "2026-02-30"], 2, "not a date: 2026-02-30", "write 2026-01-31"),
        (["--since", "2d", "--until", "3d"], 2, "--until 3d is not after --since 2d", "since is "),
        (["--states", "COMPLETE"], 2, "no such state: COMPLETE", "did you mean COMPLETED?"),
        (["--min-elapsed", "soon"], 2, "not a duration: soon", "write seconds"),
        (["--class", "single"], 2, "Invalid value for '--class'", "did you mean single-gpu?"),
        (["--format", "jsn"], 2, "Invalid value for '--format'", "did you mean json?"),
        (["--picture", "a.jpg"], 2, "no such kind of picture: .jpg", "did you mean .png?"),
        (["--ouput", "x"], 2, "--ouput", ""),
        (["--db", "/nowhere/t.db"], 1, "no trace database at /nowhere/t.db", "adminkit sync"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_a_hint(
    trace: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, error: str, hint: str
) -> None:
    assert main(["report", "accuracy", "--db", str(trace), *options]) == code
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert error in lines[0]
    assert lines[1].startswith("hint: ")
    assert hint in lines[1]


def test_settings_hold_unless_an_option_says_otherwise(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text(f'db = "{trace}"\n[report]\nstates = ["FAILED"]\nmin_elapsed = 5\n')
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "c.toml"))
    assert main(["report", "accuracy", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["meta"]["jobs"] == 1
    assert main(["report", "accuracy", "-f", "json", "--states", "COMPLETED"]) == 0
    assert json.loads(capsys.readouterr().out)["meta"]["jobs"] == 3


def test_the_settings_defaults_are_the_filters() -> None:
    usual, plain = config.Report(), Filter(checkpoint_code=85)
    assert (usual.states, usual.min_elapsed) == (plain.states, plain.min_elapsed)


def test_a_plain_table_needs_neither_pandas_nor_matplotlib(trace: Path) -> None:
    code = (
        "import sys; from adminkit.cli.main import main; main(['report', 'accuracy', '--db', sys.argv[1]]);"
        "print(sorted({'pandas', 'matplotlib', 'sqlite_utils'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(trace)], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.fixture
def chains(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "chains.db", some_chains())


@pytest.mark.parametrize(
    ("options", "jobs", "why"),
    [
        ([], 4, "every job of several pieces, and those that were warned"),
        (["--queue", "gq-short"], 1, "by the queue of its last piece"),
        (["--user", "bob", "--by", "user"], 2, "a user"),
        (["--class", "single-gpu"], 4, "a class"),
        (["--class", "multi-node"], 0, "another"),
        (["--cluster", "aaic"], 4, "a cluster"),
        (["--account", "vision", "--by", "account"], 4, "an account"),
        (["--until", str(MONDAY + 5 * HOUR)], 2, "by its last end: not by those of its pieces"),
        (["--since", str(MONDAY + 5 * HOUR)], 2, "the other side"),
        (["--by", "ended"], 4, "one row per end"),
        (["--by", "class"], 4, "one row per class"),
    ],
)
def test_restarts_takes_the_jobs_that_its_filters_name(
    chains: Path, capsys: pytest.CaptureFixture[str], options: list[str], jobs: int, why: str
) -> None:
    assert main(["report", "restarts", "--db", str(chains), "--format", "json", *options]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["meta"]["jobs"] == jobs, why
    assert jobs + sum(shown["meta"]["excluded"].values()) == 4, why
    assert sum(row["jobs"] for row in shown["rows"][:-1]) == jobs, why


def test_one_jobs_runs_are_shown_by_its_id(chains: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for job_id, runs in (("1", 3), ("9_4", 2), ("9", 2), ("5", 1)):
        assert main(["report", "restarts", "--db", str(chains), "-f", "json", "--job", job_id]) == 0
        assert len(json.loads(capsys.readouterr().out)["rows"]) == runs + 1, job_id
    assert main(["report", "restarts", "--db", str(chains), "--job", "77"]) == 2
    assert capsys.readouterr().err.startswith("error: no run of job 77 in the trace\nhint: write 123")
    assert main(["report", "restarts", "--db", str(chains), "--by", "que"]) == 2
    assert "did you mean queue?" in capsys.readouterr().err


@pytest.mark.parametrize(("code", "left_out"), [(85, 0), (99, 1)])
def test_the_site_says_with_which_code_a_run_has_more_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int, left_out: int
) -> None:
    path = make_trace(tmp_path / "t.db", [job(1), job(2, state="FAILED", exit_code=99)])
    (tmp_path / "c.toml").write_text(f"[checkpoint]\ncode = {code}\n")
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "c.toml"))
    assert main(["report", "accuracy", "--db", str(path), "--states", "all", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["meta"]["excluded"]["checkpoint"] == left_out


COLUMNS = [
    ("queue,mean", ["queue", "mean"], "those, in this order"),
    ("mean,queue", ["mean", "queue"], "in the order that is typed"),
    ("queue,queue", ["queue"], "once"),
]


@pytest.mark.parametrize(("typed", "expected", "why"), COLUMNS, ids=[case[2] for case in COLUMNS])
def test_columns_are_those_that_are_named(
    trace: Path, capsys: pytest.CaptureFixture[str], typed: str, expected: list[str], why: str
) -> None:
    assert main(["report", "accuracy", "--db", str(trace), "--columns", typed, "--format", "json"]) == 0
    assert [*json.loads(capsys.readouterr().out)["rows"][0]] == expected, why


def test_a_plus_adds_a_column_that_the_table_leaves_out(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for more in ([], ["--columns", "+preempted"]):
        assert main(["-q", "report", "states", "--db", str(trace), *more]) == 0
        shown.append(capsys.readouterr().out)
    assert "preempted" not in shown[0]
    assert "preempted" in shown[1]


def test_an_unknown_column_is_named_with_the_nearest(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "accuracy", "--db", str(trace), "--columns", "queue,maen"]) == 2
    assert capsys.readouterr().err.splitlines() == ["error: no such column: maen", "hint: did you mean mean?"]


def test_quiet_leaves_the_rows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["report", "accuracy", "--db", str(trace)]
    assert main(command) == 0
    loud = capsys.readouterr()
    assert main(["-q", *command]) == 0
    quiet = capsys.readouterr()
    assert quiet.out and loud.out.endswith(quiet.out)
    assert quiet.out.startswith("queue")
    assert main(["--quiet", *command, "--format", "csv"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["-q", "report", "acuracy"]) == 2
    assert "did you mean accuracy" in capsys.readouterr().err
    assert main([*command]) == 0
    assert capsys.readouterr().out == loud.out, "the next command is not quiet"
