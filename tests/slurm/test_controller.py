"""What slurmctld says of itself, what the site looks like, and how it is touched and reached."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm import controller, gather, reload
from adminkit.slurm.controller import parse_conf, parse_config
from tests.slurm.test_partitions import NODES, QUEUE_LINES
from tests.support.fakes import Programs

CONFIG = """Configuration data as of 1795234487
AccountingStoreFlags    = job_comment,job_env
BOOT_TIME               = 2026-11-21T07:10:19
ClusterName             = alpha
JobSubmitPlugins        = lua,require_timelimit
PrioritySiteFactorPlugin = (null)
PriorityType            = priority/multifactor
SlurmUser               = root(0)
SlurmctldHost[0]        = head(10.0.0.1)
SlurmctldHost[1]        = second
SLURM_CONF              = /etc/slurm/slurm.conf

Cgroup Support Configuration:
SlurmUser               = (null)
Slurmctld(primary) at head is UP
"""


def test_the_running_configuration_is_read() -> None:
    found = parse_config(CONFIG)
    assert (found.cluster, found.folder, found.hosts) == ("alpha", Path("/etc/slurm"), ("head", "second"))
    assert (found.user, found.uid, found.gid, found.group) == ("root", 0, 0, "root")
    assert (found.plugins, found.store) == (("lua", "require_timelimit"), {"job_comment", "job_env"})
    assert found.away == ""


def test_a_slurmctld_that_says_little_leaves_the_rest_unknown() -> None:
    found = parse_config("ClusterName = alpha\n")
    assert (found.folder, found.hosts, found.uid, found.gid, found.plugins) == (None, (), None, None, ())
    with pytest.raises(AdminkitError, match="does not say where"):
        controller.site_folder(found, None)
    assert controller.site_folder(found, Path("/srv")) == Path("/srv")


def test_with_slurmctld_away_its_slurm_conf_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "# SlurmUser=nobody\nclustername=alpha\nSlurmctldHost=head(10.0.0.1) # first\nSlurmCtldHost=second\n"
        "SlurmUser=games\nJobSubmitPlugins=lua\nNodeName=n1 SlurmUser=x\n"
    )
    monkeypatch.setenv("SLURM_CONF", str(conf))
    found = controller.controller_or_conf()
    games = pwd.getpwnam("games")
    assert (found.cluster, found.hosts, found.folder) == ("alpha", ("head", "second"), tmp_path)
    assert (found.user, found.uid, found.gid) == ("games", games.pw_uid, games.pw_gid)
    assert (found.plugins, "contact slurm controller" in found.away) == (("lua",), True)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "nosuch"))
    with pytest.raises(AdminkitError, match="contact slurm controller"):
        controller.controller_or_conf()


def test_with_slurmctld_away_the_slurm_conf_of_a_slurm_under_its_prefix_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
    conf = tmp_path / "opt/etc/slurm.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("ClusterName=alpha\n")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setenv("ADMINKIT_SLURM_PREFIX", str(tmp_path / "opt"))
    assert controller.controller_or_conf().conf == conf
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "nosuch"))
    with pytest.raises(AdminkitError, match="contact slurm controller"):
        controller.controller_or_conf()


@pytest.mark.parametrize(
    ("running", "conf", "says"),
    [
        ("lua", "", ""),
        ("job_submit/lua,throttle", "", ""),
        ("(null)", "ClusterName=alpha\n", "{conf} lacks JobSubmitPlugins=lua; add it, then: scontrol reconfigure"),
        (
            "throttle",
            "#JobSubmitPlugins=lua\n",
            "{conf} lacks JobSubmitPlugins=lua; add it, then: scontrol reconfigure",
        ),
        (
            "(null)",
            "jobsubmitplugins = throttle, lua\n",
            "{conf} has JobSubmitPlugins=lua, but slurmctld runs without it",
        ),
        ("(null)", "Include parts/a.conf\n", "{conf} has JobSubmitPlugins=lua, but slurmctld runs without it"),
        ("(null)", "include /nosuch/a.conf\n", "{conf} lacks JobSubmitPlugins=lua"),
        ("(null)", "include slurm.conf\n", "{conf} lacks JobSubmitPlugins=lua"),
        ("(null)", None, "slurmctld runs without JobSubmitPlugins=lua; add it to slurm.conf, then"),
    ],
)
def test_what_slurmctld_runs_and_what_its_file_says_are_told_apart(
    tmp_path: Path, running: str, conf: str | None, says: str
) -> None:
    path = tmp_path / "slurm.conf"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/a.conf").write_text("JobSubmitPlugins=lua\n")
    if conf is not None:
        path.write_text(conf)
    found = parse_config(f"ClusterName = alpha\nJobSubmitPlugins = {running}\nSLURM_CONF = {path}\n")
    wanted = says.format(conf=path)
    assert controller.inactive(found).startswith(wanted)
    assert bool(controller.inactive(found)) == bool(wanted)


def test_the_controllers_that_are_not_this_host() -> None:
    here = socket.gethostname().partition(".")[0]
    conf = f"SlurmctldHost={here}\nSlurmctldHost=second.example.org\n"
    assert parse_conf(conf, Path("/x"), "away").others() == ("second.example.org",)


@pytest.mark.parametrize(
    ("mode", "group", "user", "readable"),
    [
        (0o640, "games", "games", True),
        (0o640, "root", "games", False),
        (0o644, "root", "games", True),
        (0o600, "games", "games", False),
        (0o600, "root", "root", True),
    ],
)
def test_whether_slurmuser_may_read_a_file(tmp_path: Path, mode: int, group: str, user: str, readable: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    path = tmp_path / "policy.lua"
    path.touch()
    os.chown(path, 0, pwd.getpwnam(group).pw_gid)
    path.chmod(mode)
    found = parse_conf(f"SlurmUser={user}\n", Path("/x"), "")
    assert controller.readable_by(path, found) == readable


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Programs:
    programs = Programs(tmp_path / "bin", monkeypatch)
    (tmp_path / "nodes").write_text(NODES)
    (tmp_path / "queues").write_text(QUEUE_LINES)
    programs.add("scontrol", f'case "$*" in *node*) cat {tmp_path}/nodes;; *) cat {tmp_path}/queues;; esac')
    programs.add("sacctmgr", "printf 'games|Operator\\nnobodyatall|Administrator\\nnews|None\\n'")
    return programs


def test_a_site_has_its_operators_and_the_uids_that_were_asked_for(slurm: Programs) -> None:
    found = gather.gather(["news", "stranger"], parse_conf("ClusterName=alpha\nSlurmUser=backup\n", Path("/x"), ""))
    uid = {name: pwd.getpwnam(name).pw_uid for name in ("games", "backup", "news")}
    assert found.site.privileged == {0, uid["games"], uid["backup"]}
    assert found.site.uids == {"news": uid["news"]}
    assert found.notes[0] == "operator nobodyatall is not a user of this host"
    assert "stranger" in found.notes[1]
    assert [queue.name for queue in found.site.queues] == ["gq", "short", "roots", "booked"]


def test_a_name_that_looks_like_a_line_of_the_list_makes_nobody_an_operator(slurm: Programs) -> None:
    """Of a user called `x`, newline, `news|Operator`, newline, `y`: sacctmgr's list has the line in the middle."""
    lines = "games|Operator\\nx\\nnews|Operator\\ny|None\\nnews|None\\n"
    slurm.add(
        "sacctmgr", f"case $5 in format=*) printf '{lines}';; news) echo 'news|None';; *) echo $5'|Operator';; esac"
    )
    found = gather.gather((), parse_conf("SlurmUser=root\n", Path("/x"), ""))
    assert found.site.privileged == {0, pwd.getpwnam("games").pw_uid}


