"""Timers that act, where a question about the whole site is not answered: one error, exit code 1, and nothing is done.

What becomes of questions about one job, account or user is tested with each timer; these stop none of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from adminkit.cli.main import main
from adminkit.slurm import process
from tests.support.fakes import DATA, Programs

#: What a call does: it fails, prints what it never prints, or hangs.
FAULTS = {"fails": "echo it broke >&2; exit 1", "nonsense": "printf 'x|y\\n\\037 7=\\n'; exit 0", "hangs": "sleep 600"}

GUARD, REFRESH, ELASTIC, POINTS = (
    ("soft-limits", "guard", "--apply"),
    ("policy", "refresh", "--apply"),
    ("elastic", "run", "--apply"),
    ("incentives", "install", "--apply"),
)
#: (the timer, a call of its about the whole site)
CALLS: list[tuple[tuple[str, ...], str]] = [
    (ELASTIC, "squeue"),
    (GUARD, "scontrol show config"),
    (GUARD, "scontrol -o -d --all show node"),
    (GUARD, "scontrol show federation"),
    (GUARD, "scontrol -o --all show partition"),
    (GUARD, "scontrol -o --all show reservation"),
    (GUARD, "scontrol show assoc_mgr"),
    (GUARD, "squeue"),
    (REFRESH, "scontrol show config"),
    (REFRESH, "sacctmgr -n -P show user"),
    (POINTS, "scontrol show config"),
]

SCONTROL = f"""case "$*" in
"show config") cat {DATA / "scontrol-config.txt"} ;;
"-o -d --all show node") echo 'NodeName=n1 Partitions=gq State=IDLE' ;;
"show federation") echo 'There are no federations.' ;;
"-o --all show partition") echo 'PartitionName=gq Nodes=n1 DefaultTime=NONE MaxTime=1-00:00:00' ;;
"-o --all show reservation") echo 'ReservationName=maint StartTime=9999999999 Nodes=n1 Flags=MAINT' ;;
"show assoc_mgr"*) printf 'Association Records\\n\\nQOS Records\\n\\nQOS=normal(1)\\n' ;;
esac"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Programs that answer what a site with nothing in its queues answers."""
    monkeypatch.setenv("ADMINKIT_CONFIG", "")
    monkeypatch.setenv("ADMINKIT_DB", str(tmp_path / "none.db"))
    monkeypatch.setenv("ADMINKIT_ACTS", str(tmp_path / "acts.jsonl"))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    return Programs(tmp_path / "bin", monkeypatch)


def put(slurm: Programs, monkeypatch: pytest.MonkeyPatch, call: str, fault: str) -> list[str]:
    """The programs, of which one call comes to that, and is not waited for; what they are asked from now on."""
    answers = {"scontrol": SCONTROL, "squeue": ":", "sacctmgr": "printf 'root|Administrator\\n'", "sbatch": "exit 1"}
    for name, script in answers.items():
        slurm.add(name, f'case "{name} $*" in\n"{call}"*) {fault} ;;\nesac\n{script}')
    asked, real = [], process.spool

    def spool(
        argv: Sequence[str], target: IO[bytes], timeout: float = process.TIMEOUT, seal: str = "", typed: str = ""
    ) -> float:
        asked.append(" ".join(argv))
        hangs = fault == FAULTS["hangs"] and asked[-1].startswith(call)
        return real(argv, target, 0.2 if hangs else timeout, seal, typed)

    monkeypatch.setattr(process, "spool", spool)
    return asked


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("timer", "call"), CALLS, ids=[f"{' '.join(timer)}: {call}" for timer, call in CALLS])
def test_a_question_about_the_whole_site(
    slurm: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    timer: tuple[str, ...],
    call: str,
    fault: str,
) -> None:
    folder = tmp_path / "etc"
    (folder / "adminkit").mkdir(parents=True)
    (tmp_path / "tables").mkdir()
    more = {ELASTIC: [], POINTS: ["--folder", str(folder), "--from", str(tmp_path / "tables")]}
    asked = put(slurm, monkeypatch, call, FAULTS[fault])
    assert main([*timer, *more.get(timer, ["--folder", str(folder)])]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("error: ")) == ("", 1), said
    assert asked[-1].startswith(call), "it was asked, and nothing after it"
    assert list((folder / "adminkit").iterdir()) == []
    log = tmp_path / "acts.jsonl"
    assert not log.exists() or log.read_text() == ""
