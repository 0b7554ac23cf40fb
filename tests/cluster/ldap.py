"""Users from LDAP, by a real slapd and nslcd: `make matrix MATRIX='--suite ldap'`.

pytest takes this file only by its name: it changes where the container's users come from. Names are such as sites have;
the directory is also slow, and away: who is in it is then not known, and nobody gains or loses anything.
"""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from adminkit.slurm.will_run import user_of
from adminkit.trace.connect import reader
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.directory import Directory, resolving
from tests.cluster.harness.login import as_login
from tests.cluster.harness.operator import ADMINKIT, adminkit, one
from tests.cluster.harness.ruled import Ruled, at_most, ruling
from tests.setup.guard import CONTAINER
from tests.support.others import as_user

#: Names that Slurm, SQL, TOML and addresses may each take for something else.
NAMES: Final = ("u.dot", "Upper.Case", "user@EXAMPLE.ORG", "1digit", "a" * 40, "x-y_z")
#: An operator of slurmdbd's, a user whom the rules exempt, a member of many groups.
OPERATOR, EXEMPT, WIDE = "carol", "dave", "wide"
#: Known to slurmdbd before it had PreserveCaseUser: in lower case.
LOWERED: Final = "Lower.Ed"
USERS: Final = {name: (20_001 + at, 20_000) for at, name in enumerate((*NAMES, OPERATOR, EXEMPT, WIDE, LOWERED))}
CROWD: Final = {f"m{number}": (21_000 + number, 20_000) for number in range(500)}
GROUPS: Final = {
    "people": (20_000, ()),
    "crowd": (22_000, (*CROWD, WIDE)),
    **{f"group.{number}": (23_000 + number, (WIDE,)) for number in range(200)},
}
TOO_LONG: Final = ("-p", "gq", "-t", "71:00:00")
RULES: Final = at_most(20) + f'[exempt]\nusers = ["{EXEMPT}"]\n'
AWAY: Final = "a source of users in /etc/nsswitch.conf is not responding"


@pytest.fixture(scope="module")
def directory() -> Iterator[Directory]:
    if CONTAINER not in os.environ:
        pytest.fail("only in a container of tests/matrix: it changes the host's users", pytrace=False)
    with TemporaryDirectory(prefix="adminkit-ldap-") as folder:
        made = Directory(Path(folder), {**USERS, **CROWD}, GROUPS)
        with resolving(made):
            yield made


@pytest.fixture(scope="module")
def ruled(directory: Directory, outside: object) -> Iterator[Ruled]:
    """The rules are in force, and slurmdbd has the users as the directory spells them."""
    with private_slurm(SlurmUser=SLURM_USER, nodes=1) as cluster, ruling(cluster) as made:
        _add(cluster, LOWERED)
        with (cluster.folder / "dbd/slurmdbd.conf").open("a") as conf:
            conf.write("Parameters=PreserveCaseUser\n")
        cluster.stop_dbd()
        cluster.start_dbd()
        for name in USERS.keys() - {LOWERED}:
            _add(cluster, name)
        cluster.ask("sacctmgr", "-i", "modify", "user", OPERATOR, "set", "adminlevel=Operator")
        cluster.restart_ctld()
        cluster.until_idle()
        made.rules(RULES)
        yield made


def _add(cluster: Cluster, name: str) -> None:
    cluster.ask("sacctmgr", "-i", "add", "user", name, "account=physics", f"cluster={cluster.name}")


@pytest.fixture(scope="module")
def jobs(ruled: Ruled) -> dict[str, int]:
    """A job of each user, which has ended."""
    found = {name: ruled.cluster.submit("sleep 2", "-t", "60", user=name) for name in (*NAMES, LOWERED)}
    for job in found.values():
        ruled.cluster.wait(job, "COMPLETED")
    ruled.cluster.settle()
    return found


@pytest.fixture(scope="module")
def trace(ruled: Ruled, jobs: dict[str, int]) -> Path:
    path = ruled.cluster.folder / "trace.db"
    adminkit(ruled.cluster, path, "sync", "--since", "1d")
    return path


@pytest.fixture(scope="module")
def snapshot(ruled: Ruled, trace: Path) -> Path:
    """The trace, open to all."""
    path = trace.with_name("snapshot.db")
    adminkit(ruled.cluster, trace, "trace", "snapshot", str(path))
    path.chmod(0o644)
    return path


def passes(ruled: Ruled, user: str) -> bool:
    return ruled.sbatch(*TOO_LONG, user=user).accepted