def test_without_slurmdbd_operators_are_not_known_and_that_is_said(slurm: Programs) -> None:
    slurm.add("sacctmgr", "echo 'sacctmgr: error: slurm_persist_conn_open: refused' >&2; exit 1")
    found = gather.gather((), parse_conf("SlurmUser=root\n", Path("/x"), ""))
    assert found.site.privileged == {0}
    assert found.notes[0].startswith("operators are not known, so rules apply to them too")


@pytest.mark.parametrize(
    ("before", "at_least", "now", "then", "why"),
    [
        (100, 0, 500.9, 500, "the time now"),
        (500, 0, 500.2, 501, "later than it was, by a second"),
        (9000, 0, 500.0, 9001, "later even than one of the future, which may have been loaded"),
        (500, 9000, 500.0, 9001, "later than what stood there before"),
    ],
)
def test_the_time_of_the_entry_always_grows(
    tmp_path: Path, before: int, at_least: int, now: float, then: int, why: str
) -> None:
    path = tmp_path / "job_submit.lua"
    path.touch()
    os.utime(path, (before, before))
    assert reload.touch(path, at_least, now) == then, why
    assert path.stat().st_mtime == then


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'sbatch: error: adminkit generation 3f2a9c01d2e4 incentives none hints 77' >&2; exit 1",
         reload.Running("3f2a9c01d2e4", None, "77")),
        ("echo 'sbatch: Job 7 to start at …' >&2; exit 0", None),
        ("echo 'allocation failure: Invalid account' >&2; exit 1", None),
    ],
)  # fmt: skip
def test_what_slurmctld_decides_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, expected: reload.Running | None
) -> None:
    Programs(tmp_path / "bin", monkeypatch).add("sbatch", script)
    assert reload.probe() == expected


def test_a_slurmctld_that_is_away_is_not_one_without_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sbatch", "echo 'allocation failure: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(AdminkitError, match="contact slurm controller"):
        reload.probe()


VALUES = {"files": ["/etc/slurm/adminkit", "/etc/slurm/job submit.lua"], "host": "head; reboot", "folder": "/etc/slurm"}


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("rsync -a {files} root@{host}:{folder}/",
         ["rsync", "-a", "/etc/slurm/adminkit", "/etc/slurm/job submit.lua", "root@head; reboot:/etc/slurm/"]),
        ("sh -c 'echo {host}'", ["sh", "-c", "echo head; reboot"]),
        ("x '{folder}/$(id)' {host}", ["x", "/etc/slurm/$(id)", "head; reboot"]),
    ],
)  # fmt: skip
def test_a_command_is_split_once_and_values_never_are(template: str, words: list[str]) -> None:
    assert reload.command(template, VALUES) == words


@pytest.mark.parametrize(
    ("template", "says"), [("rsync {fiels}", "has no meaning here"), ("", "empty"), ("a 'b", "not a command")]
)
def test_a_command_that_cannot_be_meant(template: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        reload.command(template, VALUES)
