"""The jobs of a search: an array for each round, one after the other, and which share each task has."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.tune.engine import Shard
from adminkit.tune.race import Round
from adminkit.tune.shards import shard_of, submitted
from tests.support.fakes import Programs

ROUNDS = [Round(0, 9, 1), Round(3, 0, 20)]


@pytest.mark.parametrize(
    ("text", "index", "shard"),
    [("0/4", "0", Shard(0, 0, 4)), ("2/4", "3", Shard(2, 3, 4)), ("10/1", "0", Shard(10, 0, 1))],
)
def test_a_task_knows_its_share(text: str, index: str, shard: Shard) -> None:
    assert shard_of(text, {"SLURM_ARRAY_TASK_ID": index}) == shard


@pytest.mark.parametrize(
    ("text", "index"),
    [("0/4", None), ("0/4", "4"), ("0", "0"), ("/4", "0"), ("0/", "0"), ("-1/4", "0"), ("0/0", "0"), ("0/4", "x")],
)
def test_anything_else_is_refused(text: str, index: str | None) -> None:
    with pytest.raises(UsageError, match="no share of a round"):
        shard_of(text, {} if index is None else {"SLURM_ARRAY_TASK_ID": index})


def sbatch(tmp_path: Path, programs: Programs, fails_at: int = 99) -> Path:
    """Writes what it gets, a line each, and counts."""
    log = shlex.quote(str(tmp_path / "log"))
    programs.add(
        "sbatch",
        f"""
n=$(cat {log}.n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > {log}.n
[ $n = {fails_at} ] && {{ echo 'sbatch: error: Job violates accounting/QOS policy' >&2; exit 1; }}
echo "$* $(tail -1)" >> {log}; echo $((100 + n))""",
    )
    return tmp_path / "log"


def test_every_round_waits_for_the_one_before_and_the_answer_for_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sbatch(tmp_path, Programs(tmp_path / "bin", monkeypatch))
    ids = submitted(["adminkit", "tune"], ["--format", "json"], ROUNDS, 4, tmp_path, tmp_path, ["--qos=low"])
    assert ids == ["101", "102", "103"]
    first, second, last = log.read_text().splitlines()
    assert "--dependency" not in first and "--array=0-3" in first and "--qos=low" in first
    assert first.endswith("exec adminkit tune --shard 0/4")
    assert "--dependency=afterok:101" in second and second.endswith("--shard 1/4")
    assert "--dependency=afterok:102" in last and "--array" not in last
    assert last.endswith("exec adminkit tune --format json")


def test_where_slurm_refuses_what_was_submitted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sbatch(tmp_path, Programs(tmp_path / "bin", monkeypatch), fails_at=2)
    with pytest.raises(AdminkitError, match="violates accounting/QOS policy") as caught:
        submitted(["adminkit", "tune"], [], ROUNDS, 4, tmp_path, tmp_path)
    assert "scancel 101" in caught.value.hint
