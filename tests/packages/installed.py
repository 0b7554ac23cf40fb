"""The packages as an operator meets them, in a bare Debian: `make matrix MATRIX='--suite packages --suite installed'`.

pytest takes this file only by its name. Its tests follow on one another: installed, used on a Slurm, upgraded, removed
while jobs run, purged. The Slurm is that of tests/cluster, with what Debian's plugstack.conf includes: the plugin.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.checkpoint import Watched
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ruled import HEAD, at_most
from tests.packages import where
from tests.packages.rebuilt import higher

BUILT = where.ROOT / "build/deb"
#: What the matrix has built on other rows.
ROWS = Path("/rows")
ENV = Path("/usr/lib/adminkit")
SETTINGS = Path("/etc/adminkit/adminkit.toml")
TRACE = Path("/var/lib/adminkit/trace.db")
PLUGSTACK = Path("/etc/slurm/plugstack.conf")
CONFFILE = Path("/etc/slurm/plugstack.conf.d/adminkit.conf")
SET_ASIDE = CONFFILE.with_name("adminkit.conf.removed")
#: Debian's Slurm and what its cluster needs; then what shows pages, completion and units.
SLURM = "slurm-wlm slurmdbd slurm-wlm-mysql-plugin slurm-wlm-basic-plugins munge mariadb-server mariadb-client".split()
SHOWS = "man-db bash-completion systemd".split()
WORDS = "poll=5"


def apt(*words: str | Path, code: int = 0) -> str:
    """What apt-get said, on both outputs; its exit code has to be `code`."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    command = ["apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
    done = subprocess.run(
        [*command, *map(str, words)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def said(*words: str | Path, user: str = "nobody", **env: str) -> str:
    """What a program printed for a user whose environment is full of Python's variables."""
    full = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8", "PYTHONPATH": "/tmp/theirs", **env}
    command = ["/usr/sbin/runuser", "-u", user, "--", *map(str, words)]
    done = subprocess.run(command, env=full, cwd="/tmp", capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def packages(folder: Path = BUILT) -> dict[str, Path]:
    """Name -> file; without those that hold only debug symbols."""
    found = {path.name.partition("_")[0]: path for path in sorted(folder.glob("*.deb"))}
    return {name: path for name, path in found.items() if not name.endswith("-dbgsym")}


@pytest.fixture(scope="module", autouse=True)
def slurm() -> None:
    """Debian's Slurm; no service of it starts."""
    policy = Path("/usr/sbin/policy-rc.d")
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    for excluded in Path("/etc/dpkg/dpkg.cfg.d").glob("*docker*"):
        excluded.unlink()  # a slim image keeps man pages out
    theirs = Path("/tmp/theirs")
    theirs.mkdir(exist_ok=True)
    for name in ("typer", "pandas", "adminkit"):
        (theirs / f"{name}.py").write_text("raise SystemExit('a module of the user')\n")
    apt("install", "--no-install-recommends", *SLURM, *SHOWS)


@pytest.fixture(scope="module")
def installed(slurm: None) -> str:
    """Both packages, by apt; what it said."""
    return apt("install", "--no-install-recommends", *packages().values())


@pytest.fixture(scope="module")
def cluster(installed: str) -> Iterator[Cluster]:
    """A Slurm with the packaged plugin, and with rules that the packaged command put in place."""
    folder = Path(tempfile.mkdtemp(prefix="adminkit-packages-"))
    folder.chmod(0o755)
    cluster = Cluster(folder, nodes=2)
    try:
        cluster.boot(owner=os.getpid())
        CONFFILE.write_text(
            CONFFILE.read_text().replace("optional adminkit_ckpt.so", f"optional adminkit_ckpt.so {WORDS}")
        )
        (cluster.home / "plugstack.conf").write_text(f"include {PLUGSTACK.parent}/plugstack.conf.d/*.conf\n")
        Path("/etc/adminkit/policy.toml").write_text(HEAD + at_most(72))
        first = cluster.run("adminkit", "policy", "install", "--apply", seconds=120)
        assert b"slurm.conf lacks JobSubmitPlugins=lua" in first.err, first.err
        with (cluster.home / "slurm.conf").open("a") as conf:
            conf.write("JobSubmitPlugins=lua\n")
        cluster.restart_ctld()
        cluster.until_idle()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def watched(cluster: Cluster) -> Watched:
    return Watched(cluster, Path("adminkit_ckpt.so"))


def restart_slurmd(cluster: Cluster, node: str = "n1") -> None:
    """As a reboot of the daemon does; its jobs go on."""
    name = f"{cluster.name}-slurmd-{node}"
    process = cluster.ledger.find(name)
    assert process is not None
    cluster.ledger.stop(process)
    cluster.start_node(node)


# Before they are installed.


def test_apt_refuses_the_plugin_of_another_slurm() -> None:
    """Those that other rows built; apt names what it misses."""
    ours = packages()["slurm-spank-adminkit"].name
    others = [path for path in ROWS.glob("*/build/deb/slurm-spank-adminkit_*.deb") if path.name != ours]
    if not others:
        pytest.skip("the packages of other environments had not been built yet")
    for other in others:
        text = apt("install", "-s", other, code=100)
        assert "Depends: slurm-wlm-basic-plugins" in text, text


# Installed, with no Slurm about.


def test_installing_switches_nothing_on_and_says_what_to_do(installed: str) -> None:
    assert "/usr/share/doc/adminkit/docs/install.md" in installed
    assert Path("/usr/share/doc/adminkit/docs/install.md").read_text().startswith("# Installing")
    page = Path("/usr/share/doc/adminkit/html/docs/install.html").read_text()
    assert '<h1 id="installing"' in page and Path("/usr/share/doc/adminkit/html/search.json").exists()
    examples = {path.name.removesuffix(".gz") for path in Path("/usr/share/doc/adminkit/examples").iterdir()}
    assert examples >= {"policy.toml", "scenarios.toml", "trial.toml", "tune.toml"}
    assert [path for path in Path("/etc/systemd").rglob("adminkit-*") if path.is_symlink()] == []


def test_the_program_is_there_whatever_a_user_has_of_python(installed: str) -> None:
    assert said("adminkit", "--version").startswith("adminkit ")
    checks = {one["check"]: one for one in json.loads(said_doctor())["rows"]}
    assert {name: checks[name]["status"] for name in ("adminkit", "helper", "sqlite", "plots")} == dict.fromkeys(
        ("adminkit", "helper", "sqlite", "plots"), "ok"
    )


def said_doctor() -> str:
    """doctor's exit code is 1 here, without a Slurm that runs."""
    done = subprocess.run(["adminkit", "doctor", "--format", "json"], capture_output=True, text=True, check=False)
    return done.stdout


#: Every module of adminkit. The packages have no hub, so what adminkit.jupyter takes from one may be missing.
_IMPORT_ALL: Final = """
import importlib, pkgutil, adminkit
HUB = {"batchspawner", "jupyterhub", "jupyter_server", "tornado", "traitlets"}
for one in pkgutil.walk_packages(adminkit.__path__, "adminkit."):
    try:
        importlib.import_module(one.name)
    except ModuleNotFoundError as error:
        if not (one.name.startswith("adminkit.jupyter.") and error.name in HUB):
            raise
print(adminkit.__file__)
"""


def test_the_environment_is_whole(installed: str) -> None:
    assert "No broken requirements" in said(ENV / "bin/python", "-I", "-m", "pip", "check")
    assert said(ENV / "bin/python", "-I", "-c", _IMPORT_ALL).startswith(str(ENV))


def test_nothing_names_the_folder_of_the_build(installed: str) -> None:
    code = "import marshal, sys; print(marshal.loads(open(sys.argv[1], 'rb').read()[16:]).co_filename)"
    (compiled,) = ENV.glob("lib/python3.*/site-packages/adminkit/cli/__pycache__/main.*.pyc")
    assert said(ENV / "bin/python", "-I", "-c", code, compiled).startswith(str(ENV))
    folders = [word for name in ("debian/", "build/") for word in ("-e", f"{where.ROOT}/{name}")]
    found = subprocess.run(["grep", "-rlF", *folders, ENV], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_a_report_is_drawn(installed: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    said("adminkit", "demo", "--db", folder / "demo.db", "--no-plot")
    said("adminkit", "report", "accuracy", "--db", folder / "demo.db", "--picture", folder / "accuracy.png")
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_man_pages_are_there(installed: str) -> None:
    plugins = ("adminkit_ckpt", "adminkit_data", "adminkit_gpu_use", "adminkit_io")
    for page in ("adminkit", "adminkit-sync", "adminkit.toml", "adminkit-users", *plugins):
        assert "adminkit" in said("man", "-P", "cat", page), page
    assert Path("/usr/share/man/ja/man7/adminkit-users.7.gz").exists()


def test_shells_complete_its_words(installed: str) -> None:
    script = ". /usr/share/bash-completion/completions/adminkit; complete -p adminkit"
    assert "adminkit" in said("bash", "-c", script)
    for path in ("zsh/vendor-completions/_adminkit", "fish/vendor_completions.d/adminkit.fish"):
        assert Path("/usr/share", path).stat().st_size > 100


def test_units_are_ones_that_systemd_takes(installed: str) -> None:
    units = [
        path for folder in ("/usr/lib", "/lib") for path in sorted(Path(folder, "systemd/system").glob("adminkit-*"))
    ]
    assert {path.name for path in units} == {path.name for path in (where.ROOT / "etc/systemd").iterdir()}
    done = subprocess.run(
        ["systemd-analyze", "--man=no", "verify", *units], capture_output=True, text=True, check=False
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "adminkit" in line]
    assert (done.returncode, ours) == (0, [])


def test_users_and_modes_are_those_of_the_table(installed: str) -> None:
    user = pwd.getpwnam("adminkit")
    assert user.pw_uid < 1000
    assert (user.pw_dir, user.pw_shell) == ("/var/lib/adminkit", "/usr/sbin/nologin")
    subprocess.run(["systemd-tmpfiles", "--create", "adminkit.conf"], check=True)
    check_table({"/var/lib/adminkit", "/var/log/adminkit", "/run/adminkit", "/run/adminkit/wake"})
    assert (stat.S_IMODE(SETTINGS.stat().st_mode), SETTINGS.stat().st_uid) == (0o644, 0)


def check_table(wanted: set[str], folders: tuple[Path, ...] = ()) -> None:
    """Every path of docs/design.md's table that is there is as it says, and those wanted are there."""
    there = set()
    for path, line in where.writes().items():
        for found in (one for folder in (Path("/"), *folders) for one in folder.glob(path.lstrip("/"))):
            there.add(path)
            facts = found.stat()
            assert oct(stat.S_IMODE(facts.st_mode)) == oct(line.mode), found
            names = (pwd.getpwuid(facts.st_uid).pw_name, grp.getgrgid(facts.st_gid).gr_name)
            assert (line.owner, line.group) in ((None, None), names), found
    assert wanted <= there


# On a Slurm.


def test_a_job_is_signalled_by_the_packaged_plugin(watched: Watched) -> None:
    job = watched.submit("exec {train} code=0", "-t", "1", wish="TERM@45")
    watched.until("the job to hear the signal", lambda: job.times("heard"), 60)
    watched.ended(job)
    assert watched.state(job) == "COMPLETED"
    assert job.hint == ""


def test_the_operator_syncs_as_the_unit_does(cluster: Cluster) -> None:
    """Its user, its program; what root did to slurmctld is collected, and the files are as the table says."""
    unit = next(Path(root, "adminkit-sync.service") for root in ("/usr/lib/systemd/system", "/lib/systemd/system"))
    text = unit.read_text()
    user, start = (re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)[0] for key in ("User", "ExecStart"))
    SETTINGS.write_text(SETTINGS.read_text().replace('#since = "2026-01-01"', 'since = "1d"'))
    cluster.settle()
    done = cluster.run(*start.split(), user=user, env={"HOME": "/var/lib/adminkit"}, seconds=120)
    assert done.code == 0, done.err
    done = cluster.run("adminkit", "policy", "status", "--format", "json")
    assert done.code == 0, done.err
    check_table(
        {"trace.db", "acts.jsonl", "*.lua"}, (TRACE.parent, Path("/var/log/adminkit"), cluster.home / "adminkit")
    )
    assert jobs() > 0
    reader = cluster.run("adminkit", "report", "accuracy", "--min-elapsed", "0", user="news")
    assert reader.code != 0, "the trace is for the group adminkit"


def jobs() -> int:
    """How many runs the trace has."""
    code = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('select count(*) from job').fetchone())"
    return int(said(ENV / "bin/python", "-I", "-c", code, TRACE, user="adminkit"))


def test_doctor_finds_nothing_amiss(cluster: Cluster) -> None:
    done = cluster.run("adminkit", "doctor", "--format", "json", user="adminkit", env={"HOME": "/var/lib/adminkit"})
    checks = {one["check"]: one for one in json.loads(done.out)["rows"]}
    assert {name: one for name, one in checks.items() if one["status"] == "missing"} == {}
    assert checks["ckpt file"]["status"] == "ok"


# Upgraded, removed, purged.


def test_an_upgrade_keeps_settings_and_trace_and_the_jobs_that_run(watched: Watched, tmp_path: Path) -> None:
    before, settings = jobs(), SETTINGS.read_text()
    assert 'since = "1d"' in settings
    job = watched.submit("exec {train} code=0", "-t", "1", wish="TERM@30")
    watched.until("the job to start", lambda: job.times("start"))
    newer = [higher(path, tmp_path) for path in packages().values()]
    apt("install", "--no-install-recommends", *newer)
    release = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "adminkit"], capture_output=True, text=True, check=True
    )
    assert release.stdout.startswith("99")
    assert (jobs(), SETTINGS.read_text()) == (before, settings)
    assert WORDS in CONFFILE.read_text()
    assert said("adminkit", "--version").startswith("adminkit ")
    watched.until("the job to hear the signal", lambda: job.times("heard"), 60)
    watched.ended(job)


def test_a_removal_hinders_neither_slurm_nor_the_jobs_that_run(watched: Watched, cluster: Cluster) -> None:
    job = watched.submit("exec {train} code=0", "-w", "n1", "-t", "1", wish="TERM@20")
    watched.until("the job to start", lambda: job.times("start"))
    apt("remove", "slurm-spank-adminkit", "adminkit")
    assert not Path("/usr/bin/adminkit").exists()
    assert not ENV.exists(), sorted(ENV.rglob("*"))[:5]
    assert not CONFFILE.exists()
    assert WORDS in SET_ASIDE.read_text()
    cluster.restart_ctld()
    restart_slurmd(cluster)
    later = watched.submit("exec {train} lasts=1", "-t", "2", wish="TERM@30")
    step = cluster.run("srun", "-n", "1", "-t", "1", "true", user="games")
    watched.until("the job to hear the signal", lambda: job.times("heard"), 60)
    watched.ended(job, later)
    assert [watched.state(one) for one in (job, later)] == ["COMPLETED", "COMPLETED"]
    assert step.code == 0, step.err
    heard = (later.hint + step.err.decode()).splitlines()
    assert [line for line in heard if re.search("spank|plugin|adminkit", line)] == [], "users are told nothing"


def test_rules_stay_in_force_without_the_package(cluster: Cluster) -> None:
    done = cluster.run("sbatch", "--test-only", "-p", "gq", "-t", "73:00:00", "--wrap", "true", user="games")
    assert b"may ask for" in done.err, done.err


def test_what_was_removed_comes_back_as_it_was(watched: Watched) -> None:
    apt("install", "--no-install-recommends", *packages().values())
    assert WORDS in CONFFILE.read_text()
    assert (jobs() > 0, SET_ASIDE.exists()) == (True, False)
    job = watched.submit("exec {train} code=0", "-t", "1", wish="TERM@45")
    watched.until("the job to hear the signal", lambda: job.times("heard"), 60)
    watched.ended(job)


def test_a_purge_takes_settings_and_leaves_the_trace(watched: Watched) -> None:
    text = apt("purge", "slurm-spank-adminkit", "adminkit")
    assert "the trace is kept in /var/lib/adminkit" in text
    assert [path for path in (SETTINGS, CONFFILE, SET_ASIDE) if path.exists()] == []
    assert TRACE.exists() and Path("/var/log/adminkit").exists(), "what was done to the jobs of the trace"
    assert pwd.getpwnam("adminkit")
    job = watched.submit("true", "-t", "1")
    watched.ended(job)
    assert watched.state(job) == "COMPLETED"
