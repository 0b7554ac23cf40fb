"""The RPMs as an operator meets them, by the real dnf: `make matrix MATRIX='--suite rpms --suite dnf'`.

pytest takes this file only by its name. Root of a bare Debian stands in for each distribution: the other packages are
stubs with that distribution's names and versions, scripts run Debian's programs, and systemctl only notes what it is
asked. Each flavour is installed, upgraded where an earlier release was built, and removed.
"""

from __future__ import annotations

import json
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import adminkit
from tests.packages import rpms, stubs, where
from tests.packages.rpms import EARLIER, Flavour

ENV: Final = Path("/usr/lib/adminkit")
SETTINGS: Final = Path("/etc/adminkit/adminkit.toml")
TRACE: Final = Path("/var/lib/adminkit/trace.db")
ASKED: Final = Path("/tmp/systemctl-asked")
SWF: Final = "; UnixStartTime: 1500000000\n1 0 10 3600 1 -1 -1 1 7200 -1 1 1 1 -1 1 -1 -1 -1\n"
#: Where the packages are unpacked besides, by one command or the other.
DATABASES: Final = ("/var/lib/rpm", "/root/.rpmdb", "/usr/lib/sysimage/rpm", "/var/lib/dnf", "/var/cache/dnf")


def dnf(repository: Path, *words: str | Path, code: int = 0) -> str:
    """What dnf said; its exit code has to be `code`."""
    options = ["--disablerepo=*", f"--repofrompath=site,{repository}", "--enablerepo=site", "--nogpgcheck"]
    options += ["--setopt=install_weak_deps=False", "--releasever=9"]
    done = subprocess.run(["dnf", "-y", *options, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def said(*words: str | Path, user: str = "nobody") -> str:
    command = ["/usr/sbin/runuser", "-u", user, "--", *map(str, words)]
    done = subprocess.run(command, cwd="/tmp", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def asked() -> str:
    """What systemctl was asked since the last call."""
    text = ASKED.read_text() if ASKED.exists() else ""
    ASKED.unlink(missing_ok=True)
    return text


@pytest.fixture(scope="module", params=[one.name for one in rpms.here()])
def flavour(request: pytest.FixtureRequest) -> Iterator[Flavour]:
    """A host of that distribution without adminkit."""
    systemctl = Path("/usr/bin/systemctl")  # trap: rpm gives scripts a PATH of its own
    systemctl.write_text(f'#!/bin/sh\necho "$@" >>{ASKED}\n')
    systemctl.chmod(0o755)
    for folder in (*DATABASES, "/var/lib/adminkit", "/var/lib/adminkit-own", "/var/log/adminkit", "/etc/adminkit"):
        shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["userdel", "adminkit"], capture_output=True, check=False)
    subprocess.run(["groupadd", "-f", "-r", "slurm"], check=True)
    asked()
    yield next(one for one in rpms.FLAVOURS if one.name == request.param)


@pytest.fixture(scope="module")
def slurm(flavour: Flavour) -> str:
    """The release of Slurm that the plugin was built for."""
    package = rpms.names(flavour.folder)["slurm-spank-adminkit"]
    wanted = subprocess.run(["rpm", "-qpR", package], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^slurm >= (\S+)", wanted, re.MULTILINE)[0]


@pytest.fixture(scope="module")
def built(flavour: Flavour) -> list[Path]:
    """Of this release, and of the earlier one where it was built."""
    return sorted(flavour.folder.glob("*.rpm"))


@pytest.fixture(scope="module")
def site(flavour: Flavour, built: list[Path], slurm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution's repository and ours in one."""
    folder = tmp_path_factory.mktemp("site") / flavour.name
    return stubs.repository(flavour, folder, built, flavour.sqlite[1], f"{slurm}.1")


@pytest.fixture(scope="module")
def earlier(flavour: Flavour) -> bool:
    return bool(rpms.names(flavour.folder, EARLIER))


# Before they are installed.


def test_rpmlint_finds_nothing_that_is_not_explained(flavour: Flavour) -> None:
    words = ["rpmlint", "-r", where.ROOT / "adminkit.rpmlintrc", rpms.SPEC, *rpms.names(flavour.folder).values()]
    text = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert re.search(r"\b0 errors\b", text), text


def test_an_older_sqlite_is_named_where_the_package_brings_none(
    flavour: Flavour, built: list[Path], slurm: str, tmp_path: Path
) -> None:
    older = stubs.repository(flavour, tmp_path / "older", built, "3.26.0", f"{slurm}.1")
    text = dnf(older, "install", "--assumeno", "adminkit", code=1)
    assert (f"{flavour.sqlite[0]} >= 3.37" in text) == flavour.has_sqlite, text


def test_the_plugin_is_refused_beside_another_slurm(flavour: Flavour, built: list[Path], tmp_path: Path) -> None:
    other = stubs.repository(flavour, tmp_path / "other", built, flavour.sqlite[1], "21.08.8")
    text = dnf(other, "install", "slurm-spank-adminkit", code=1)
    assert re.search(r"nothing provides slurm >= \S+ needed by slurm-spank-adminkit", text), text


# Installed.


def test_installing_makes_the_user_and_the_folders_and_switches_nothing_on(site: Path, earlier: bool) -> None:
    release = EARLIER if earlier else adminkit.__version__
    dnf(site, "install", f"adminkit-{release}", f"slurm-spank-adminkit-{release}")
    assert said("adminkit", "--version").startswith(f"adminkit {release} ")
    user = pwd.getpwnam("adminkit")
    assert user.pw_uid < 1000
    assert (user.pw_dir, Path(user.pw_shell).name) == ("/var/lib/adminkit", "nologin")
    table = where.writes()
    for path in ("/var/lib/adminkit", "/var/log/adminkit"):
        facts = Path(path).stat()
        assert oct(stat.S_IMODE(facts.st_mode)) == oct(table[path].mode)
        assert pwd.getpwuid(facts.st_uid).pw_name == table[path].owner
    assert not re.search(r"\b(enable|preset|start|restart)\b", asked())


def test_the_plugin_and_the_units_are_where_slurm_and_systemd_look(site: Path) -> None:
    listed = subprocess.run(["rpm", "-ql", "slurm-spank-adminkit"], capture_output=True, text=True, check=True).stdout
    (plugin,) = (Path(line) for line in listed.splitlines() if line.endswith("/adminkit_ckpt.so"))
    assert plugin.parent == Path("/usr/lib64/slurm")
    assert plugin.exists()
    units = {path.name for path in Path("/usr/lib/systemd/system").glob("adminkit-*")}
    assert units == {path.name for path in (where.ROOT / "etc/systemd").iterdir()}


def test_the_program_imports_and_reports(site: Path) -> None:
    sample = Path("/tmp/adminkit-sample.swf")
    sample.write_text(SWF)
    sample.chmod(0o644)
    said("adminkit", "import", sample, "--cluster", "alpha", user="adminkit")
    assert jobs() == 1
    assert '"jobs": 1' in said("adminkit", "report", "accuracy", "--format", "json", user="adminkit")
    SETTINGS.write_text(SETTINGS.read_text() + "\n# the site's own line\n")


def jobs() -> int:
    """How many runs the trace has."""
    code = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('select count(*) from job').fetchone())"
    return int(said(ENV / "bin/python", "-I", "-c", code, TRACE, user="adminkit"))


def test_both_programs_have_a_sqlite_of_the_package_where_the_systems_is_old(site: Path, flavour: Flavour) -> None:
    """The system's is Debian's here, which is new enough: which one is in use is what is asked."""
    done = subprocess.run(["adminkit", "doctor", "--format", "json"], capture_output=True, text=True, check=False)
    (line,) = [json.dumps(one) for one in json.loads(done.stdout)["rows"] if one["check"] == "sqlite"]
    linked = subprocess.run(["ldd", ENV / "bin/adminkit-ingest"], capture_output=True, text=True, check=True).stdout
    assert ("of pysqlite3" in line, "libsqlite3" in linked) == (not flavour.has_sqlite, flavour.has_sqlite), line


# Upgraded and removed.


def test_an_upgrade_keeps_settings_and_trace_and_what_is_enabled(site: Path, earlier: bool) -> None:
    if not earlier:
        pytest.skip("not run: no earlier release was built for it")
    before, settings = jobs(), SETTINGS.read_text()
    text = dnf(site, "upgrade", "adminkit", "slurm-spank-adminkit")
    assert re.search(r"Upgrad(ed|ing)", text)
    assert said("adminkit", "--version").startswith(f"adminkit {adminkit.__version__} ")
    assert (jobs(), SETTINGS.read_text()) == (before, settings)
    words = asked()
    assert "disable" not in words
    assert "try-restart adminkit-serve.service" in words
    assert not list(ENV.rglob("*.rpmsave"))


def test_a_removal_stops_the_timers_and_keeps_settings_trace_and_user(site: Path) -> None:
    before, settings = jobs_of_file(), SETTINGS.read_text()
    asked()
    dnf(site, "remove", "adminkit", "slurm-spank-adminkit")
    assert not ENV.exists()
    assert not Path("/usr/bin/adminkit").exists()
    kept = SETTINGS.with_name("adminkit.toml.rpmsave")
    assert (SETTINGS.exists(), kept.read_text()) == (False, settings)
    assert jobs_of_file() == before > 0
    assert pwd.getpwnam("adminkit")
    (line,) = [line for line in asked().splitlines() if "disable" in line]
    switched = {name for name in line.split() if name.startswith("adminkit-")}
    enabled_by_hand = {path.name for path in (where.ROOT / "etc/systemd").iterdir() if "[Install]" in path.read_text()}
    assert switched == enabled_by_hand


def test_zypper_solves_and_removes_it_too(site: Path, flavour: Flavour) -> None:
    """It runs Debian's rpm, whose database is another than dnf's here: the host is one without adminkit."""
    if not flavour.name.startswith("sles"):
        pytest.skip("not run: that distribution has no zypper")
    SETTINGS.with_name("adminkit.toml.rpmsave").unlink()
    zypper("addrepo", "--no-gpgcheck", "--refresh", site, "site")
    zypper("install", "--allow-unsigned-rpm", "adminkit", "slurm-spank-adminkit")
    assert said("adminkit", "--version").startswith(f"adminkit {adminkit.__version__} ")
    SETTINGS.write_text(SETTINGS.read_text() + "\n# the site's own line\n")
    zypper("remove", "adminkit", "slurm-spank-adminkit")
    assert not ENV.exists()
    assert SETTINGS.with_name("adminkit.toml.rpmsave").exists()
    assert jobs_of_file() > 0


def zypper(*words: str | Path) -> None:
    command = ["zypper", "--non-interactive", "--no-gpg-checks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def jobs_of_file() -> int:
    """As `jobs`, by the Python of the test."""
    import sqlite3

    with sqlite3.connect(f"file:{TRACE}?mode=ro", uri=True) as db:
        return int(db.execute("SELECT count(*) FROM job").fetchone()[0])
