"""A repository as a distribution has it: packages with names and versions, and nothing in them, for the real dnf.

What the packages ask for by library and symbol is provided whatever it is: that comes from where they were built.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.packages.rpms import Flavour, words

_HEAD: Final = """Name: stubs
Version: 1
Release: 1
Summary: Stand-ins
License: MIT
BuildArch: noarch
%description
Stand-ins.
"""


def repository(flavour: Flavour, folder: Path, built: list[Path], sqlite: str, slurm: str) -> Path:
    """A repository of what the flavour has, with that SQLite and that Slurm."""
    abi = f"{sys.version_info[0]}.{sys.version_info[1]}"
    spec = _HEAD
    for name, version, provides in (
        ("glibc", "2", _libraries(built)),
        ("bash", "5", ["/bin/sh", "/usr/bin/sh", "/usr/bin/bash"]),
        (flavour.python, abi, [f"python(abi) = {abi}"]),
        (flavour.sqlite[0], sqlite, []),
        ("systemd", flavour.systemd, []),
        (flavour.useradd, "4.9", []),
        ("slurm", slurm, []),
        ("policycoreutils", "3.6", []),
        ("selinux-policy-targeted", "38", []),
    ):
        spec += f"%package -n {name}\nVersion: {version}\nSummary: {name}\n"
        spec += "".join(f"Provides: {one}\n" for one in provides)
        spec += f"%description -n {name}\nNothing.\n%files -n {name}\n"
    with tempfile.TemporaryDirectory() as top:
        path = Path(top, "stubs.spec")
        path.write_text(spec)
        subprocess.run(["rpmbuild", "-bb", *words({"_topdir": top}), path], check=True, capture_output=True)
        folder.mkdir(parents=True)
        for made in Path(top, "RPMS/noarch").iterdir():
            (folder / made.name).write_bytes(made.read_bytes())
    for package in built:
        (folder / package.name).write_bytes(package.read_bytes())
    subprocess.run(["createrepo_c", "-q", folder], check=True)
    return folder


def _libraries(built: list[Path]) -> list[str]:
    """Every library, symbol version and program that the packages ask for by itself."""
    said = subprocess.run(["rpm", "-qp", "--requires", *built], check=True, capture_output=True, text=True).stdout
    return sorted({line for line in said.splitlines() if re.match(r"(lib|ld-|rtld)\S*\(", line)})
