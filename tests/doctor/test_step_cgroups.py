"""Which cgroups of steps a host shows: a tree of folders as Slurm makes them, and its line of /proc/self/mounts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit.doctor import step_cgroups
from adminkit.doctor.step_cgroups import Seen

V2 = "cgroup2 {top}/two cgroup2 rw 0 0\n"
FREEZER = "cgroup {top}/freezer cgroup rw,freezer 0 0\n"
CPU = "cgroup {top}/cpu cgroup rw,cpu,cpuacct 0 0\nproc /proc proc rw 0 0\nbroken\n"
TWO = "two/system.slice/"
SLUID = "sAJZT2QSC2MT00"


@pytest.mark.parametrize(
    ("mounts", "plugin", "folders", "seen", "why"),
    [
        (V2, "cgroup/v2", (), Seen(2), "no slurmd runs here"),
        (V2, "autodetect", (f"{TWO}slurmstepd.scope/system",), Seen(2), "no job does: slurmd's own is no job's"),
        (V2, "cgroup/v2", (f"{TWO}slurmstepd.scope/job_5/step_0/user",), Seen(2, ("job_5",)), "by number"),
        (V2, "cgroup/v2", (f"{TWO}n1_slurmstepd.scope/{SLUID}/step_0",), Seen(2, (SLUID,)), "one slurmd of many"),
        (
            V2,
            None,
            (f"{TWO}n1_slurmstepd.scope/job_5/step_0", f"{TWO}n2_slurmstepd.scope/job_5/step_0"),
            Seen(2, ("job_5",)),
            "one job on two nodes of a host",
        ),
        (V2, "cgroup/v2", ("two/slurmstepd.scope/job_5/step_0",), Seen(2, ("job_5",)), "IgnoreSystemd=yes"),
        (V2, "cgroup/v2", (f"{TWO}docker.scope/job_5/step_0",), Seen(2), "not Slurm's"),
        (FREEZER, "cgroup/v1", ("freezer/slurm_n1/uid_7/job_5/step_0",), Seen(1, ("job_5",)), "v1"),
        (FREEZER + V2, "autodetect", ("freezer/slurm/uid_7/job_5/step_0",), Seen(1, ("job_5",)), "both: v1 is taken"),
        (FREEZER + V2, "cgroup/v2", (f"{TWO}slurmstepd.scope/job_5/step_0",), Seen(2, ("job_5",)), "both, v2 is named"),
        (FREEZER, "cgroup/v2", (), Seen(None), "the one that is named is not there"),
        (CPU, "autodetect", (), Seen(None), "v1 without the freezer"),
    ],
)
def test_what_a_host_shows(
    tmp_path: Path, mounts: str, plugin: str | None, folders: tuple[str, ...], seen: Seen, why: str
) -> None:
    (tmp_path / "mounts").write_text(mounts.format(top=tmp_path))
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    assert step_cgroups.look(plugin, tmp_path / "mounts") == seen, why


def test_mounts_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    assert step_cgroups.look("cgroup/v2", tmp_path / "none") is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("job_5", True),
        (SLUID, True),
        ("job_", False),
        ("job_5x", False),
        (SLUID.lower(), False),
        (SLUID + "0", False),
        (SLUID[:-1], False),
    ],
)
def test_a_name_is_known_where_the_plugin_knows_it(name: str, known: bool) -> None:
    """The cases of tests/spank/test_proc_parse.c, which has more of them."""
    assert (Seen(2, (name,)).unknown == []) == known


def test_the_plugin_has_the_same_length_of_a_sluid() -> None:
    source = (Path(__file__).parents[2] / "spank/common/proc_parse.c").read_text()
    (size,) = re.findall(r"#define SLUID_SIZE (\d+)", source)
    assert step_cgroups.BY_SLUID.fullmatch("s" + "0" * (int(size) - 1))
