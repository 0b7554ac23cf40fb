"""`--as-of WHEN`: each command that takes it answers as it does at WHEN on a trace that was cut then."""

from __future__ import annotations

import io
import json
import math
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.cli.main import main
from adminkit.demo import generate
from adminkit.trace.connect import reader
from tests.support.builders import make_trace
from tests.support.past import DAY, TODAY, USERS, crafted, cut, moments
from tests.support.study import study

#: Words of notes that depend on the host and the clock.
PASSING: Final = ("loaded by Lua", "Slurm was not asked")
#: Lines that say which moment it is, or that a command takes long.
ASIDE: Final = ("note: as of", "writing: ")

POLICY: Final = """version = 1
[incentives]
unknown_use = "count"
min_jobs = 3
min_days = 2
[[rules]]
name = "gq-day"
queues = ["gq"]
max_limit = "1-00:00:00"
from = 2026-02-01
"""
SETTINGS: Final = """[feedback]
clusters = ["aaic", "aaic-demo"]
domain = "example.org"
operators = ["ops@example.org"]
quiet_days = []
min_uid = 1
unused_hours = 1
holdout = 0.3
holdout_until = "2030-01-01"
"""


#: Every command that takes --as-of. {user}, {job}: of the trace at hand.
COMMANDS: Final = [
    "report accuracy --cluster {cluster}",
    "report accuracy --since 10d",
    "report accuracy --states all --min-elapsed 0 --class single-gpu --limit-source explicit",
    "report parallelism --states all",
    "report restarts --by user",
    "report restarts --by ended --since 30d",
    "report restarts --job {job}",
    "report feedback --days 7 --cluster {cluster}",
    "report soft-limits --by user --since 30d",
    "report extensions --by user",
    "recommend walltime --user {user} --queue gq --policy {policy}",
    "recommend walltime --backtest --policy {policy}",
    "recommend memory --user {user} --queue gq",
    "recommend memory --backtest",
    "incentives compute --cluster {cluster} --points-per-hour 60 --policy {policy}",
    "incentives show --cluster {cluster} --points-per-hour 60 --policy {policy}",
    "incentives show {user} --cluster {cluster} --points-per-hour 60 --policy {policy}",
    "policy replay --cluster {cluster} --policy {policy} --at 2026-01-31",
    "feedback preview --policy {policy}",
    "feedback preview --text --policy {policy}",
    "feedback preview --sample --policy {policy}",
    "feedback preview --sample --text --policy {policy}",
    "feedback run --policy {policy}",
]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's settings and policy, no Slurm, and a host that knows every user."""
    (tmp_path / "adminkit.toml").write_text(SETTINGS)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    names = {**USERS, **{5000 + nth: f"user{nth:03}" for nth in range(1, 65)}}
    monkeypatch.setattr("adminkit.users.name_of", names.get)
    return tmp_path


def typed(words: list[str], clock: int) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a command at that time."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setattr("time.time", lambda: float(clock))
        with redirect_stderr(io.StringIO()) as err:
            code = main(words)
    return code, out.getvalue(), err.getvalue()


def answer(words: list[str], path: Path, clock: int, at: int | None) -> Any:
    """What a command says, without what names the file, the moment or how long Lua took."""
    as_json = [] if "--text" in words else ["--format", "json"]
    code, out, err = typed([*words, "--db", str(path), *as_json, *([] if at is None else ["--as-of", f"@{at}"])], clock)
    lines = [line for line in err.replace(str(path), "FILE").splitlines() if not line.startswith(ASIDE)]
    if code or not as_json:
        return code, out, lines
    said = json.loads(out)
    assert said["meta"].pop("as_of") == at
    del said["meta"]["database"]
    said["meta"]["notes"] = [note for note in said["meta"]["notes"] if not any(word in note for word in PASSING)]
    return code, said, lines


