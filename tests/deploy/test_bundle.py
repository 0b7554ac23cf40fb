"""From policy.toml to slurmctld's folder in one value: the file is read once, and what was read is what is put."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from adminkit.cli.main import main
from adminkit.deploy.bundle import read_bundle
from adminkit.deploy.program import shipped
from tests.economy.incentive_cases import good
from tests.support.builders import make_trace
from tests.support.fakes import Programs

POLICY = """version = 1
[exempt]
users = ["{user}"]
[[rules]]
name = "{rule}"
queues = ["gq"]
max_limit = "{hours}:00:00"
"""
CONFIG = """ClusterName = alpha
SlurmctldHost[0] = {host}
SlurmUser = root(0)
SLURM_CONF = {folder}/slurm.conf
JobSubmitPlugins = lua
PriorityType = priority/multifactor
PriorityWeightAge = 1000
PriorityMaxAge = 7-00:00:00"""


class Site(SimpleNamespace):
    """A policy.toml, the folder of slurm.conf, and a Slurm; `meanwhile` is what happens while slurmctld is asked."""

    def slurm(self, meanwhile: str = ":") -> None:
        self.programs.add(
            "scontrol",
            f'case "$*" in *config*) cat {self.folder}/config ;; *node*) {meanwhile}; echo NodeName=n1 CPUTot=4'
            " Partitions=gq ;; *partition*) echo PartitionName=gq State=UP MaxTime=3-00:00:00 ;; esac",
        )
        self.programs.add("sacctmgr", "echo 'root|Administrator'")
        self.programs.add("sprio", "exit 0")
        self.programs.add("sbatch", "echo 'Unable to contact slurm controller' >&2; exit 1")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "config").write_text(CONFIG.format(host=os.uname().nodename, folder=folder))
    monkeypatch.setenv("ADMINKIT_CONFIG", "")
    found = Site(folder=folder, policy=tmp_path / "policy.toml", programs=Programs(tmp_path / "bin", monkeypatch))
    found.policy.write_text(POLICY.format(user="root", rule="first", hours=24))
    found.slurm()
    return found


CHANGES = {
    "another policy": POLICY.format(user="daemon", rule="second", hours=48),
    "one that does not count": "version = 9\n",
    "nothing at all": "",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_in_the_file_meanwhile_is_not_installed(site: Site, tmp_path: Path, change: str) -> None:
    """Its users were looked up for the first text: half of each would be a policy that nobody wrote."""
    (tmp_path / "other.toml").write_text(CHANGES[change])
    assert main(["policy", "install", "--policy", str(site.policy), "--out", str(tmp_path / "still")]) == 0
    site.slurm(meanwhile=f"cat {tmp_path}/other.toml > {site.policy}")
    assert main(["policy", "install", "--policy", str(site.policy), "--out", str(tmp_path / "edited")]) == 0
    assert site.policy.read_text() == CHANGES[change], "it was changed on the way"
    still, edited = (read_bundle(tmp_path / name) for name in ("still", "edited"))
    assert edited.generations == still.generations
    assert '"first"' in edited.tables["policy"] and '"second"' not in edited.tables["policy"]


# once per command

_opened: list[str] = []
_watching: list[str] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if _watching and event == "open" and str(args[0]) == _watching[0]:
        _opened.append(event)


@pytest.fixture
def opened(site: Site) -> Iterator[list[str]]:
    """How often policy.toml was opened; Python never forgets such a hook, so there is one for all tests."""
    if not getattr(sys, "_adminkit_policy_hook", False):
        sys.addaudithook(_hook)
        sys._adminkit_policy_hook = True  # type: ignore[attr-defined]
    _opened.clear()
    _watching[:] = [str(site.policy)]
    yield _opened
    _watching.clear()


COMMANDS = [
    ["policy", "check"],
    ["policy", "explain"],
    ["policy", "try", "--user", "root", "--time", "60"],
    ["policy", "diff", "--installed", "{top}/there/adminkit"],
    ["policy", "replay", "--db", "{top}/trace.db"],
    ["policy", "install"],
    ["policy", "install", "--print-files"],
    ["policy", "install", "--out", "{top}/out"],
    ["recommend", "walltime", "--db", "{top}/trace.db", "--backtest"],
    ["feedback", "preview", "--sample", "--db", "{top}/trace.db"],
    ["incentives", "compute", "--db", "{top}/trace.db"],
    ["incentives", "show", "--db", "{top}/trace.db"],
    ["incentives", "install", "--db", "{top}/trace.db"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_reads_policy_toml_once(
    site: Site, opened: list[str], tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    make_trace(tmp_path / "trace.db", good())
    main(["policy", "install", "--policy", str(site.policy), "--out", str(tmp_path / "there")])
    opened.clear()
    code = main([*(word.format(top=tmp_path) for word in words), "--policy", str(site.policy)])
    assert (code, len(opened)) == (0, 1), capsys.readouterr().err


def test_a_bundle_that_was_carried_is_the_one_that_was_compiled(site: Site, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["policy", "install", "--policy", str(site.policy), "--out", str(out)]) == 0
    carried = read_bundle(out)
    assert carried.tables == {"policy": (out / "adminkit" / "policy.lua").read_text()}
    assert (carried.program, carried.program_in_place) == (shipped(), False)
    (out / "job_submit.lua").write_text("error('not this one')")
    assert read_bundle(out).program == shipped(), "the program is this host's own, whatever the folder has"
