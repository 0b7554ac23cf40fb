"""What can be said of Debian's packages before they are built; installed.py has the rest."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import adminkit
from adminkit import actions
from adminkit.deploy import files
from adminkit.feedback import prefs
from adminkit.trace import connect
from tests.packages import where
from tests.packages.where import ROOT

DEBIAN = ROOT / "debian"
UNITS = sorted((ROOT / "etc/systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]


def paragraphs() -> list[dict[str, str]]:
    """debian/control: the source, then each package; a field's further lines are joined to its first."""
    parts = (DEBIAN / "control").read_text().strip().split("\n\n")
    return [dict(re.findall(r"^(\S+): ?((?:.*)(?:\n[ \t].*)*)", part, re.MULTILINE)) for part in parts]


def pins(path: Path) -> dict[str, list[str]]:
    """Name -> releases; several where they differ by Python."""
    found: dict[str, list[str]] = {}
    for name, release in re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(release)
    return found


def test_there_are_two_packages_and_the_plugin_says_which_slurm() -> None:
    source, *packages = paragraphs()
    assert source["Source"] == "adminkit"
    assert [one["Package"] for one in packages] == ["adminkit", "slurm-spank-adminkit"]
    assert {one["Architecture"] for one in packages} == {"any"}, "both hold a compiled program"
    assert "${slurm:Depends}" in packages[1]["Depends"]
    assert "${python3:Depends}" in packages[0]["Depends"]


def test_the_first_entry_of_the_changelog_is_this_release() -> None:
    first = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert first.startswith(f"adminkit ({adminkit.__version__}) ")


def test_every_wheel_is_pinned_by_its_hash_to_a_release_that_adminkit_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = pins(ROOT / "requirements.txt")
    extras = project["optional-dependencies"]
    for text in (*project["dependencies"], *extras["plots"], *extras["metrics"], *extras["serve"]):
        wanted = Requirement(text)
        assert locked[wanted.name], text
        assert all(release in wanted.specifier for release in locked[wanted.name]), text
    names = (
        "requirements.txt",
        "requirements-sqlite.txt",
        "debian/build-requirements.txt",
        "debian/site-requirements.txt",
        "tools/archive/requirements.txt",
    )
    for path in (ROOT / name for name in names):
        blocks = re.split(r"^(?=[\w.-]+==)", path.read_text(), flags=re.MULTILINE)[1:]
        assert blocks
        assert [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_what_the_build_needs_is_what_pyproject_takes() -> None:
    locked = pins(DEBIAN / "build-requirements.txt")
    for wanted in map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]):
        assert locked[wanted.name], wanted
        assert all(release in wanted.specifier for release in locked[wanted.name]), wanted


@pytest.mark.parametrize("script", sorted([*DEBIAN.glob("*.p*[tm]"), DEBIAN / "relocate"]), ids=lambda path: path.name)
def test_a_script_of_the_package_is_sh_and_stops_at_errors(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)
    assert re.search(r"^set -e", script.read_text(), re.MULTILINE)
    assert script.name == "relocate" or "\n#DEBHELPER#\n" in script.read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_the_program_by_the_path_that_the_build_replaces(unit: Path) -> None:
    started = re.findall(r"^Exec\w+=-?(\S*adminkit\S*)", unit.read_text(), re.MULTILINE)
    assert set(started) <= {"/usr/local/bin/adminkit"}
    assert started or unit.suffix != ".service"


# The table "Where it runs" of docs/design.md is what packages, units and programs do.


def test_folders_have_the_modes_and_owners_of_the_table() -> None:
    text = (ROOT / "etc/tmpfiles.d/adminkit.conf").read_text()
    made = {
        path: (int(mode, 8), user, group)
        for path, mode, user, group in re.findall(r"^[df] (\S+) (\d+) (\w+) (\w+)", text, re.M)
    }
    table = {one.path: (one.mode, one.owner, one.group) for one in where.writes().values()}
    assert made
    assert {path: table.get(path) for path in made} == made


def test_files_have_the_modes_of_the_table() -> None:
    table = {path: one.mode for path, one in where.writes().items()}
    assert table["trace.db"] == connect.FILE_MODE
    assert table["/var/lib/adminkit"] == connect.FOLDER_MODE
    assert table["acts.jsonl"] == actions.MODE
    assert (table["/etc/slurm/adminkit"], table["*.lua"]) == (files.FOLDER_MODE, files.FILE_MODE)
    assert table["prefs"] == prefs.FOLDER_MODE


def test_who_runs_a_unit_is_who_the_table_says() -> None:
    """By the line that names the unit; no User= is root."""
    table = {name: who for _, who, what, _ in where.lines() for name in re.findall(r"`(adminkit-[\w-]+)`", what)}
    runs = {}
    for unit in SERVICES:
        found = re.search(r"^User=(.*)$", unit.read_text(), re.MULTILINE)
        runs[unit.stem] = found[1] if found else "root"
    assert {name: who.split(",")[0].strip("`") for name, who in table.items()} == runs


def test_a_unit_that_makes_the_folder_of_the_trace_makes_it_as_the_table_says() -> None:
    mode = where.writes()["/var/lib/adminkit"].mode
    modes = {found for unit in SERVICES for found in re.findall(r"^StateDirectoryMode=(\d+)", unit.read_text(), re.M)}
    assert {int(one, 8) for one in modes} == {mode}


def test_the_system_user_is_the_one_of_the_table() -> None:
    made = re.findall(r"^u (\w+) ", (ROOT / "etc/sysusers.d/adminkit.conf").read_text(), re.MULTILINE)
    assert made == ["adminkit"]
    assert {one.owner for one in where.writes().values() if one.owner} == {"adminkit", "root"}
