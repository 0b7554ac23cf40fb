"""Answers: known effects are found with their sign, and what changes nothing is said to change nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.recommend.menu import Offer
from adminkit.simulate.answer import Answer, Effort, answer, plan_of
from adminkit.simulate.case import Case
from adminkit.simulate.change import Sources
from adminkit.simulate.compare import LESS, MORE, NO_CHANGE, Row
from adminkit.simulate.core import Request, Schedule, simulate
from adminkit.simulate.scenario import scenarios_of
from tests.simulate.cases import many

ROOT = Path(__file__).parents[2]


def asked(text: str, case: Case | None = None, keep: Path | None = None, **parts: object) -> Answer:
    full = f"version = 1\n{text}"
    scenarios = scenarios_of(tomllib.loads(full), "s.toml", full)
    sources = Sources(case or many(), Path(), Offer())
    effort = Effort(20, cores=2, keep=keep)
    return answer(plan_of(scenarios, sources, effort), effort, **parts)  # type: ignore[arg-type]


def scenario(kind: str, keys: str, name: str = "it") -> str:
    return f'[[scenarios]]\nname = "{name}"\nkind = "{kind}"\n{keys}\n'


def row(found: Answer, measure: str = "mean_wait", part: str = "all", value: str | None = None) -> Row:
    return next(one for one in found.rows if (one.measure, one.part) == (measure, part) and value in (None, one.value))


#: (kind, keys, verdict, why)
EFFECTS = [
    ("nodes", "factor = 2", LESS, "twice the processors"),
    ("nodes", "factor = 0.75", MORE, "fewer processors"),
    ("load", "factor = 0.7", LESS, "fewer jobs"),
    ("load", "factor = 1.3", MORE, "more jobs"),
    ("load", 'factor = 1.5\nmethod = "compress"', MORE, "the same jobs in a shorter time"),
    ("scheduler", "set = { order = 0 }", NO_CHANGE, "what is so today"),
    ("load", "factor = 1", NO_CHANGE, "as many jobs"),
    ("queue", 'queue = "gq"\nmax_limit = "7-00:00:00"', NO_CHANGE, "no job is above it"),
]
ON_NODES = [
    ("nodes", "factor = 2", LESS, "twice the nodes"),
    ("nodes", "factor = 0.75", MORE, "fewer nodes"),
    ("load", "factor = 1.3", MORE, "more jobs"),
    ("checkpoint", 'max_limit = "2-00:00:00"', NO_CHANGE, "no job is above it"),
    ("queue", 'queue = "gq"\nnodes = 3', MORE, "fewer nodes for the queue"),
    ("multi-node", 'share = 0.9\nnodes = 3\nwork = "more"', MORE, "more work"),
]


def verdicts(effects: list[tuple[str, str, str, str]], case: Case) -> dict[str, str]:
    """Of the mean wait of all jobs, by why; today runs once for all of them."""
    found = asked("".join(scenario(kind, keys, why) for kind, keys, _, why in effects), case)
    return {one.scenario: one.verdict for one in found.rows if (one.measure, one.part) == ("mean_wait", "all")}


def test_a_known_effect_has_its_sign() -> None:
    assert verdicts(EFFECTS, many()) == {why: verdict for _, _, verdict, why in EFFECTS}


def on_nodes() -> Case:
    """Four nodes of a CPU each, and jobs on one to three of them."""
    plain = many()
    size = plain.column("procs").tolist()
    queues, nodes = [{"max_limit": 86_400}], [{"count": 4, "cpus": 1}]
    return many(
        model="slurm", settings={}, queues=[1] * 300, columns={"nodes": size, "cpus": size}, site=(queues, nodes)
    )


def test_a_known_effect_has_its_sign_in_the_slurm_model() -> None:
    assert verdicts(ON_NODES, on_nodes()) == {why: verdict for _, _, verdict, why in ON_NODES}


def test_what_changes_nothing_runs_today_once_and_has_no_width() -> None:
    runs: list[Request] = []

    def counted(request: Request, progress: object = None) -> Schedule:
        runs.append(request)
        return simulate(request)

    found = row(asked(scenario("load", "factor = 1"), run=counted))
    assert (found.change, found.low, found.high) == (0, 0, 0)
    assert len(runs) == 20


def test_each_interval_holds_its_change_and_each_verdict_its_sign() -> None:
    found = asked(scenario("load", "factor = [0.8, 1.2]"))
    for one in found.rows:
        assert one.low is not None and one.change is not None and one.high is not None
        assert one.low <= one.change <= one.high
        assert one.verdict != LESS or one.change < 0
        assert one.verdict != MORE or one.change > 0


def test_the_same_question_has_the_same_answer_and_another_seed_another_one() -> None:
    text = scenario("load", "factor = 1.1")
    assert asked(text).rows == asked(text).rows
    full = f"version = 1\n{text}"
    sources = Sources(many(), Path(), Offer())
    effort = Effort(20, seed=99)
    other = answer(plan_of(scenarios_of(tomllib.loads(full), "s.toml", full), sources, effort), effort)
    assert other.rows != asked(text).rows


def test_finished_replicates_are_not_run_again(tmp_path: Path) -> None:
    runs: list[Request] = []

    def counted(request: Request, progress: object = None) -> Schedule:
        runs.append(request)
        return simulate(request)

    text = scenario("nodes", "factor = 2")
    first = asked(text, keep=tmp_path, run=counted)
    assert len(runs) == 40
    assert asked(text, keep=tmp_path, run=counted) == first
    assert len(runs) == 40
    more = asked(text + scenario("load", "factor = 1.2", "more"), keep=tmp_path, run=counted)
    assert len(runs) == 80, "a scenario that is new runs, and today beside it"
    assert [one for one in more.rows if one.scenario == "it" and one.measure == "killed"]


def test_what_is_done_never_falls_and_ends_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a scenario has more jobs than today, or fewer."""
    monkeypatch.setattr("adminkit.simulate.replicates._LOOK", 0.001)
    told: list[tuple[float, float | None]] = []
    text = scenario("load", "factor = [0.5, 3]") + scenario("checkpoint", 'max_limit = "1h"', "cut")
    asked(text, many(2000), tick=lambda done, total, jobs: told.append((done, total)))
    done = [one for one, _ in told]
    assert done == sorted(done)
    assert told[-1] == (20 * 4 * 2000, 20 * 4 * 2000)


