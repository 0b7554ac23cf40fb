"""What the cluster looks like, from what its programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm import cluster
from tests.support.fakes import DATA, Programs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


def test_the_clusters_are_named_by_slurmctld_and_slurmdbd(programs: Programs) -> None:
    programs.says("scontrol", show_config="scontrol-config")
    programs.says("sacctmgr", show_cluster="sacctmgr-clusters")
    assert cluster.local_cluster() == "alpha"
    assert cluster.known_clusters() == ["alpha", "beta"]


def test_a_cluster_slurmdbd_does_not_know_is_refused_with_the_nearest() -> None:
    cluster.refuse_unknown_clusters(["beta"], ["alpha", "beta"])
    with pytest.raises(UsageError) as caught:
        cluster.refuse_unknown_clusters(["alpha", "alhpa"], ["alpha", "beta"])
    assert (caught.value.message, caught.value.hint) == ("no such cluster: alhpa", "did you mean alpha?")


@pytest.mark.parametrize(
    ("known", "expected", "why"),
    [("alpha", "alpha", "only one it can be"), ("alpha\\nbeta", None, "either of two")],
)
def test_with_slurmctld_away_slurmdbd_names_the_only_cluster(
    programs: Programs, known: str, expected: str | None, why: str
) -> None:
    programs.add("scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
    programs.add("sacctmgr", f"printf '{known}\\n'")
    if expected is None:
        with pytest.raises(AdminkitError, match="contact slurm controller"):
            cluster.local_cluster()
    else:
        assert cluster.local_cluster() == expected, why


def test_the_queue_to_slurmdbd_is_counted_and_not_the_other_one(programs: Programs) -> None:
    programs.says("sdiag", **{"": "sdiag"})
    assert cluster.dbd_backlog() == 17


def test_a_backlog_that_is_not_said_is_unknown_and_not_empty() -> None:
    assert cluster.parse_backlog("Agent queue size: 0\n") is None


def test_slurmdbd_describes_itself_apart_from_this_client(programs: Programs) -> None:
    programs.says("sacctmgr", show_configuration="sacctmgr-configuration")
    assert cluster.accounting() == cluster.Accounting(
        "22.05.8", 1_795_234_455, frozenset({"jobs", "usage"}), 31 * 86_400
    )


def test_what_the_client_writes_in_its_place_is_not_taken_for_slurmdbds(programs: Programs) -> None:
    """From 26.05 on: PrivateData and the release are those of the client, and the start has to be had elsewhere."""
    programs.says("sacctmgr", show_configuration="sacctmgr-configuration-26.05", show_stats="sacctmgr-stats")
    assert cluster.accounting() == cluster.Accounting(None, 1_795_293_283, None, 86_400)
    programs.says("sacctmgr", show_configuration="sacctmgr-configuration-26.05")
    assert cluster.accounting() == cluster.Accounting(None, None, None, 86_400), "statistics are for operators"


@pytest.mark.parametrize("text", ["", "PrivateData = none\nSLURM_VERSION = 24.11.5\n"])
def test_a_slurmdbd_that_is_away_is_said_though_sacctmgr_exits_well(text: str) -> None:
    with pytest.raises(AdminkitError, match="slurmdbd is not responding"):
        cluster.parse_accounting(text)


def test_statistics_that_do_not_say_since_when_are_unknown() -> None:
    assert cluster.parse_stats("Data since yesterday\n") is None


@pytest.mark.parametrize(
    ("user", "expected", "why"),
    [
        ("root", "Administrator", "may do anything"),
        ("operator1", "Operator", "sees all jobs"),
        ("user1", None, "None is no level"),
        ("nobody1", None, "slurmdbd does not know them"),
    ],
)
def test_the_admin_level_of_a_user(programs: Programs, user: str, expected: str | None, why: str) -> None:
    programs.add("sacctmgr", f'grep "^$5|" {DATA}/sacctmgr-users.txt || true')
    assert cluster.admin_level(user) == expected, why
