"""adminkit recommend …, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.support.builders import HOUR, MONDAY, job, make_trace

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """ada trains for an hour on one GPU and for three on eight; cyd is always cut off."""
    jobs = []
    for n in range(1, 31):
        for number, user, elapsed, gpus, state in (
            (n, "ada", HOUR, 1, "COMPLETED"),
            (100 + n, "ada", 3 * HOUR, 8, "COMPLETED"),
            (200 + n, "cyd", 4 * HOUR, 1, "TIMEOUT"),
        ):
            submit = MONDAY + n * 4 * HOUR + number
            times = {"submit_time": submit, "start_time": submit, "end_time": submit + elapsed}
            jobs.append(job(number, user=user, job_name="train", elapsed=elapsed, gpus=gpus, state=state, **times))
    jobs.append(job(400, user="dan", job_name="first"))
    return make_trace(tmp_path / "t.db", jobs, [("aaic", "gq", 0, HOUR, 3 * HOUR + 1800)])


@pytest.mark.parametrize(
    ("options", "limit", "similar", "why"),
    [
        (["-u", "ada", "--gpus", "1"], 3 * HOUR, "user, gpus", "one GPU"),
        (["-u", "ada", "--gpus", "8"], 6 * HOUR, "user, gpus", "eight"),
        (["-u", "ada", "--gpus", "8", "-p", "gq"], 3 * HOUR + 1800, "user, queue, gpus", "at most the queue's maximum"),
        (["-u", "ada", "-J", "train"], 6 * HOUR, "user, job name", "both sizes"),
        (["-u", "ada", "-J", "never seen"], 6 * HOUR, "user", "another name: all runs"),
        (["-u", "cyd"], None, "user", "always cut off"),
        (["-u", "dan"], None, "user", "one run is too little"),
    ],
)
def test_a_limit_for_the_next_job(
    trace: Path, capsys: pytest.CaptureFixture[str], options: list[str], limit: int | None, similar: str, why: str
) -> None:
    assert main(["recommend", "walltime", "--db", str(trace), "-f", "json", *options]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert (row["limit"], row["similar"]) == (limit, similar), why
    assert (row["line"] is None) == (limit is None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-u", "ada", "--gpus", "1"], "paste: #SBATCH --time=03:00:00"),
        (["-u", "ada", "--gpus", "1"], "of 27 earlier runs"),
        (["-u", "dan"], "nothing is recommended: too little history, 1 such run"),
        (["-u", "cyd"], "nothing is recommended: 20 of 20 such runs needed more than they got"),
    ],
)
def test_the_sentence_is_for_people(
    trace: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["recommend", "walltime", "--db", str(trace), *options]) == 0
    assert said in capsys.readouterr().out


def test_the_backtest_is_of_all_or_of_one_user(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = []
    for options in ([], ["--user", "ada"], ["--user", "ada", "--risk", "0.3"]):
        assert main(["recommend", "walltime", "--backtest", "--db", str(trace), "-f", "json", *options]) == 0
        shown = json.loads(capsys.readouterr().out)
        counted.append((shown["meta"]["jobs"], [row["limit"] for row in shown["rows"]]))
    methods = ["own request", "last two", "expected", "safe", "safe, rounded"]
    assert counted == [(91, methods), (60, methods), (60, methods)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "whose job is it?"),
        (["--backtest", "--name", "x"], "--backtest tries every run"),
        (["--user", "adda"], "did you mean ada?"),
        (["--user", "ada", "--queue", "gp"], "did you mean gq?"),
        (["--user", "ada", "--time", "soon"], "not a duration"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    trace: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["recommend", "walltime", "--db", str(trace), *options]) == 2
    assert said in capsys.readouterr().err


def test_the_policy_says_how_safe_and_which_limits(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\nrisk = 0.2\nmenu = ["90m", "13h"]\n')
    asked = ["recommend", "walltime", "--db", str(trace), "-u", "ada", "--gpus", "1", "-f", "json"]
    assert main([*asked, "--policy", str(policy)]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["limit"] == 5400
    policy.write_text("version = 1\nrisk = 0.6\n")
    assert main([*asked, "--policy", str(policy)]) == 1
    assert "risk: 0.6: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "added", "why"),
    [("first", 3 * HOUR, "the tasks waited"), ("behind", 0, "the tasks did not wait")],
)
def test_the_copy_of_the_data_to_the_nodes_is_in_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, added: int, why: str
) -> None:
    """One run in thirty found nothing on its node."""
    jobs = []
    for n in range(1, 31):
        start = MONDAY + n * 4 * HOUR
        word = f"st1:at={start + 1},node=0,bytes={int(n == 9)},hit=1,s={3 * HOUR if n == 9 else 1},mode={mode}"
        times = {"submit_time": start, "start_time": start, "end_time": start + HOUR}
        jobs.append(job(n, user="ada", job_name="train", elapsed=HOUR, admin_comment=word, **times))
    path = make_trace(tmp_path / "t.db", jobs)
    assert main(["recommend", "walltime", "--db", str(path), "-f", "json", "-u", "ada", "-J", "train"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["rows"][0]["limit"] >= HOUR + added, why
    assert (report["rows"][0]["limit"] >= 4 * HOUR) == bool(added)
    assert any("copy of the data" in note for note in report["meta"]["notes"]) == bool(added)
