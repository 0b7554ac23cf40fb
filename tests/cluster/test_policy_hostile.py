"""Tables written against slurmctld: root does not install them, and slurmctld stays up and uses the last good one."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.economy.points_file import dumped
from adminkit.slurm.reload import PROBE, touch
from tests.cluster.harness.ruled import Ruled, at_most
from tests.support.hostile_tables import EXTREME, GENERATED, TABLES

DAEMON = pwd.getpwnam("daemon").pw_uid
POINTS = {"format": 1, "made_at": 1, "cap": 720, "class_points": {}, "users": {1001: {"points": 5, "class": True}}}
#: What is tried by the command itself; tests/economy/test_incentive_json.py has the others.
BY_COMMAND = ("run for ever", "fill the memory", "overflow a stack of 1 MB", "nest tables", "be large", "be bytecode")


@pytest.fixture(scope="module")
def good(ruled_session: Ruled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The generation of a whole table that is in force, from a folder of another user; taken away afterwards."""
    ruled = ruled_session
    ruled.rules(at_most(48))
    folder = tables(tmp_path_factory.mktemp("tables"), dumped(POINTS))
    said = ruled.adminkit("incentives", "install", *words(ruled, folder), "-f", "json").stdout
    generation = running(ruled)
    assert generation in said
    yield generation
    for path in ruled.inner.glob("incentives.*lua"):
        path.unlink()
    touch(ruled.folder / "job_submit.lua")
    ruled.text = ""


def tables(folder: Path, text: str) -> Path:
    """adminkit's folder with this as its incentives.json."""
    (folder / "incentives.json").write_bytes(text.encode("latin-1"))
    for path in (folder, folder / "incentives.json"):
        os.chown(path, DAEMON, -1)
    return folder


def words(ruled: Ruled, folder: Path) -> tuple[str, ...]:
    return "--policy", str(ruled.policy), "--from", str(folder), "--points-per-hour", "60", "--apply"


def running(ruled: Ruled) -> str:
    """The generation of points that slurmctld decides by."""
    said = ruled.run("sbatch", "--test-only", f"--job-name={PROBE}", "--chdir=/", "--wrap=true").text
    found = re.search(r"incentives (\S+) hints", said)
    assert found is not None, f"{said}\n{ruled.tail()}"
    return found.group(1)


def pid(ruled: Ruled) -> int:
    process = ruled.cluster.ledger.find(f"{ruled.cluster.name}-slurmctld")
    assert process is not None
    return process.pid


@pytest.mark.parametrize("what", BY_COMMAND)
def test_root_does_not_install_it_and_what_was_in_force_stays(
    ruled: Ruled, good: str, tmp_path: Path, what: str
) -> None:
    before = {path: path.read_bytes() for path in ruled.inner.iterdir()}
    folder = tables(tmp_path, dict(TABLES)[what])
    said = ruled.adminkit("incentives", "install", *words(ruled, folder), code=1)
    assert f"error: {folder}/incentives.json" in said.stderr
    assert said.stderr.count("\n") <= 3
    assert {path: path.read_bytes() for path in ruled.inner.iterdir()} == before
    assert running(ruled) == good


def test_root_does_not_follow_a_link_nor_wait_at_a_pipe(ruled: Ruled, good: str, tmp_path: Path) -> None:
    path = tables(tmp_path, "") / "incentives.json"
    for make, why in (
        (lambda: path.symlink_to("/etc/shadow"), "is a symbolic link, not a plain file"),
        (lambda: path.symlink_to("/dev/zero"), "is a symbolic link, not a plain file"),
        (lambda: os.mkfifo(path), "is a pipe, not a plain file"),
        (lambda: os.link("/etc/shadow", path), "belongs to uid 0"),
    ):
        path.unlink()
        make()
        said = ruled.adminkit("incentives", "install", *words(ruled, tmp_path), code=1)
        assert why in said.stderr
    assert running(ruled) == good


def test_slurmctld_passes_over_each_of_them_and_stays_up(ruled: Ruled, good: str) -> None:
    """As if root had put it there: the second door."""
    process, entry, path = pid(ruled), ruled.folder / "job_submit.lua", ruled.inner / "incentives.lua"
    whole = path.read_bytes()
    known = ruled.log_size()
    for number, text in enumerate((*(text for _, text in TABLES), *GENERATED)):
        path.write_bytes(text.encode("latin-1"))
        touch(entry)
        assert running(ruled) == good, f"{number}: {text[:200]!r}"
    for what, text in EXTREME:
        path.write_text(text)
        touch(entry)
        assert running(ruled) in (good, "evil"), what
    path.write_bytes(whole)
    assert (pid(ruled), ruled.alive()) == (process, True)
    said = ruled.log(known)
    assert said.count("incentives.good.lua is used instead of incentives.lua") >= len(TABLES) + len(GENERATED)
    assert "it holds something other than texts, numbers, true, false and tables" in said
    assert "its tables are nested more than 12 deep" in said


def test_when_the_good_copy_is_hostile_too_it_leaves_the_rules_in_force(ruled: Ruled, good: str) -> None:
    text = dict(TABLES)["overflow a stack of 1 MB"]
    for kind in ("incentives.lua", "incentives.good.lua"):
        (ruled.inner / kind).write_text(text)
    touch(ruled.folder / "job_submit.lua")
    assert running(ruled) == "none"
    assert not ruled.sbatch("-p", "gq", "-t", "60:00:00").accepted
    assert ruled.alive()
