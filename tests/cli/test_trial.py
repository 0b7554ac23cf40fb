"""adminkit trial … on the command line: previews that change nothing, refusals, and what goes into JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adminkit.cli import trial as commands
from adminkit.cli.main import main
from adminkit.deploy.trial import OVER, TRIAL
from adminkit.deploy.trial_file import load_plan
from adminkit.deploy.trial_state import LIVE, read_whole
from adminkit.deploy.trial_tables import how, refuse_old_tables
from adminkit.errors import AdminkitError
from adminkit.installed import data_file
from tests.support.trials import Tried, tried

FILE = """version = 1
[a]
name = "defaults"
[b]
name = "deep"
[b.slurm]
SchedulerParameters = { bf_window = 2880 }
[b.queues.gq]
MaxTime = "2-00:00:00"
"""


def ended_and_gone(folder: Path) -> None:
    """Nothing of a trial: neither its record, nor the mark that one is live."""
    (folder / TRIAL).unlink()
    (folder / LIVE).unlink(missing_ok=True)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """The host of a trial, at midnight of its first day, without Slurm's programs and without a trace."""
    folder = tmp_path / "site"
    folder.mkdir()
    found = tried(folder, monkeypatch)
    controller = SimpleNamespace(
        cluster="alpha", others=lambda: (), away="", conf=folder / "slurm.conf", folder=folder, plugins=("lua",)
    )
    monkeypatch.setattr(commands, "target_of", lambda *_: (found.target, controller))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ADMINKIT_DB", "")
    monkeypatch.chdir(tmp_path)
    at(monkeypatch, found.trial.begins)
    return found


def at(monkeypatch: pytest.MonkeyPatch, now: int) -> None:
    monkeypatch.setattr("adminkit.cli.trial.time.time", lambda: now)


Says = Callable[..., dict[str, Any]]


@pytest.fixture
def says(capsys: pytest.CaptureFixture[str]) -> Says:
    """What a command prints as JSON."""

    def run(*words: str, code: int = 0) -> dict[str, Any]:
        assert main(["trial", *words, "--format", "json"]) == code
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def notes(said: dict[str, Any]) -> str:
    return json.dumps(said["meta"])


PREVIEWS = (("status",), ("run",), ("restore",), ("stop",), ("stop", "--keep", "b"))