def test_a_replicate_that_was_damaged_is_run_again(tmp_path: Path) -> None:
    text = scenario("nodes", "factor = 2")
    first = asked(text, keep=tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 20
    files[0].write_text('{"parts"')
    files[1].write_text("[]")
    assert asked(text, keep=tmp_path) == first


def test_another_core_makes_other_replicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = scenario("nodes", "factor = 2")
    asked(text, keep=tmp_path)
    monkeypatch.setattr("adminkit.simulate.answer.program_digest", lambda: b"another")
    asked(text, keep=tmp_path)
    assert len(list(tmp_path.iterdir())) == 40


KILLED = """
import sys
from pathlib import Path
from tests.simulate.test_answer import asked, scenario
from tests.simulate.cases import many
text = scenario("nodes", "factor = [1.5, 2]") + scenario("load", "factor = 1.1", "more")
found = asked(text, many(3000), keep=Path(sys.argv[1]))
print(*found.rows, sep="\\n")
"""


def test_a_kill_in_the_middle_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    def start(folder: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", KILLED, str(tmp_path / folder)]
        return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE)

    whole = start("whole").communicate()[0]
    cut = start("cut")
    folder = tmp_path / "cut"
    while cut.poll() is None and len(list(folder.glob("*.json"))) < 5:
        time.sleep(0.005)
    os.kill(cut.pid, signal.SIGKILL)
    cut.communicate()
    assert cut.returncode == -signal.SIGKILL
    kept = list(folder.glob("*.json"))
    assert 5 <= len(kept) < 60
    for one in kept:
        json.loads(one.read_text())
    assert start("cut").communicate()[0] == whole
    assert whole.count(b"\n") > 10


def test_a_folder_that_cannot_be_written_to_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AdminkitError, match="couldn't keep a replicate in") as caught:
        asked(scenario("nodes", "factor = 2"), keep=tmp_path / "file" / "folder")
    assert caught.value.hint == "name another folder with --keep"


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root can own nothing there")
def test_root_keeps_nothing_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(AdminkitError, match="theirs/simulate belongs to uid 12345"):
        asked(scenario("nodes", "factor = 2"), keep=tmp_path / "theirs" / "simulate")
    assert not (tmp_path / "theirs" / "simulate").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_results_are_not_taken_from_a_folder_in_which_others_may_write(tmp_path: Path, mode: int) -> None:
    """They could put results there under the names of those that are asked for."""
    folder = tmp_path / "keep"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(AdminkitError, match="others may write in"):
        asked(scenario("nodes", "factor = 2"), keep=folder)
    assert not list(folder.iterdir())
