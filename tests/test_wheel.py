"""The wheel, in a fresh environment and away from the source: what a site installs does what the checkout does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

import adminkit

ROOT = Path(__file__).parent.parent
#: All that a wheel is made of.
SOURCE = ("adminkit", "etc", "job_submit", "spank", "pyproject.toml", "README.md", "LICENSE")
SACCT = """JobID|JobIDRaw|Submit|Cluster|State|Start|End|Partition|Timelimit
1|1|1500000000|alpha|COMPLETED|1500000060|1500003660|gq|01:00:00
2|2|1500000000|alpha|COMPLETED|1500000060|1500001860|gq|02:00:00
"""


@dataclass(frozen=True)
class Site:
    """An installation: `prefix` is its environment, `work` a folder to run in. Neither is in the source tree."""

    prefix: Path
    work: Path

    def run(self, program: str, *words: str) -> str:
        """What a program of the installation prints. The libraries are lent; the wheel itself is not."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ADMINKIT_", "PYTHON"))}
        # Trap: .pth files, and so the hook of an editable install, count in site-packages, not in PYTHONPATH.
        env |= {"PATH": f"{self.prefix}/bin:/usr/bin:/bin", "PYTHONPATH": sysconfig.get_path("purelib")}
        command = [self.prefix / "bin" / program, *words]
        done = subprocess.run(command, env=env, cwd=self.work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def python(self, code: str) -> Path:
        """The path that an expression of Python has there."""
        return Path(self.run("python", "-c", f"import adminkit, adminkit.installed as i; print({code})"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The wheel of a copy of the source, built and installed."""
    top = tmp_path_factory.mktemp("wheel")
    for folder in ("source", "work"):
        (top / folder).mkdir()
    for part in filter(Path.exists, (ROOT / name for name in SOURCE)):
        copy = shutil.copytree if part.is_dir() else shutil.copy
        copy(part, top / "source" / part.name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    # Where the system has no cmake, pip fetches one from PyPI, as it did when adminkit was installed.
    ours = ["--no-build-isolation"] if shutil.which("cmake") else []
    _run([*pip, "wheel", ".", "--no-deps", *ours, "-w", str(top)], top / "source")
    (wheel,) = top.glob("*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", str(top / "prefix")], top)
    new = str(top / "prefix" / "bin" / "python")
    _run([*pip, "--python", new, "install", "--no-deps", "--no-index", str(wheel)], top)
    shutil.rmtree(top / "source")
    return Site(top / "prefix", top / "work")


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("adminkit.__file__", "lib/python*/site-packages/adminkit/__init__.py"),
        ("i.helper_path()", "bin/adminkit-ingest"),
        ("i.data_file('etc', 'adminkit.toml')", "share/adminkit/etc/adminkit.toml"),
        ("i.data_file('etc', 'policy.toml')", "share/adminkit/etc/policy.toml"),
        ("i.data_file('job_submit', 'adminkit', 'decide.lua')", "share/adminkit/job_submit/adminkit/decide.lua"),
        ("i.data_file('etc', 'systemd', 'adminkit-sync.timer')", "share/adminkit/etc/systemd/adminkit-sync.timer"),
    ],
)
def test_every_part_comes_from_the_installation(site: Site, code: str, where: str) -> None:
    assert [site.python(code)] == list(site.prefix.glob(where))


def test_both_programs_are_of_the_same_release(site: Site) -> None:
    ours, helpers = (site.run(program, "--version").split()[:2] for program in ("adminkit", "adminkit-ingest"))
    assert (ours, helpers) == (["adminkit", adminkit.__version__], ["adminkit-ingest", adminkit.__version__])


def test_jobs_are_imported_and_reported(site: Site) -> None:
    (site.work / "sacct.txt").write_text(SACCT)
    assert "new 2" in site.run("adminkit", "import", "sacct.txt", "--db", "trace.db")
    report = json.loads(site.run("adminkit", "report", "accuracy", "--format", "json", "--db", "trace.db"))
    queue = next(row for row in report["rows"] if row["queue"] == "gq")
    assert (queue["jobs"], queue["min"], queue["max"]) == (2, 0.25, 1.0)


def test_the_example_policy_decides_with_the_lua_of_the_installation(site: Site) -> None:
    tried = json.loads(site.run("adminkit", "policy", "try", "-p", "gq", "-t", "100:00:00", "-G", "1", "-f", "json"))
    assert [row["rules"].split()[0] for row in tried["rows"]] == ["gq-max=reject"]


def test_data_files_are_the_checkouts_byte_for_byte(site: Site) -> None:
    for name in ("etc", "job_submit"):
        files = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*") if path.is_file()}
        shared = site.prefix / "share" / "adminkit"
        assert {path.relative_to(shared) for path in (shared / name).rglob("*") if path.is_file()} == files
        assert [file for file in files if (shared / file).read_bytes() != (ROOT / file).read_bytes()] == []