@pytest.mark.parametrize("words", PREVIEWS)
def test_without_apply_nothing_changes(
    site: Tried, says: Says, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """On a day of B on which A is still in place: also what a round would do."""
    at(monkeypatch, site.at("b"))
    before = {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
    said = says(*words, code=1)  # the lease ran out: no round was there
    assert {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()} == before
    parts = {row["part"]: row["is"] for row in said["rows"]}
    assert parts["policy"] == parts["PriorityWeightAge"] == parts["gq MaxTime"] == "A"
    assert ("nothing was done" in notes(said)) is (words != ("status",))


def test_a_trial_runs_by_its_commands(site: Tried, says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round, the lease, an end, and B again after it, with what to type into slurm.conf."""
    at(monkeypatch, site.at("b"))
    assert {row["is"] for row in says("run", "--apply")["rows"]} == {"B", "both"}
    assert "the lease has not run out" in notes(says("restore", "--apply"))
    at(monkeypatch, site.trial.ends + 60)
    assert OVER in notes(says("run", "--apply")) and site.is_whole("a")
    assert "no trial is running" not in notes(says("stop", "--keep", "b"))
    assert site.is_whole("a"), "a preview"
    said = notes(says("stop", "--keep", "b", "--apply"))
    assert site.is_whole("b")
    for words in ("PriorityWeightAge=20000", "PartitionName=gq in ", "MaxTime=1-00:00:00", "scontrol reconfigure"):
        assert words in said, words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("stop", "--keep", "c", "--apply"), "--keep c: no such side"),
        (("start", "none.toml"), "none.toml: no such file"),
        (("start", "trial.toml", "--days", "13"), "14"),
        (("start", "trial.toml", "--carry-over", "20h"), "leaves too little of a day"),
        (("start", "trial.toml", "--apply"), "another trial is running"),
    ],
)
def test_what_is_refused(site: Tried, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str) -> None:
    (site.folder.parent / "trial.toml").write_text(FILE)
    text = (site.folder / TRIAL).read_text()
    if why.startswith("leaves"):
        ended_and_gone(site.folder)
    assert main(["trial", *words]) != 0
    assert why in capsys.readouterr().err
    assert why.startswith("leaves") or (site.folder / TRIAL).read_text() == text


def test_stop_without_a_trial_says_so(site: Tried, capsys: pytest.CaptureFixture[str]) -> None:
    ended_and_gone(site.folder)
    for words in (("stop",), ("stop", "--keep", "b")):
        assert main(["trial", *words]) == 1
        assert "no trial is running" in capsys.readouterr().err


def test_a_plan_shows_the_days_by_the_names_of_the_file_and_writes_nothing(site: Tried, says: Says) -> None:
    ended_and_gone(site.folder)
    (site.folder.parent / "trial.toml").write_text(FILE)
    said = says("plan", "trial.toml", "--days", "14", "--seed", "1")
    assert len(said["rows"]) == 14 and {row["side"] for row in said["rows"]} == {"defaults", "deep"}
    assert "deep: queue gq: MaxTime: 3-00:00:00 becomes 2-00:00:00" in notes(said)
    assert not (site.folder / TRIAL).exists()


def test_start_writes_the_trial_down_with_the_names(site: Tried, says: Says) -> None:
    """Sides as they were: only the next round switches."""
    ended_and_gone(site.folder)
    (site.folder.parent / "trial.toml").write_text(FILE)
    says("start", "trial.toml", "--days", "14", "--seed", "1", "--apply")
    whole = read_whole(site.folder)
    assert whole is not None and whole.trial.names == ("defaults", "deep") and len(whole.trial.days) == 14
    assert "A is defaults, B is deep" in notes(says("status"))


def test_nobody_can_work_out_the_days_of_a_trial_from_its_date(site: Tried, says: Says) -> None:
    """The seed is drawn from the system's random numbers, and is in the record; typed, it gives the same days."""
    ended_and_gone(site.folder)
    (site.folder.parent / "trial.toml").write_text(FILE)
    said = [says("plan", "trial.toml") for _ in range(3)]
    seeds = [seed_in(one) for one in said]
    assert len(set(seeds)) == 3, "the same date, three seeds"
    assert site.trial.begins // 86_400 not in [seed + far for seed in seeds for far in range(-2, 3)]
    again = says("plan", "trial.toml", "--seed", str(seeds[0]))
    assert again["rows"] == said[0]["rows"]
    begun = says("start", "trial.toml", "--apply")
    whole = read_whole(site.folder)
    assert whole is not None and whole.trial.seed == seed_in(begun)


def seed_in(said: dict[str, Any]) -> int:
    found = re.search(r"seed (\d+); each weekday", notes(said))
    assert found
    return int(found[1])


def test_the_example_plans_a_trial(site: Tried, says: Says) -> None:
    ended_and_gone(site.folder)
    said = says("plan", str(data_file("etc", "trial.toml")))
    assert {row["side"] for row in said["rows"]} == {"today", "deeper backfill"}
    assert "bf_window=5760" in notes(said)


HEAD = "version = 1\n"


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("", "[incentives]\nmulti_gpu_hours = 3\n", "another [incentives] than"),
        ("", "[hints]\nenabled = false\n", "another [hints] than"),
        ("", "[soft_limits]\nenabled = true\n", "another [soft_limits] than"),
        ("[soft_limits]\nenabled = true\n", "[soft_limits]\nenabled = true\nquantile = 75\n", "another [soft_limits]"),
        ("[soft_limits]\nenabled = true\n", "", ""),
        ("[soft_limits]\nenabled = true\n", "[soft_limits]\nenabled = true\nwide = 50\n", ""),
        ("[hints]\nratio = 4\n", "[hints]\nratio = 4\n", ""),
    ],
)
def test_a_b_that_needs_other_tables_has_to_name_them(tmp_path: Path, a: str, b: str, words: str) -> None:
    """With the command that makes them. Turning soft limits off, and what the policy itself has, need none."""
    record = 'record = "admin_comment"\n'
    (tmp_path / "a b.toml").write_text(HEAD + record + a)
    (tmp_path / "b.toml").write_text(HEAD + record + b)
    file = tmp_path / "trial.toml"
    text = 'version = 1\n[a]\npolicy = "a b.toml"\n[b]\npolicy = "b.toml"\n'
    file.write_text(text)
    plan = load_plan(file, (26, 5, 3))
    if words:
        with pytest.raises(AdminkitError) as refused:
            refuse_old_tables(plan)
        assert words in refused.value.message
        made = f"adminkit incentives compute --policy {tmp_path}/b.toml --out {tmp_path}/tables-b"
        assert refused.value.hint == f'{made}; then [b] tables = "tables-b"'
    else:
        refuse_old_tables(plan)
    file.write_text(f'{text}tables = "made"\n')
    named = load_plan(file, (26, 5, 3))
    refuse_old_tables(named)
    assert how(named).endswith(f"--out {tmp_path}/made")
