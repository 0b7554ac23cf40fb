"""The running configuration is asked once for all parts of a command, and again when the answer is old."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.slurm import cluster, controller, plugstack, priority, show_config
from tests.support.fakes import DATA, Programs

#: Whoever reads a part of the answer.
READERS: dict[str, Callable[[], object]] = {
    "the cluster's name": cluster.local_cluster,
    "slurmctld": controller.controller,
    "slurmctld, or its slurm.conf": controller.controller_or_conf,
    "how jobs are ranked": priority.ranking,
    "how steps are started": plugstack.setup,
}


class Counted:
    """A scontrol that counts how often it was asked for its configuration."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = folder / "asked"
        self.programs = Programs(folder / "bin", monkeypatch)
        self.says(f"cat {DATA}/scontrol-config.txt")

    def says(self, script: str) -> None:
        self.programs.add(
            "scontrol",
            f'case "$*" in "show config") echo asked >> {self.log}; {script} ;;\n'
            f"*partition*) cat {DATA}/scontrol-partitions.txt ;; -V) echo slurm 22.05.8 ;; esac",
        )

    @property
    def times(self) -> int:
        return self.log.read_text().count("asked") if self.log.exists() else 0


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setenv("ADMINKIT_CONFIG", "")
    return Counted(tmp_path, monkeypatch)


def test_all_readers_together_ask_once(scontrol: Counted) -> None:
    for read in READERS.values():
        read()
    assert scontrol.times == 1


def test_doctor_asks_once(scontrol: Counted, tmp_path: Path) -> None:
    for name in ("sacct", "sacctmgr", "sinfo", "sdiag"):
        scontrol.programs.add(name, 'test "$*" = -V && echo slurm 22.05.8; exit 0')
    main(["doctor", "--db", str(tmp_path / "none.db")])
    assert scontrol.times == 1


@pytest.mark.parametrize("reader", READERS)
def test_a_command_asks_for_itself_whatever_the_one_before_was_told(scontrol: Counted, reader: str) -> None:
    READERS[reader]()
    assert main(["--version"]) == 0
    READERS[reader]()
    assert scontrol.times == 2


def test_an_old_answer_does_not_count(scontrol: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [1000.0]
    monkeypatch.setattr("adminkit.slurm.show_config.time.monotonic", lambda: moment[0])
    seen = []
    for later in (0.0, show_config.KEPT_SECONDS - 1, 2.0, 1.0):
        moment[0] += later
        show_config.show_config()
        seen.append(scontrol.times)
    assert seen == [1, 1, 2, 2]


def test_whoever_waits_for_a_change_sees_it(scontrol: Counted) -> None:
    for number in range(1, 4):
        show_config.forget()
        show_config.show_config()
        assert scontrol.times == number


def test_another_slurm_conf_is_another_question(scontrol: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    show_config.show_config()
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/other.conf")
    show_config.show_config()
    assert scontrol.times == 2


def test_that_slurmctld_is_away_is_found_out_once(scontrol: Counted) -> None:
    scontrol.says("echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    for _ in range(3):
        with pytest.raises(AdminkitError, match="Unable to contact"):
            show_config.show_config()
    assert scontrol.times == 1