def own(cluster: Cluster, user: str, *words: str) -> dict[str, Any]:
    """What a command shows that user, who has a home."""
    who = pwd.getpwnam(user)
    home = cluster.work / user
    if not home.exists():
        home.mkdir(mode=0o700)
        os.chown(home, who.pw_uid, who.pw_gid)
    env = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "ADMINKIT_DB": "", "ADMINKIT_CONFIG": ""}
    done = cluster.run(*as_login(user), ADMINKIT, *words, "-f", "json", env=env)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_user_is_the_same_in_slurm_in_the_trace_and_on_the_host(
    ruled: Ruled, jobs: dict[str, int], trace: Path, name: str
) -> None:
    assert one(trace, "SELECT user FROM job WHERE job_id_raw = ?", jobs[name]) == name
    assert one(trace, "SELECT uid FROM job WHERE job_id_raw = ?", jobs[name]) == USERS[name][0]
    mine = [row["job_id"] for row in own(ruled.cluster, name, "my")["jobs"]["rows"]]
    assert mine == [str(jobs[name])]


def test_a_user_whose_name_slurmdbd_has_in_lower_case_finds_the_own_runs(
    ruled: Ruled, jobs: dict[str, int], trace: Path, snapshot: Path
) -> None:
    assert one(trace, "SELECT user FROM job WHERE job_id_raw = ?", jobs[LOWERED]) == LOWERED.lower()
    assert [row["runs"] for row in own(ruled.cluster, LOWERED, "recommend", "walltime")["rows"]][-1] == 1
    shown = own(ruled.cluster, LOWERED, "report", "users", "--db", str(snapshot), "--min-elapsed", "0")
    assert shown["rows"][0]["user"] == LOWERED


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_and_an_exemption_by_name_mean_that_user(ruled: Ruled, name: str) -> None:
    assert not passes(ruled, name)
    ruled.rules(RULES.replace(EXEMPT, name))
    try:
        assert passes(ruled, name)
        assert [one for one in NAMES if passes(ruled, one)] == [name]
    finally:
        ruled.rules(RULES)


def test_who_is_in_two_hundred_groups_is_in_all_of_them(directory: Directory) -> None:
    groups = set(user_of(WIDE).groups)
    assert groups == {gid for gid, members in GROUPS.values() if WIDE in members} | {20_000}
    assert len(groups) == 202


def test_while_the_directory_is_away_nobody_gains_or_loses_an_exemption(ruled: Ruled, directory: Directory) -> None:
    before = {user: passes(ruled, user) for user in (OPERATOR, EXEMPT, "u.dot", "games")}
    assert before == {OPERATOR: True, EXEMPT: True, "u.dot": False, "games": False}
    policy = (ruled.inner / "policy.lua").read_bytes()
    with directory.away():
        for words in (("policy", "refresh"), ("policy", "install", "--policy", ruled.policy)):
            done = ruled.adminkit(*words, "--apply", code=1)
            assert AWAY in done.stderr, done.stderr
            assert (ruled.inner / "policy.lua").read_bytes() == policy
        ruled.adminkit("policy", "status")
    assert {user: passes(ruled, user) for user in before} == before
    assert "passes" not in ruled.adminkit("policy", "refresh", "--apply").stdout.partition("\n")[2]


def test_a_slow_directory_is_waited_for(ruled: Ruled, directory: Directory) -> None:
    with directory.slow(5):
        done = ruled.adminkit("policy", "refresh", "--apply")
    assert "passes" not in done.stdout.partition("\n")[2]


def test_a_user_whom_nobody_knows_for_now_is_told_so_and_shown_nothing(snapshot: Path, directory: Directory) -> None:
    def look() -> Any:
        with reader(snapshot) as db:
            return [name for (name,) in db.execute("SELECT DISTINCT user FROM job")]

    uid, gid = USERS["u.dot"]
    assert as_user(uid, gid, look) == ["u.dot"]
    with directory.away():
        assert AWAY in as_user(uid, gid, look).message


def test_letters_and_erasure_wait_while_the_directory_is_away(ruled: Ruled, trace: Path, directory: Directory) -> None:
    settings = trace.with_name("adminkit.toml")
    settings.write_text(
        '[feedback]\nclusters = ["alpha"]\ndomain = "example.org"\nmin_elapsed = 1\nunused_hours = 0.0\n'
    )
    env = {"ADMINKIT_CONFIG": str(settings)}
    with directory.away():
        shown = adminkit(ruled.cluster, trace, "feedback", "preview", env=env, code=None)
        assert AWAY in shown.stdout + shown.stderr
        done = adminkit(ruled.cluster, trace, "trace", "forget", "u.dot", "--apply", env=env, code=1)
        assert AWAY in done.stderr
    assert one(trace, "SELECT count(*) FROM job WHERE user = 'u.dot'") == 1
