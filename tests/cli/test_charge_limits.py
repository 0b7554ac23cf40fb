"""adminkit charge budget --enforce, --apply and --revoke, and the close that keeps limits in step; Slurm is faked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.slurm.show_config import forget
from adminkit.trace.connect import writer
from adminkit.trace.windows import RecordedWindow, record
from tests.support.builders import HOUR, job, make_trace

JANUARY, FEBRUARY = 1_767_225_600, 1_769_904_000  # of 2026, UTC
NOW = FEBRUARY + 5 * HOUR
CONFIG = """ClusterName = aaic
AccountingStorageEnforce = {enforce}
PriorityType = priority/multifactor
PriorityDecayHalfLife = {half_life}
PriorityUsageResetPeriod = NONE
"""


class Slurm:
    """scontrol and sacctmgr on PATH; what sacctmgr is told to set, scontrol then shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        self.limit("N", 100)
        self.config("associations,limits,safe", "00:00:00")
        (folder / "told").write_text("")
        for name, text in {
            "scontrol": f'case "$*" in *config*) cat {folder}/config;; *) cat {folder}/assoc;; esac',
            "sacctmgr": f'case "$*" in *modify*) test ! -e {folder}/refuses || exit 1; echo "$*" >> {folder}/told;'
            ' for word; do case "$word" in GrpTRESMins=*) n=${word##*=};; esac; done; test $n = -1 && n=N;'
            f' sed -i "s/gpu=[0-9N]*(/gpu=$n(/" {folder}/assoc;; esac',
        }.items():
            program = folder / "bin" / name
            program.write_text(f"#!/bin/sh\n{text}\nexit 0\n")
            program.chmod(0o755)

    def limit(self, most: str, used: int) -> None:
        head = "ClusterName=aaic Account=vision UserName= Partition= Priority=0 ID=4\n"
        (self.folder / "assoc").write_text(f"{head}    GrpTRESMins=cpu=N(9),gres/gpu={most}({used})\n")

    def config(self, enforce: str, half_life: str) -> None:
        (self.folder / "config").write_text(CONFIG.format(enforce=enforce, half_life=half_life))
        forget()

    @property
    def told(self) -> list[str]:
        return (self.folder / "told").read_text().splitlines()


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """Vision has used an hour of a GPU in January; its budget is 100 GPU-hours."""
    path = make_trace(tmp_path / "t.db", [job(1)])
    with writer(path) as db:
        record(db, "aaic", "job", RecordedWindow(JANUARY, NOW, False, NOW))
    (tmp_path / "charge.toml").write_text(
        'version = 1\nscheme = "s"\n[schemes.s]\nformula = "gpu_hours"\nunit = "points"\n'
        '[[budgets]]\naccount = "vision"\namount = 100\nfrom = "2026-01"\n'
    )
    made = Slurm(tmp_path / "slurm")
    for name, value in {
        "ADMINKIT_DB": path, "ADMINKIT_ACTS": tmp_path / "acts.jsonl", "ADMINKIT_CHARGE": tmp_path / "charge.toml",
        "PATH": f"{tmp_path}/slurm/bin:/usr/bin:/bin",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("time.time", lambda: float(NOW))
    return made


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["charge", *words, "-f", "json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else err


def test_a_preview_changes_nothing(slurm: Slurm, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = run(capsys, "budget", "--enforce")
    (row,) = found["rows"]
    assert (code, row["used"], row["limit"], row["new_limit"], row["does"]) == (0, 100, None, 6100, "sets the limit")
    assert "nothing was changed; --apply does it" in found["meta"]["notes"]
    assert slurm.told == [] and not (tmp_path / "acts.jsonl").exists()
    assert main(["charge", "budget", "--enforce", "--revoke"]) == 2


def test_it_is_applied_kept_in_step_at_a_close_and_revoked(
    slurm: Slurm, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, "budget", "--apply")[0] == 0
    assert slurm.told == ["-i modify account where name=vision cluster=aaic set GrpTRESMins=gres/gpu=6100"]
    slurm.limit("6100", 40)  # Slurm has forgotten 60 minutes
    code, found = run(capsys, "close", "2026-01", "--apply")
    assert code == 0 and "budgets in Slurm are in step: 1" in found["meta"]["notes"]
    assert slurm.told[1:] == ["-i modify account where name=vision cluster=aaic set GrpTRESMins=gres/gpu=5980"]
    assert run(capsys, "budget", "--revoke")[1]["rows"][0]["does"] == "takes the limit away" and len(slurm.told) == 2
    assert run(capsys, "budget", "--revoke", "--apply")[1]["rows"][0]["does"] == "took the limit away"
    assert slurm.told[-1].endswith("GrpTRESMins=gres/gpu=-1")
    acts = [json.loads(line)["what"] for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    assert acts == ["charge budget set", "charge budget set", "charge close", "charge budget revoked"]


def test_a_close_stands_whatever_slurm_says(slurm: Slurm, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "budget", "--apply")[0] == 0
    slurm.limit("6100", 40)
    (slurm.folder / "refuses").touch()
    code, found = run(capsys, "close", "2026-01", "--apply")
    assert code == 0 and "was not changed: couldn't run sacctmgr" in " ".join(found["meta"]["notes"])
    assert run(capsys, "statement")[1]["rows"], "it is closed"


def test_a_close_asks_slurm_nothing_where_no_limit_is_in_force(
    slurm: Slurm, capsys: pytest.CaptureFixture[str]
) -> None:
    (slurm.folder / "bin" / "scontrol").unlink()
    code, found = run(capsys, "close", "2026-01", "--apply")
    assert code == 0 and not [note for note in found["meta"]["notes"] if "Slurm" in note]


@pytest.mark.parametrize(
    ("enforce", "half_life", "said"),
    [
        ("associations", "00:00:00", "Slurm does not enforce GrpTRESMins here"),
        ("associations,limits", "00:00:00", "Slurm ends running jobs when a limit is reached"),
        ("limits,safe", "7-00:00:00", "Slurm forgets usage (half-life 7-00:00:00)"),
    ],
)
def test_how_slurm_counts_is_said(
    enforce: str, half_life: str, said: str, slurm: Slurm, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.config(enforce, half_life)
    assert said in " ".join(run(capsys, "budget", "--enforce")[1]["meta"]["notes"])


def test_a_limit_that_cannot_be_set_is_an_exit_code(slurm: Slurm, capsys: pytest.CaptureFixture[str]) -> None:
    (slurm.folder / "refuses").touch()
    code, found = run(capsys, "budget", "--apply")
    assert code == 1 and "was not changed" in found["meta"]["notes"][-1]
