"""adminkit.spec on Debian: what each distribution of RPMs has of its own, and packages built for each of them.

`python -m tests.packages.rpms` builds those of this host's Debian into build/rpm-NAME; installed_rpms.py uses them.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import adminkit
from adminkit.sqlite import OLDEST
from tests.packages.where import ROOT

SPEC: Final = ROOT / "adminkit.spec"
#: An earlier release, for upgrades: this source under another number.
EARLIER: Final = "0.1.0"

#: What Debian's rpm lacks of systemd's macros and of SELinux's, by what those of EL 9 expand to.
MACROS: Final = {
    "_unitdir": "/usr/lib/systemd/system",
    "_tmpfilesdir": "/usr/lib/tmpfiles.d",
    "_sysusersdir": "/usr/lib/sysusers.d",
    "_libdir": "/usr/lib64",
    "systemd_requires": "Requires(post): systemd",
    "systemd_preun()": "if [ $1 -eq 0 ]; then systemctl --no-reload disable --now %* || :; fi",
    "systemd_postun()": "systemctl daemon-reload || :",
    "systemd_postun_with_restart()": "if [ $1 -ge 1 ]; then systemctl try-restart %* || :; fi",
    "tmpfiles_create()": "systemd-tmpfiles --create %* || :",
    "selinux_requires": "Requires(post): policycoreutils",
    "selinux_relabel_pre(s:)": ":",
    "selinux_relabel_post(s:)": "fixfiles -C adminkit restore || :",
    "selinux_modules_install(s:)": "semodule -n -s %{-s*} -i %* || :",
    "selinux_modules_uninstall(s:)": "semodule -n -s %{-s*} -r %* || :",
}


@dataclass(frozen=True, slots=True)
class Flavour:
    """A distribution: the Debian whose Python its packages are built with here, its macros, and its own packages."""

    name: str
    debian: str
    macros: dict[str, str]
    sqlite: tuple[str, str]
    systemd: str
    python: str
    useradd: str = "shadow-utils"
    selinux: bool = True
    more: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return ROOT / f"build/rpm-{self.name}"

    @property
    def has_sqlite(self) -> bool:
        """Whether its SQLite is new enough; else the package brings its own."""
        return tuple(map(int, self.sqlite[1].split("."))) >= OLDEST


FLAVOURS: Final = (
    Flavour("el8", "bookworm", {"rhel": "8", "dist": ".el8"}, ("sqlite-libs", "3.26.0"), "239", "python3.11"),
    Flavour("el9", "bookworm", {"rhel": "9", "dist": ".el9"}, ("sqlite-libs", "3.34.1"), "252", "python3.11"),
    Flavour(
        "sles15",
        "bookworm",
        {"suse_version": "1500"},
        ("libsqlite3-0", "3.50.2"),
        "254",
        "python311-base",
        useradd="shadow",
        selinux=False,
    ),
    Flavour("fedora42", "trixie", {"fedora": "42", "dist": ".fc42"}, ("sqlite-libs", "3.47.2"), "257", "python3"),
    Flavour(
        "sles16",
        "trixie",
        {"suse_version": "1600"},
        ("libsqlite3-0", "3.50.2"),
        "257",
        "python313-base",
        useradd="shadow",
    ),
    Flavour("el10", "forky", {"rhel": "10", "dist": ".el10"}, ("sqlite-libs", "3.46.1"), "257", "python3"),
)


def here() -> list[Flavour]:
    """Those whose packages are built and tried on this Debian."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    return [one for one in FLAVOURS if one.debian == codename]


def write_macros(path: Path) -> None:
    """A file for `rpmbuild --load`: with it Debian builds the packages."""
    path.write_text("".join(f"%{name} {value}\n" for name, value in MACROS.items()))


def words(macros: dict[str, str]) -> list[str]:
    """The options that define them."""
    return [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]


def sdist(folder: Path, version: str = adminkit.__version__) -> Path:
    """This source as an archive; under another number where one is named."""
    code = f"import scikit_build_core.build as backend; backend.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    made = folder / f"adminkit-{adminkit.__version__}.tar.gz"
    if version == adminkit.__version__:
        return made
    subprocess.run(["tar", "-xzf", made, "-C", folder], check=True)
    made.unlink()
    source = Path(str(made).removesuffix(".tar.gz")).rename(folder / f"adminkit-{version}")
    for path in (source / "adminkit.spec", source / "adminkit/__init__.py"):
        path.write_text(path.read_text().replace(adminkit.__version__, version))
    other = folder / f"{source.name}.tar.gz"
    subprocess.run(["tar", "-czf", other, "-C", folder, source.name], check=True)
    shutil.rmtree(source)
    return other


def build(flavour: Flavour, archive: Path, to: Path, *more: str) -> list[Path]:
    """The packages of a source, in the folder `to`, as `flavour` has them but for Debian's Python."""
    with tempfile.TemporaryDirectory() as top:
        own = {
            "_topdir": top,
            "adminkit_python": f"/usr/bin/python3.{sys.version_info[1]}",
            "_binary_payload": "w1.gzdio",
        }
        if not flavour.has_sqlite:
            own["sqlite_source"] = str(ROOT / "build/sqlite")
            subprocess.run([ROOT / "tools/archive/sqlite.sh", own["sqlite_source"]], check=True)
        options = words(MACROS | flavour.macros | own)
        subprocess.run(["rpmbuild", "-tb", "--nodeps", *options, *more, archive], check=True, stdout=subprocess.DEVNULL)
        to.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.move(path, to / path.name)) for path in sorted(Path(top, "RPMS").glob("*/*.rpm"))]


def names(folder: Path, version: str = adminkit.__version__) -> dict[str, Path]:
    """Name -> file, of the packages of that version."""
    found = (re.fullmatch(r"(.+)-([\d.]+)-[^-]+\.rpm", path.name) for path in sorted(folder.glob("*.rpm")))
    return {match[1]: folder / match[0] for match in found if match and match[2] == version}


def main() -> int:
    """Every flavour of this Debian, and the earlier release of the first."""
    with tempfile.TemporaryDirectory() as folder:
        archive = sdist(Path(folder))
        for flavour in here():
            shutil.rmtree(flavour.folder, ignore_errors=True)
            for made in build(flavour, archive, flavour.folder):
                print(made.relative_to(ROOT), flush=True)
        for flavour in here()[:1]:
            build(flavour, sdist(Path(folder), EARLIER), flavour.folder, "--without", "selinux")
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