def same(one: Any, other: Any) -> bool:
    """Equal; sums of fractions, which depend on the order of rows, to twelve digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def filled(path: Path, site: Path, at: int) -> list[list[str]]:
    """COMMANDS about a user and a job that the trace has at that moment."""
    with reader(path, at) as db:
        cluster, user = db.execute(
            "SELECT cluster, user FROM job WHERE end_time IS NOT NULL GROUP BY 1, 2 ORDER BY count(*) DESC"
        ).fetchone()
        many = "SELECT job_id_raw FROM job GROUP BY 1 ORDER BY count(*) DESC, sum(end_time IS NULL) DESC"
        (number,) = db.execute(many).fetchone()
    words = {"cluster": cluster, "user": user, "job": number, "policy": site / "policy.toml"}
    return [command.format(**words).split() for command in COMMANDS]


@pytest.mark.parametrize(
    ("seed", "many"),
    [(0, 1), (1, 2), (2, 1), *(pytest.param(seed, 2, marks=pytest.mark.soak) for seed in range(3, 30))],
)
def test_every_command_answers_as_on_the_cut_trace(site: Path, seed: int, many: int) -> None:
    path = crafted(site / "t.db", seed)
    for at in moments(seed, many):
        _compare(path, site, at)


def _compare(path: Path, site: Path, at: int) -> None:
    real = cut(path, site / "cut.db", at)
    for words in filled(path, site, at):
        shown, expected = answer(words, path, TODAY, at), answer(words, real, at, None)
        assert same(shown, expected), (words, at, shown, expected)


def test_the_demo_answers_as_the_cut_demo(site: Path) -> None:
    jobs = [replace(one, source="demo") for one in study()[9000:9500]]
    queues = [(generate.CLUSTER, name, generate.BEGIN, *limits[:2]) for name, limits in generate.QUEUES.items()]
    path = make_trace(site / "demo.db", jobs, queues)
    middle = sorted(one.end_time or 0 for one in jobs)[len(jobs) * 2 // 3]
    _compare(path, site, middle)


def test_each_command_would_say_something_else_of_the_whole_trace(site: Path) -> None:
    """Otherwise the comparisons above could not fail. A list of samples is of what had ended; their texts do differ."""
    alike = {command for command in COMMANDS if "--sample --policy" not in command}
    for seed, at in enumerate(moments(0, 12)):
        if not alike:
            break
        path = crafted(site / f"{seed}.db", seed)
        for command, words in zip(COMMANDS, filled(path, site, at), strict=True):
            if command in alike and not same(answer(words, path, TODAY, at), answer(words, path, at, None)):
                alike.remove(command)
    assert alike == set()


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        ("report accuracy --as-of tomorrow", 2, "--as-of tomorrow: ", "name a time before"),
        ("report accuracy --as-of tomorow", 2, "no such date: tomorow", "did you mean tomorrow?"),
        ("report accuracy --as-of 2026-13-01", 2, "not a date: 2026-13-01", "write 2026-01-31"),
        ("report accuracy --as-of 2020-01-01", 2, "no job of the trace was submitted by 2020", "first one was at 2026"),
        ("recommend walltime --user ada --as-of 9999999d", 2, "no job of the trace was submitted by", ""),
        ("incentives compute --out x --as-of 7d --points-per-hour 60", 2, "--out writes the", "leave out --out"),
        ("incentives install --as-of 7d", 2, "adminkit incentives install does not accept --as-of", "feedback preview"),
        ("policy install --as-of 7d", 2, "adminkit policy install does not accept --as-of", "feedback preview"),
        ("policy refresh --as-of 7d", 2, "adminkit policy refresh does not accept --as-of", "feedback preview"),
        ("feedback run --send --as-of 7d", 2, "--send sends what is due now", "leave out --send"),
        ("feedback resend --as-of 7d", 2, "adminkit feedback resend does not accept --as-of", "feedback preview"),
        ("feedback test a@example.org --as-of 7d", 2, "adminkit feedback test does not accept", "feedback preview"),
        ("findings --as-of", 2, "'--as-of' requires an argument", "name a time: --as-of 2026-01-31"),
        ("sync --as-of 7d", 2, "adminkit sync does not accept --as-of", "feedback preview"),
    ],
)  # fmt: skip
def test_what_cannot_be_or_acts_is_refused(site: Path, words: str, code: int, message: str, hint: str) -> None:
    path = crafted(site / "t.db", 0)
    before = path.read_bytes()
    database = ["--db", str(path)] if words.split()[0] in ("report", "recommend", "incentives") else []
    found, out, err = typed([*words.split(), *database], TODAY)
    first, _, second = err.partition("hint: ")
    assert (found, out) == (code, "")
    assert message in first and hint in second
    assert path.read_bytes() == before


def test_a_relative_moment_is_told_from_the_clock_and_everything_else_from_the_moment(site: Path) -> None:
    path = crafted(site / "t.db", 2)
    typed_at = ["report", "accuracy", "--since", "2d", "--db", str(path), "-f", "json", "--as-of", "60d"]
    code, out, _ = typed(typed_at, TODAY)
    meta = json.loads(out)["meta"]
    assert (code, meta["as_of"], meta["window"]["since"]) == (0, TODAY - 60 * DAY, TODAY - 62 * DAY)
    _, table, _ = typed([*typed_at[:6], "--as-of", "60d"], TODAY)
    assert [line for line in table.splitlines() if line.startswith("as of ")] != []
    _, table, _ = typed(typed_at[:6], TODAY)
    assert [line for line in table.splitlines() if line.startswith("as of ")] == []
