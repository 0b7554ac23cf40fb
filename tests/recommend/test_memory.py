"""Memory to ask for: the need of a run, and what is recommended and how often it is too little."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.job import Job, Step
from adminkit.recommend.backtest import REQUEST, SAFE
from adminkit.recommend.memory import MENU, RISK, backtest, memory, site_control
from adminkit.reports.recommend_memory import typed
from adminkit.stats.peaks import MIB, Peaks, latest, peak
from adminkit.stats.runs import Kind, Run
from adminkit.trace.connect import reader
from adminkit.trace.sight import shadow
from tests.support.builders import HOUR, MONDAY, job
from tests.support.uses import GIB, make_used, step_of

ADA = Kind("aaic", "ada", "fit", "gq", 1, 8, 1)
LARGE = 64 * GIB


def in_mib(state: str, used: int | None, had: int | None = 8192) -> Run | None:
    return peak(ADA, 1, None, MONDAY, MONDAY + HOUR, state, 7, had, had, used)


@pytest.mark.parametrize(
    ("state", "used", "had", "need", "ended", "why"),
    [
        ("COMPLETED", 4 * GIB, 8192, 4096, "COMPLETED", "its peak"),
        ("COMPLETED", 4 * GIB + 1, 8192, 4097, "COMPLETED", "rounded up"),
        ("COMPLETED", None, 8192, None, None, "unknown stays unknown"),
        ("COMPLETED", 0, 8192, None, None, "a peak of 0 was not sampled"),
        ("COMPLETED", 12 * GIB, 8192, 8191, "COMPLETED", "the bound of a peak is above what was enough"),
        ("COMPLETED", 4 * GIB, None, 4096, "COMPLETED", "without a limit"),
        ("OUT_OF_MEMORY", 7 * GIB, 8192, 8192, "TIMEOUT", "killed before it was sampled: at least its memory"),
        ("OUT_OF_MEMORY", None, 8192, 8192, "TIMEOUT", "its peak need not be known"),
        ("OUT_OF_MEMORY", None, None, None, None, "nothing is known"),
        ("FAILED", 2 * GIB, 8192, 2048, "CANCELLED", "it may have needed more later"),
        ("TIMEOUT", 2 * GIB, 8192, 2048, "CANCELLED", "so may one that ran out of time, but not out of memory"),
    ],
)
def test_what_a_run_needed(
    state: str, used: int | None, had: int | None, need: int | None, ended: str | None, why: str
) -> None:
    run = in_mib(state, used, had)
    assert (None if run is None else (run.elapsed, run.state)) == (None if need is None else (need, ended)), why


def ones(number: int, used: int | None, **changes: object) -> tuple[Job, list[Step]]:
    one = job(number, user="ada", job_name="fit", mem=LARGE, req_mem=LARGE, **changes)
    return one, [] if used is None else [step_of(one, nodes=1, tasks=1, max_rss=used)]


def made(path: Path, runs: list[tuple[Job, list[Step]]]) -> Path:
    return make_used(path / "t.db", [one for one, _ in runs], [step for _, steps in runs for step in steps])


def test_peaks_are_of_a_node_and_the_rest_is_counted(tmp_path: Path) -> None:
    two, batch = ones(2, None, nodes=2)[0], ones(3, None, nodes=2)[0]
    runs = [
        ones(1, 3 * GIB),
        (two, [step_of(two, "0", nodes=2, tasks=4, max_rss=2 * GIB)]),
        (batch, [step_of(batch, "batch", nodes=1, tasks=1, max_rss=2 * GIB)]),
        ones(4, None),
    ]
    with reader(made(tmp_path, runs)) as db:
        peaks = Peaks(db, (), (), 85)
        found = [(one.job_id_raw, one.elapsed, one.kind.req_limit) for one in peaks.runs()]
    assert found == [(1, 3072, 65536), (2, 4096, 32768)], "half of the tasks and half of the memory is on a node"
    assert peaks.unknown == 2, "the batch step alone says nothing of the second node, and no step says nothing"


def history(seed: int, many: int, drift: float = 0.0) -> list[Run]:
    """Runs of twenty users, each an hour after the other of its user; what is above 64 GiB ran out of memory."""
    luck, found = random.Random(seed), []
    for number in range(many):
        user, start = number % 20, MONDAY + number * 180
        need = int(luck.lognormvariate(9 + user / 20 + drift * number / many, 0.4)) + 1
        state, used = ("OUT_OF_MEMORY", None) if need > 65536 else ("COMPLETED", need * MIB)
        kind = ADA._replace(user=f"u{user}")
        run = peak(kind, user, None, start, start + 120, state, number, 65536, 65536, used)
        assert run is not None
        found.append(run)
    return found


@pytest.mark.parametrize("drift", [0.0, 0.5])
def test_the_share_of_runs_that_need_more_is_the_risk(drift: float) -> None:
    """Also where needs grow by half: the outcomes steer the risk."""
    tested = backtest(history(1, 4000, drift), RISK)
    scores = {one.method: one for one in tested.scores}
    assert scores[SAFE].over / tested.runs == pytest.approx(RISK, abs=0.015)
    assert scores[SAFE].asked < 0.7 * scores[REQUEST].asked


def test_a_size_is_on_the_menu_and_has_a_measured_risk() -> None:
    runs = history(2, 2000)
    advice = memory(runs, Kind("aaic", "u3", "fit"), RISK)
    assert advice.limit in MENU
    assert advice.risk is not None and 0 < advice.risk <= 2 * RISK
    needs = sorted(run.elapsed for run in runs if run.kind.user == "u3")
    assert advice.limit >= needs[int(0.9 * len(needs))]


def test_runs_that_all_ran_out_of_memory_give_no_size() -> None:
    killed = [
        peak(ADA, 1, None, MONDAY + k * HOUR, MONDAY + k * HOUR + 60, "OUT_OF_MEMORY", k, 8192, 8192, None)
        for k in range(40)
    ]
    assert memory([one for one in killed if one], ADA, RISK).limit is None


@pytest.mark.parametrize(("mib", "line"), [(512, "512M"), (1024, "1G"), (1536, "1536M"), (98304, "96G")])
def test_a_size_is_typed_as_sbatch_takes_it(mib: int, line: str) -> None:
    assert typed(mib) == line


def test_the_outcomes_of_all_users_steer_the_size_of_one() -> None:
    """Where others' sizes were too small, this one's is larger."""
    runs = [run for run in history(3, 3000) if run.kind.user == "u3"]
    sizes = [memory(runs, Kind("aaic", "u3", "fit"), RISK, aim).given.safe or 0 for aim in (0.2, 0.05, 0.01)]
    assert 0 < sizes[0] < sizes[1] <= sizes[2]


def test_the_control_is_of_everybodys_last_runs_whoever_asks(tmp_path: Path) -> None:
    """Also the needs of runs with several steps, which SQL asks Python for."""
    runs = [ones(k, (3 + k % 3) * GIB) for k in range(1, 40)]
    two = ones(50, 2 * GIB)[0]
    runs.append((two, [step_of(two, "0", tasks=1, max_rss=2 * GIB), step_of(two, "1", tasks=1, max_rss=3 * GIB)]))
    path = made(tmp_path, runs)
    with reader(path) as db:
        everybodys = list(latest(db, "aaic", checkpoint_code=85))
        control = site_control(db, ["aaic"], RISK, checkpoint_code=85)
        assert len(everybodys) == 40 and everybodys[-1].elapsed == 5 * 1024, "both steps ran at one time"
        assert [*Peaks(db, (), (), 85).runs()] == everybodys
    with reader(path) as db:
        shadow(db, own=True, as_of=None)
        assert [*Peaks(db, (), (), 85).runs()] == [], "none is this user's"
        assert list(latest(db, "aaic", checkpoint_code=85)) == everybodys
        own = site_control(db, ["aaic"], RISK, checkpoint_code=85)
        assert own.risk("aaic", "me") == control.risk("aaic", "me")
        assert RISK * 0.05 <= own.risk("aaic", "me") <= RISK * 4
        assert 0 < len(list(latest(db, "aaic", checkpoint_code=85, many=5))) <= 6
        assert list(latest(db, "aaic", acting=True, checkpoint_code=85)) == everybodys


def test_the_command_gives_a_line_to_paste_and_a_backtest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path, [ones(k, (3 + k % 3) * GIB, elapsed=50) for k in range(1, 80)] + [ones(99, None)])
    args = ["recommend", "memory", "--db", str(path), "--format", "json"]
    assert main([*args, "--user", "ada", "--name", "fit"]) == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = said["rows"]
    assert (row["mem"], row["line"], row["similar"]) == (6 * GIB, "#SBATCH --mem=6G", "user, job name")
    assert said["meta"]["excluded"] == {"without a known peak": 1}
    assert main([*args, "--backtest"]) == 0
    tested = {row["size"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert tested["own request"]["mean"] == LARGE
    assert tested["safe"]["saved"] > 0.5
    assert main(args) == 2, "whose job it is has to be named"
