"""The sdist and the wheel made of it, in a fresh environment away from the source, do what the checkout does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import adminkit

ROOT = Path(__file__).parent.parent
#: All that there is, but for what is built.
SOURCE = (
    *("adminkit", "docs", "etc", "job_submit", "spank", "tests", "tools"),
    *("adminkit.spec", "requirements.txt", "debian/build-requirements.txt", "debian/control", "debian/relocate"),
    *(
        "debian/rules",
        ".gitignore",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "SECURITY.md",
        "pyproject.toml",
    ),
)
PACKAGES = "lib/python*/site-packages"
BUILT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.o", "*.so")
SACCT = """JobID|JobIDRaw|Submit|Cluster|State|Start|End|Partition|Timelimit
1|1|1500000000|alpha|COMPLETED|1500000060|1500003660|gq|01:00:00
2|2|1500000000|alpha|COMPLETED|1500000060|1500001860|gq|02:00:00
"""


@dataclass(frozen=True)
class Site:
    """An installation: `prefix` is its environment, `work` a folder to run in. Neither is in the source tree."""

    prefix: Path
    work: Path
    lent: str = sysconfig.get_path("purelib")  # a folder of libraries; "": it has its own

    def run(self, program: str, *words: str) -> str:
        """What a program of the installation prints. Libraries may be lent; adminkit itself is not."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ADMINKIT_", "PYTHON"))}
        # Trap: .pth files, and so the hook of an editable install, count in site-packages, not in PYTHONPATH.
        env |= {"PATH": f"{self.prefix}/bin:/usr/bin:/bin", "PYTHONPATH": self.lent}
        command = [self.prefix / "bin" / program, *words]
        done = subprocess.run(command, env=env, cwd=self.work, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def python(self, code: str) -> Path:
        """The path that an expression of Python has there."""
        return Path(self.run("python", "-c", f"import adminkit, adminkit.installed as i; print({code})"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source."""
    source = tmp_path_factory.mktemp("source")
    (source / "debian").mkdir()
    for name in SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, source / name)
    return source


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, as the build backend makes it for any frontend."""
    folder = tmp_path_factory.mktemp("sdist")
    code = f"import scikit_build_core.build as backend; backend.build_sdist({str(folder)!r})"
    _run([sys.executable, "-c", code], source)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def site(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The wheel that pip makes of the sdist, installed."""
    top = tmp_path_factory.mktemp("wheel")
    (top / "work").mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    # Where the system has no cmake, pip fetches one from PyPI, as it did when adminkit was installed.
    ours = ["--no-build-isolation"] if shutil.which("cmake") else []
    _run([*pip, "wheel", str(sdist), "--no-deps", *ours, "-w", str(top)], top)
    (wheel,) = top.glob("*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", str(top / "prefix")], top)
    new = str(top / "prefix" / "bin" / "python")
    # What is imported is compiled then.
    _run([*pip, "--python", new, "install", "--no-compile", "--no-deps", "--no-index", str(wheel)], top)
    return Site(top / "prefix", top / "work")


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sdist_holds_every_file_of_the_source_and_nothing_that_was_built(source: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert names == files | {"PKG-INFO"}


def test_the_metadata_is_what_an_index_takes(sdist: Path) -> None:
    """packaging checks it by the rules of the index: names, specifiers, the licence's expression, the readme's kind."""
    with tarfile.open(sdist) as archive:
        info = archive.extractfile(f"adminkit-{adminkit.__version__}/PKG-INFO")
        assert info
        found = Metadata.from_email(info.read(), validate=True)
    assert (found.name, str(found.version)) == ("adminkit", adminkit.__version__)
    assert (found.license_expression, found.license_files) == ("GPL-2.0-or-later", ["LICENSE"])
    assert str(found.requires_python) == ">=3.11"
    assert found.description_content_type == "text/markdown"
    assert not [one for one in found.classifiers or () if one.startswith("License ::")], "the expression says it"


def test_the_wheel_is_for_this_machine_and_for_any_python(site: Site) -> None:
    """It holds a program, so it is not `any`; no extension, so it serves every Python 3."""
    tags = re.findall(r"^Tag: (.*)$", next(site.prefix.glob(f"{PACKAGES}/adminkit-*/WHEEL")).read_text(), re.MULTILINE)
    assert [tag for tag in tags if not re.fullmatch(r"py3-none-(?!any)\w+", tag)] == []


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("adminkit.__file__", f"{PACKAGES}/adminkit/__init__.py"),
        ("i.helper_path()", "bin/adminkit-ingest"),
        ("i.simulator_path()", "bin/adminkit-simulate"),
        ("i.columns_library()", "lib/adminkit/adminkit-columns.so"),
        ("i.data_file('etc', 'adminkit.toml')", "share/adminkit/etc/adminkit.toml"),
        ("i.data_file('etc', 'maps', 'philly.toml')", "share/adminkit/etc/maps/philly.toml"),
        ("i.data_file('etc', 'policy.toml')", "share/adminkit/etc/policy.toml"),
        ("i.data_file('job_submit', 'adminkit', 'decide.lua')", "share/adminkit/job_submit/adminkit/decide.lua"),
        ("i.data_file('etc', 'systemd', 'adminkit-sync.timer')", "share/adminkit/etc/systemd/adminkit-sync.timer"),
    ],
)
def test_every_part_comes_from_the_installation(site: Site, code: str, where: str) -> None:
    assert [site.python(code)] == list(site.prefix.glob(where))


@pytest.mark.parametrize(
    "where",
    [
        "etc/jupyter/jupyter_server_config.d/adminkit.json",
        "share/jupyter/labextensions/adminkit-idle/package.json",
        "share/jupyter/labextensions/adminkit-idle/static/idle.js",
    ],
)
def test_jupyter_finds_its_extension(site: Site, where: str) -> None:
    assert (site.prefix / where).read_bytes() == (ROOT / "adminkit/jupyter/data" / where).read_bytes()


@pytest.mark.parametrize("program", ["adminkit", "adminkit-ingest", "adminkit-simulate"])
def test_all_programs_are_of_the_same_release(site: Site, program: str) -> None:
    assert site.run(program, "--version").split()[:2] == [program, adminkit.__version__]


def test_jobs_are_imported_and_reported(site: Site) -> None:
    (site.work / "sacct.txt").write_text(SACCT)
    assert "new 2" in site.run("adminkit", "import", "sacct.txt", "--db", "trace.db")
    report = json.loads(site.run("adminkit", "report", "accuracy", "--format", "json", "--db", "trace.db"))
    queue = next(row for row in report["rows"] if row["queue"] == "gq")
    assert (queue["jobs"], queue["min"], queue["max"]) == (2, 0.25, 1.0)


def test_the_wheel_has_every_module_and_template(site: Site) -> None:
    """Whoever makes a demo or a letter there has what the checkout has."""
    (package,) = site.prefix.glob(f"{PACKAGES}/adminkit")
    files = (path for path in (ROOT / "adminkit").rglob("*") if path.is_file() and path.suffix not in (".pyc", ".mo"))
    places = {path.relative_to(ROOT / "adminkit") for path in files}
    elsewhere = {place for place in places if place.parts[0] == "native" or place.parts[:2] == ("jupyter", "data")}
    assert places - elsewhere - {path.relative_to(package) for path in package.rglob("*")} == set()


def test_the_example_policy_has_no_mistake(site: Site) -> None:
    site.run("adminkit", "policy", "check")


def test_the_example_policy_decides_with_the_lua_of_the_installation(site: Site) -> None:
    tried = json.loads(site.run("adminkit", "policy", "try", "-p", "gq", "-t", "100:00:00", "-G", "1", "-f", "json"))
    assert [row["rules"].split()[0] for row in tried["rows"]] == ["gq-max=reject"]


def test_data_files_are_the_checkouts_byte_for_byte(site: Site) -> None:
    for name in ("etc", "job_submit"):
        files = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*") if path.is_file()}
        shared = site.prefix / "share" / "adminkit"
        assert {path.relative_to(shared) for path in (shared / name).rglob("*") if path.is_file()} == files
        assert [file for file in files if (shared / file).read_bytes() != (ROOT / file).read_bytes()] == []


@pytest.mark.soak
@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_a_clean_environment_gets_all_it_needs_from_the_index(
    what: str, source: Path, sdist: Path, tmp_path: Path
) -> None:
    """Built apart, nothing lent: a dependency that is not declared would be missed here."""
    _run([sys.executable, "-m", "venv", str(tmp_path / "prefix")], tmp_path)
    pip = [str(tmp_path / "prefix" / "bin" / "pip"), "--disable-pip-version-check", "-q"]
    package = str(sdist)
    if what == "wheel":
        _run([*pip, "wheel", str(source), "--no-deps", "-w", str(tmp_path)], tmp_path)
        package = str(next(tmp_path.glob("*.whl")))
    _run([*pip, "install", package], tmp_path)
    (tmp_path / "work").mkdir()
    site = Site(tmp_path / "prefix", tmp_path / "work", lent="")
    for command in ("doctor --help", "demo --db demo.db --no-plot", "report accuracy --db demo.db", "policy check"):
        site.run("adminkit", *command.split())


def test_the_catalogues_are_built_and_found_in_an_isolated_python(site: Site) -> None:
    code = "from adminkit.messages import *; print(translated(message('nodes have room'), 'ja'))"
    assert site.run("python", "-I", "-c", code) == "ノードに空きがあります"
