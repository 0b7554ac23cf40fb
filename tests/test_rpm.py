"""adminkit.spec: what it asks for beside which Slurm, and (by `make soak`) the packages that rpmbuild makes of it.

No EL is here: rpmbuild runs on Debian with stand-ins for systemd macros, and dependencies are looked at, not resolved:
the real dnf does that in tests/packages/installed_rpms.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adminkit
from tests.packages.rpms import FLAVOURS, MACROS, SPEC, Flavour, words
from tools.docs import ROOT

PYTHON = f"python(abi) = {sys.version_info[0]}.{sys.version_info[1]}"


def rpm(program: str, *words: str | Path, **macros: str) -> str:
    """What one of rpm's programs says. Skips where there is none."""
    if not shutil.which(program):
        pytest.skip(f"not run: {program} is not installed")
    defined = [
        word
        for name, value in (MACROS | {"adminkit_python": sys.executable} | macros).items()
        for word in ("--define", f"{name} {value}")
    ]
    done = subprocess.run([program, *defined, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda one: one.name)
def test_each_distribution_is_asked_for_by_its_own_names(flavour: Flavour) -> None:
    known = {"slurm": "24.11", "slurm_next": "24.12"}
    said = rpm("rpmspec", "-q", "--requires", SPEC, **known, **flavour.macros).splitlines()
    assert flavour.useradd in said
    assert (f"{flavour.sqlite[0]} >= 3.37" in said) == flavour.has_sqlite
    names = rpm("rpmspec", "-q", "--queryformat", "%{name}\n", SPEC, **known, **flavour.macros).split()
    assert ("adminkit-selinux" in names) == flavour.selinux


@pytest.mark.parametrize(
    ("macros", "expected", "why"),
    [
        ({"rhel": "8"}, "python3.12", "the system's is 3.6"),
        ({"rhel": "9"}, "python3.12", "the system's is 3.9"),
        ({"rhel": "10"}, "python3", "the system's is 3.12"),
        ({"fedora": "42"}, "python3", "the system's is 3.13"),
        ({"suse_version": "1500"}, "python3.11", "the system's is 3.6"),
        ({"suse_version": "1600"}, "python3", "the system's is 3.13"),
    ],
)
def test_the_python_is_one_that_the_distribution_has(macros: dict[str, str], expected: str, why: str) -> None:
    if not shutil.which("rpmspec"):
        pytest.skip("not run: rpmspec is not installed")
    options = words({**MACROS, **macros, "py": "3.12", "slurm": "24.11", "slurm_next": "24.12"})
    done = subprocess.run(["rpmspec", *options, "-P", SPEC], capture_output=True, text=True, check=False)
    assert f"\n/usr/bin/{expected} -m venv build/rpm/tools\n" in done.stdout, (why, done.stderr)


def test_a_host_that_has_neither_python_nor_slurm_is_told_what_it_lacks(tmp_path: Path) -> None:
    """As where a source package is made, or a chroot to build it in."""
    said = rpm("rpmspec", "-q", "--buildrequires", SPEC, adminkit_python="/no/python3.12", slurm_prefix=str(tmp_path))
    assert {"/no/python3.12", "python(abi) >= 3.11", "slurm-devel"} <= set(said.splitlines())


def test_every_unit_that_can_be_enabled_is_stopped_by_a_removal() -> None:
    (listed,) = re.findall(r"^%global units (.*)$", SPEC.read_text(), re.MULTILINE)
    units = {path.name for path in (ROOT / "etc/systemd").iterdir() if "[Install]" in path.read_text()}
    assert set(listed.split()) == units


@pytest.mark.parametrize(
    ("number", "words", "expected", "why"),
    [
        ("0x160508", [], {"slurm >= 22.05", "slurm < 22.06"}, "22.05.8, as Debian 12 has it"),
        ("0x180b05", [], {"slurm >= 24.11", "slurm < 24.12"}, "24.11.5"),
        ("0x1a0505", [], {"slurm >= 26.05", "slurm < 26.06"}, "26.05.5"),
        ("0x180b05", ["--without", "slurm_rpm"], set(), "a Slurm that no RPM installed"),
    ],
)
def test_the_plugin_goes_with_the_slurm_it_was_built_for(
    tmp_path: Path, number: str, words: list[str], expected: set[str], why: str
) -> None:
    header = tmp_path / "include" / "slurm" / "slurm_version.h"
    header.parent.mkdir(parents=True)
    header.write_text(f"#define SLURM_VERSION_NUMBER {number}\n")
    said = rpm("rpmspec", *words, "-q", "--requires", SPEC, slurm_prefix=str(tmp_path))
    assert {line for line in said.splitlines() if line.startswith("slurm ")} == expected, why
    assert PYTHON in said
    assert "sqlite-libs >= 3.37" in said


@pytest.mark.parametrize(
    ("words", "expected"), [([], "/usr/lib64/slurm"), (["--without", "slurm_rpm"], "/opt/slurm/lib/slurm")]
)
def test_the_plugin_goes_into_that_slurms_folder(tmp_path: Path, words: list[str], expected: str) -> None:
    prefix = "/usr" if not words else "/opt/slurm"
    said = rpm(
        "rpmspec", *words, "-P", SPEC, slurm_prefix=prefix, slurm="24.11", slurm_next="24.12", _libdir="/usr/lib64"
    )
    assert f"\n{expected}/adminkit_ckpt.so\n" in said


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages, from an sdist of this source, beside the Slurm that is installed."""
    for needed in ("rpmbuild", "cpio", "cmake"):
        if not shutil.which(needed):
            pytest.skip(f"not run: {needed} is not installed")
    if not Path("/usr/include/slurm/slurm_version.h").exists():
        pytest.skip("not run: no headers of Slurm")
    top = tmp_path_factory.mktemp("rpm")
    code = f"import scikit_build_core.build as backend; backend.build_sdist({str(top)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    plain = {"_topdir": str(top), "adminkit_python": "/usr/bin/python3"}
    rpm("rpmbuild", "-tb", "--nodeps", next(top.glob("*.tar.gz")), **plain)
    return next((top / "RPMS").iterdir())


@pytest.mark.soak
def test_rpmbuild_makes_both_and_each_has_what_is_its_own(built: Path) -> None:
    files = {path.name.partition("-0")[0].partition(f"-{adminkit.__version__}")[0]: path for path in built.iterdir()}
    assert set(files) == {"adminkit", "slurm-spank-adminkit"}
    plugin = rpm("rpm", "-qpl", files["slurm-spank-adminkit"]).splitlines()
    kit = rpm("rpm", "-qpl", files["adminkit"]).splitlines()
    assert "/usr/lib64/slurm/adminkit_ckpt.so" in plugin
    assert {"/usr/lib64/slurm/adminkit_gpu_use.so", "/usr/lib64/slurm/adminkit-gpu-use"} <= set(plugin)
    assert {"/usr/lib64/slurm/adminkit_data.so", "/usr/lib64/slurm/adminkit-stage"} <= set(plugin)
    assert "/usr/lib64/slurm/adminkit_io.so" in plugin
    assert {f"/usr/share/man/man8/adminkit_{name}.8" for name in ("ckpt", "data", "gpu_use", "io")} <= set(plugin)
    for needed in (
        "/usr/bin/adminkit",
        "/usr/lib/adminkit/bin/adminkit-ingest",
        "/usr/lib/adminkit/bin/adminkit-simulate",
        "/usr/lib/adminkit/lib/adminkit/adminkit-columns.so",
        "/usr/lib/adminkit/share/adminkit/job_submit/job_submit.lua",
        "/usr/lib/systemd/system/adminkit-sync.timer",
        "/usr/lib/tmpfiles.d/adminkit.conf",
        "/usr/lib/sysusers.d/adminkit.conf",
        "/usr/share/man/man1/adminkit-sync.1",
        "/usr/share/man/man5/adminkit.toml.5",
        "/usr/share/man/man7/adminkit-users.7",
        "/usr/share/man/ja/man7/adminkit-users.7",
        "/usr/share/bash-completion/completions/adminkit",
    ):
        assert needed in kit
    assert rpm("rpm", "-qp", "--configfiles", files["adminkit"]).split() == ["/etc/adminkit/adminkit.toml"]


@pytest.mark.soak
def test_the_packages_ask_for_python_slurm_and_the_system_and_not_for_what_wheels_bring(built: Path) -> None:
    kit, plugin = (rpm("rpm", "-qpR", next(built.glob(name))) for name in ("adminkit-*", "slurm-spank-*"))
    assert re.findall(r"^python\(abi\) = 3\.\d+$", kit, re.MULTILINE)
    assert not re.search(r"openblas|libgfortran|python3dist", kit)
    assert re.search(r"^slurm >= \d\d\.\d\d$", plugin, re.MULTILINE)
    assert "libslurm" not in plugin, "slurmstepd has its own"


@pytest.mark.soak
def test_scripts_make_the_user_and_enable_and_delete_nothing(built: Path) -> None:
    scripts = rpm("rpm", "-qp", "--scripts", next(built.glob("adminkit-*")))
    assert "useradd -r -g adminkit -d /var/lib/adminkit" in scripts
    assert not re.search(r"systemctl.* preset", scripts), "where presets enable everything, timers would be on"
    assert "disable --now adminkit-sync.timer" in scripts
    assert not re.search(r"\brm -|userdel|groupdel", scripts)
    assert rpm("rpm", "-qp", "--scripts", next(built.glob("slurm-spank-*"))) == ""


@pytest.mark.soak
def test_what_is_unpacked_runs(built: Path, tmp_path: Path) -> None:
    package = next(built.glob("adminkit-*"))
    subprocess.run(f"rpm2cpio {package} | cpio -id --quiet", shell=True, cwd=tmp_path, check=True)  # noqa: S602
    python = tmp_path / "usr/lib/adminkit/bin/python"
    for command in ("demo --db demo.db --no-plot", "report accuracy --db demo.db", "policy check"):
        done = subprocess.run(
            [python, "-I", "-m", "adminkit.cli.main", *command.split()], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
