"""CPUs to ask for with each GPU: what a run used, and what is recommended and how often it is too few."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.recommend.backtest import REQUEST, SAFE
from adminkit.recommend.cpus import MENU, RISK, backtest, cpus, site_control
from adminkit.stats.cpus_used import CpusUsed, used
from adminkit.stats.runs import Kind, Run
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.size_listings import CODE, sized

ADA = Kind("aaic", "ada", "fit", "gq", 1, 16, 2)


def of(cpu_time: float | None, state: str = "COMPLETED", cpus: int | None = 16, gpus: float = 2.0) -> Run | None:
    """A run of an hour."""
    return used(ADA, 1, None, MONDAY, MONDAY + HOUR, state, 7, cpus, gpus, cpu_time, HOUR)


@pytest.mark.parametrize(
    ("run", "need", "ended", "why"),
    [
        (of(6.0 * HOUR), 300, "COMPLETED", "six CPUs of two GPUs"),
        (of(6.0 * HOUR + 1), 301, "COMPLETED", "rounded up"),
        (of(0.001 * HOUR), 1, "COMPLETED", "hardly any"),
        (of(15.2 * HOUR), 760, "TIMEOUT", "95 %: it might have used more"),
        (of(17.0 * HOUR), 800, "TIMEOUT", "more than all, by rounding or by a step that outlived the run"),
        (of(6.0 * HOUR, "FAILED"), 300, "CANCELLED", "it may have used more later"),
        (of(6.0 * HOUR, "TIMEOUT"), 300, "CANCELLED", "so may one that ran out of time"),
        (of(None), None, None, "unknown stays unknown"),
        (of(0.0), None, None, "no CPU time was measured"),
        (of(6.0 * HOUR, cpus=None), None, None, "its CPUs are unknown"),
        (of(6.0 * HOUR, gpus=1.0), 600, "COMPLETED", "of one GPU"),
    ],
)
def test_what_a_run_used(run: Run | None, need: int | None, ended: str | None, why: str) -> None:
    assert (None if run is None else (run.elapsed, run.state)) == (None if need is None else (need, ended)), why
    assert run is None or run.kind.req_limit == (1600 if "one GPU" in why else 800)


def test_only_runs_of_whole_gpus_count_and_unknown_ones_are_counted(tmp_path: Path) -> None:
    jobs = [
        job(1, gpus=2, cpus=16, elapsed=HOUR, cpu_time=6.0 * HOUR),
        job(2, gpus=0, cpus=16, elapsed=HOUR, cpu_time=6.0 * HOUR),
        job(3, gpus=None, cpus=16, elapsed=HOUR, cpu_time=6.0 * HOUR),
        job(4, gpus=2, cpus=16, elapsed=60, cpu_time=60.0),
        job(5, gpus=2, cpus=16, elapsed=HOUR, cpu_time=None),
    ]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = CpusUsed(db, (), (), CODE)
        assert [one.job_id_raw for one in found.runs()] == [1]
    assert found.unknown == 1


def history(seed: int, many: int) -> list[Run]:
    """Runs of twenty users with 64 CPUs for each of two GPUs, which keep some of them busy."""
    luck, found = random.Random(seed), []
    for number in range(many):
        user, start = number % 20, MONDAY + number * 180
        busy = min(luck.lognormvariate(1 + user / 20, 0.4), 63.0)
        kind = ADA._replace(user=f"u{user}")
        run = used(kind, user, None, start, start + 120, "COMPLETED", number, 128, 2.0, busy * 2 * 100, 100)
        assert run is not None
        found.append(run)
    return found


def test_the_share_of_runs_that_use_more_is_the_risk() -> None:
    tested = backtest(history(1, 4000), RISK)
    scores = {one.method: one for one in tested.scores}
    assert scores[SAFE].over / tested.runs == pytest.approx(RISK, abs=0.02)
    assert scores[SAFE].asked < 0.3 * scores[REQUEST].asked


def test_a_number_is_on_the_menu_and_has_a_measured_risk() -> None:
    advice = cpus(history(2, 2000), Kind("aaic", "u3", "fit"), RISK)
    assert advice.limit in MENU
    assert advice.risk is not None and 0 < advice.risk <= 2 * RISK


def test_runs_that_keep_all_their_cpus_busy_give_no_number() -> None:
    full = [of(16.0 * HOUR) for _ in range(40)]
    assert cpus([one for one in full if one], ADA, RISK).limit is None


def test_the_outcomes_of_others_steer_the_risk(tmp_path: Path) -> None:
    with reader(sized(tmp_path / "t.db")) as db:
        assert site_control(db, ["aaic"], RISK, checkpoint_code=CODE).risk("aaic", "somebody") > RISK, "hardly any over"


def test_the_command_gives_a_line_to_paste_and_a_backtest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["recommend", "cpus", "--db", str(sized(tmp_path / "t.db")), "--format", "json"]
    assert main([*args, "--user", "bob", "--name", "feed"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["cpus_per_gpu"], row["line"]) == (4, "#SBATCH --cpus-per-gpu=4")
    assert main([*args, "--backtest"]) == 0
    said = json.loads(capsys.readouterr().out)
    tested = {row["number"]: row for row in said["rows"]}
    assert tested["what it had"]["saved"] == 0 and tested["safe"]["saved"] > 0.5
    assert any("1,728.0 GPU-hours were free but stranded by CPUs" in note for note in said["meta"]["notes"])
    assert main([*args, "--backtest", "--user", "bob"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert not any("stranded" in note for note in said["meta"]["notes"]), "of everybody's runs only"
    assert main(args) == 2, "whose job it is has to be named"
