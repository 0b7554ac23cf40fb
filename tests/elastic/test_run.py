"""`adminkit elastic run --apply`, as its timer runs it, where some of Slurm's programs do not answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.elastic.test_resize import LEFT, ORDERED, World


@pytest.mark.parametrize("fault", ["fails", "garbage", "empty"])
def test_what_was_begun_is_carried_on_and_said_where_nothing_new_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """Nor can the rules be asked, so the job is released with the GPUs that it had."""
    world = World(tmp_path, monkeypatch)
    (tmp_path / "adminkit.toml").write_text("")
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    monkeypatch.setenv("ADMINKIT_ACTS", str(world.log))
    monkeypatch.setenv("ADMINKIT_ELASTIC_PATIENCE", "900")
    world.put(1, ORDERED, "PENDING")
    world.put(2, ORDERED, "RUNNING", gpus=4)
    world.write(None, scontrol_show=fault)
    assert main(["elastic", "run", "--apply", "--db", str(tmp_path / "none.db"), "-f", "json"]) == 1
    said = capsys.readouterr()
    rows = [(row["job"], row["did"], row["gpus"]) for row in json.loads(said.out)["rows"]]
    assert rows == [("1", "refused", 1), ("1", "released", 1), ("2", "changed", 4)]
    assert "error: " in said.err
    assert {job["comment"] for job in world.read()["jobs"].values()} == {LEFT}
