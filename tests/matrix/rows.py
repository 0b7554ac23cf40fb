"""The rows of the matrix, one Slurm each, and its columns, one suite each."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


GUEST: Final = "guest"
#: The Debian whose Linux guests run. User-Mode Linux has cpusets since 6.19.
KERNEL_OF: Final = "forky"


@dataclass(frozen=True, slots=True)
class Row:
    """One Slurm. `target` is the stage of the Dockerfile it comes from, `env` what its suites are told besides.

    `only`: the suites that it is for; none names all.
    """

    name: str
    debian: str
    slurm: str
    target: str = "debian"
    env: tuple[tuple[str, str], ...] = ()
    about: str = ""
    only: tuple[str, ...] = ()

    @property
    def is_guest(self) -> bool:
        """Whether its suites run in a guest (guest.py), with cgroup v2 and systemd, else in a container."""
        return self.target == GUEST

    def takes(self, suite: str) -> bool:
        """Whether it is for that suite."""
        return not self.only or suite in self.only


@dataclass(frozen=True, slots=True)
class Suite:
    """What is run in a row's container, from the root of the copied repository.

    `clean`: in one of the bare Debian, without Slurm, compiler or headers. `target`: only on rows of that target.
    `packages`: of Debian's, which it needs besides and no other suite does; `wheels`: of PyPI's.
    """

    name: str
    command: tuple[str, ...]
    pytest: bool = True
    clean: bool = False
    target: str = ""
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()


def _guest(debian: str, slurm: str) -> Row:
    """The suites in which it matters how Slurm keeps a job's processes together."""
    signalled = ("ckpt", "ckpt_examples", "ckpt_limits", "elastic", "progress")
    limited = ("extend", "extend_long", "soft_limits")
    only = (*signalled, *limited, "cluster", "hub", "installed")
    about = f"{debian}'s image under systemd, steps in cgroups"
    return Row(f"{debian}-v2", debian, slurm, GUEST, (("ADMINKIT_PROCTRACK", "cgroup"),), about, only)


ROWS: Final = (
    Row("bookworm", "bookworm", "22.05", about="Debian 12's own packages"),
    Row("trixie", "trixie", "24.11", about="Debian 13's own packages"),
    Row("forky", "forky", "26.05", about="Debian testing's own packages"),
    Row("prefix", "trixie", "24.11", target="prefix", about="the source, under /opt/slurm, with Lua 5.4"),
    _guest("bookworm", "22.05"),
    _guest("trixie", "24.11"),
    _guest("forky", "26.05"),
)


#: The helper is built with the environment; plugins are built against the row's own headers.
_BUILD: Final = "make -s .venv/.built; .venv/bin/adminkit --version; make -s -C spank"
BUILD: Final = Suite("build", ("sh", "-ec", _BUILD), pytest=False)
#: Debian's packages, built for the row's own Slurm and then installed where nothing is.
PACKAGES: Final = Suite("packages", ("make", "-s", "deb"), pytest=False, target="debian")
_RPMS: Final = "apt-get -q update; apt-get -q -y install --no-install-recommends rpm selinux-policy-dev bzip2 npm"
#: RPMs of the distributions whose Python this Debian has; then by the real dnf where no rpm is installed.
RPMS: Final = Suite(
    "rpms",
    ("sh", "-ec", f"{_RPMS}; make -s .venv/.built; .venv/bin/python -m tests.packages.rpms"),
    pytest=False,
    target="debian",
)
DNF: Final = Suite(
    "dnf",
    ("-x", "tests/packages/installed_rpms.py"),
    clean=True,
    target="debian",
    packages=("rpm", "dnf", "zypper", "createrepo-c", "rpmlint", "systemd"),
)
SELINUX: Final = Suite(
    "selinux",
    ("-x", "tests/packages/selinux.py"),
    clean=True,
    target="debian",
    packages=("selinux-policy-dev", "selinux-policy-default", "setools", "selinux-utils"),
)
#: On that Slurm, whose users then come from a directory.
LDAP: Final = Suite(
    "ldap", ("-x", "tests/cluster/ldap.py"), target="debian", packages=("slapd", "ldap-utils", "nslcd", "libnss-ldapd")
)
INSTALLED: Final = Suite("installed", ("-x", "tests/packages/installed.py"), clean=True, target="debian")


def suites(root: Path = ROOT) -> list[Suite]:
    """The build first, then what needs no Slurm, then every file of tests on one."""
    found = [
        BUILD,
        Suite("c", ("sh", "-ec", "make -s -C tests/c check; make -s -C tests/spank check"), pytest=False),
        PACKAGES,
        INSTALLED,
        RPMS,
        DNF,
        SELINUX,
        LDAP,
        Suite("unit", ("-n", "2", "--dist", "loadfile", "-m", "not cluster and not soak and not web")),
    ]
    for path in sorted((root / "tests/cluster").glob("test_*.py")):
        text = path.read_text()
        if "soak" not in path.stem and _BOOTS.search(text):
            which = "cluster" if _LONG.search(text) else "cluster and not soak"
            packages = ("python3-torch",) if "has_torch" in text else ("locales",) if "make_locales" in text else ()
            wheels: tuple[str, ...] = ()
            if "tests.web.hub" in text:
                packages, wheels = ("nodejs", "npm"), _of_extra(root, "jupyter")
            command = ("-m", which, str(path.relative_to(root)))
            found.append(Suite(path.stem.removeprefix("test_"), command, packages=packages, wheels=wheels))
    return found


def _of_extra(root: Path, name: str) -> tuple[str, ...]:
    """What pip installs for an extra of adminkit's."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return tuple(project["optional-dependencies"][name])


#: What a file of tests imports that has a Slurm booted.
_BOOTS: Final = re.compile(
    r"^from tests\.(?:cluster\.(?:harness\.(?:cluster|ruled|checkpoint|elastic|extend|gpu_use)|conftest)"
    r"|simulate_real\.cluster) import",
    re.MULTILINE,
)
#: A file whose every test is one of `make soak`.
_LONG: Final = re.compile(r"^pytestmark = .*mark\.soak", re.MULTILINE)
