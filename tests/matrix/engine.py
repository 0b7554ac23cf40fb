"""podman (or ENGINE): a row's image, its copy of the repository, one container for each suite, or one guest.

A row's folder is build/matrix/ROW/: the files that git knows, with an environment of the container's own Python, which
stays for the next run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.matrix import guest, network
from tests.matrix.results import Cell, Ground, from_junit, not_run
from tests.matrix.rows import BUILD, GUEST, KERNEL_OF, PACKAGES, ROOT, Row, Suite
from tests.setup.guard import CONTAINER

ENGINE: Final = os.environ.get("ENGINE", "podman")
#: Seconds for one suite; rows that run side by side slow each other down.
LIMIT: Final = 2700.0
COMPOSE: Final = ROOT / "tests/cluster/compose"
UML: Final = ROOT / "tests/matrix/uml"
GUESTS: Final = ROOT / "build/matrix/guests"
_MADE_OF: Final = (COMPOSE / "Dockerfile", COMPOSE / "base.sh", ROOT / "tests/setup/install.sh")

#: slurmstepd reads other users' processes and raises limits, as root of a host may; a test mounts a disk to fill.
_RIGHTS: Final = tuple(
    f"--cap-add={right}" for right in ("SYS_PTRACE", "SYS_NICE", "SYS_RESOURCE", "SYS_ADMIN", "MKNOD")
)
#: Whom this host trusts, for pip.
_TRUST: Final = Path("/etc/ssl/certs/ca-certificates.crt")
#: What resolves the names of containers, of podman's newer and of its older networks.
_NAMES: Final = tuple(
    Path(path) for path in ("/usr/lib/podman/aardvark-dns", "/usr/libexec/podman/aardvark-dns", "/usr/lib/cni/dnsname")
)
_CATATONIT: Final = Path("/usr/libexec/podman/catatonit")
_CGROUPS: Final = Path("/sys/fs/cgroup")
#: Trap: podman asks for limits of its own, which a host that lacks the right to raise its own refuses.
LIMITS: Final = ("--ulimit", "nofile=1024:4096", "--ulimit", "nproc=4096:4096")
_GROUND: Final = """slurmctld -V; . /etc/os-release; echo "$PRETTY_NAME"; python3 -V
lua=$(find / -xdev -name job_submit_lua.so 2>/dev/null | head -n 1)
ldd "$lua" | sed -n 's/\\s*\\(liblua[^ ]*\\).*/\\1/p'
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo v2; else echo v1; fi"""


class NotRun(Exception):
    """Why a row cannot be run here."""


def needed(row: Row | None = None, site: bool = False) -> None:
    """NotRun with all that is missing to run containers: for an image of `row`, for a site of several containers."""
    missing: dict[str, str] = {}  # what is not there -> its packages
    if shutil.which(ENGINE) is None:
        missing[ENGINE] = ENGINE
    if ENGINE == "podman":
        if not any(map(shutil.which, ("runc", "crun"))):
            missing["runc or crun"] = "runc"
        if not (shutil.which("catatonit") or _CATATONIT.exists()):
            missing["catatonit"] = "catatonit"
    if row and shutil.which("mmdebstrap") is None and not any(map(_there, (name_of(row), base_of(row)))):
        missing["mmdebstrap, which makes an image where none can be pulled"] = "mmdebstrap debian-archive-keyring"
    if row and row.is_guest and shutil.which("mkfs.ext4") is None:
        missing["mkfs.ext4, which makes the disk of a guest"] = "e2fsprogs"
    if site:
        if composer() is None:
            missing["podman-compose"] = "podman-compose"
        if ENGINE == "podman" and not any(path.exists() for path in _NAMES):
            missing["aardvark-dns, by which containers know each other's names"] = "netavark aardvark-dns"
        if not any(map(shutil.which, ("iptables", "nft"))):
            missing["iptables"] = "iptables"
    if missing:
        raise NotRun(f"no {', no '.join(missing)}: apt-get install {' '.join(missing.values())}")


def composer() -> str | None:
    """podman-compose, the host's or one of the environment's."""
    return shutil.which("podman-compose", path=f"{ROOT}/.venv/bin:{os.environ.get('PATH', '')}")


def _there(image: str) -> bool:
    if shutil.which(ENGINE) is None:
        return False
    return subprocess.run([ENGINE, "image", "inspect", image], capture_output=True, check=False).returncode == 0


def image(row: Row) -> str:
    """Build the row's image, or take the one that is there; its name. NotRun with the engine's last words."""
    needed(row)
    _make(name_of(row), "debian" if row.is_guest else row.target, row.debian)
    if row.is_guest:
        kernel()
    return name_of(row)


def _make(name: str, target: str, debian: str, ground: str = "") -> None:
    """Build a stage of the Dockerfile, on another image where one is named, unless there is an image of that name."""
    if _there(name):
        return
    _must([str(COMPOSE / "base.sh"), debian], f"no base image of {debian}")
    words = ["build", "-q", "-t", name, "--target", target, "--build-arg", f"RELEASE={debian}"]
    words += ["--build-arg", f"BASE={_base(debian)}", "--build-arg", f"GROUND={ground or _base(debian)}"]
    _must([ENGINE, *words, "-f", str(COMPOSE / "Dockerfile"), str(ROOT)], f"{name} cannot be built")


def name_of(row: Row) -> str:
    """A row's image, named for what it is made of: another checkout of the repository never takes its place."""
    target = row.debian if row.is_guest else row.name
    return f"localhost/adminkit-slurm:{target}-{_digest(*_MADE_OF)}"


def base_of(row: Row) -> str:
    """The bare Debian that a row's image is made from."""
    return _base(row.debian)


def _base(debian: str) -> str:
    return f"localhost/adminkit-base:{debian}"


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:8]


def kernel() -> Path:
    """The kernel of guests, which takes many minutes to build, once for all checkouts."""
    made_of = _digest(UML / "kernel.sh", UML / "kernel.config")
    path = GUESTS / f"linux-{made_of}"
    if not path.exists():
        _make(name := f"localhost/adminkit-kernel:{made_of}", "kernel", KERNEL_OF)
        with _files(name, "uml/linux") as tree:
            shutil.move(tree / "uml/linux", path)
    return path


def disk(row: Row, clean: bool = False) -> Path:
    """A row's image with systemd, or the bare Debian with it, as a disk of ext4."""
    kind = f"{row.name}-bare" if clean else row.name
    name = f"localhost/adminkit-guest:{kind}-{_digest(*_MADE_OF, UML / 'boot.sh', UML / 'guest.service')}"
    path = GUESTS / f"{name.rpartition(':')[2]}.ext4"
    if not path.exists():
        for old in path.parent.glob(f"{kind}-????????.ext4"):
            old.unlink()
        _make(name, GUEST, row.debian, base_of(row) if clean else name_of(row))
        with _files(name) as tree:
            guest.disk(tree, path)
    return path


@contextlib.contextmanager
def _files(image: str, *names: str) -> Iterator[Path]:
    """An image's files, or those of `names`, in a folder that is removed. NotRun where they cannot be had or used."""
    GUESTS.mkdir(parents=True, exist_ok=True)
    folder, archive = Path(tempfile.mkdtemp(prefix="files-", dir=GUESTS)), GUESTS / f"export-{os.getpid()}.tar"
    container = f"adminkit-export-{os.getpid()}"
    try:
        _must([ENGINE, "create", "--name", container, image, "true"], f"no container of {image}")
        _must([ENGINE, "export", "-o", str(archive), container], f"{image} cannot be exported")
        _must(["tar", "-xpf", str(archive), "--numeric-owner", "-C", str(folder), *names], f"{image} cannot be read")
        archive.unlink()
        yield folder
    except subprocess.CalledProcessError as error:
        raise NotRun(f"{image} cannot be used: {(error.stderr or '').strip()[-200:]}") from error
    finally:
        subprocess.run([ENGINE, "rm", "-f", "-i", container], capture_output=True, check=False)
        archive.unlink(missing_ok=True)
        shutil.rmtree(folder)


def folder_of(row: Row) -> Path:
    folder = ROOT / "build/matrix" / row.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(row: Row) -> None:
    """The row's copy of the repository with all of adminkit built in it. NotRun with the last words of what failed."""
    copy(row)
    _must(_command(row, list(BUILD.command)), f"adminkit cannot be built on {row.name}")


def copy(row: Row) -> Path:
    """The row's folder with every file that git knows, and none that it no longer knows."""
    folder = folder_of(row)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    before = folder / ".copied"
    for old in set(before.read_text().split("\0") if before.exists() else ()) - set(names):
        (folder / old).unlink(missing_ok=True)
    for name in names:
        source, target = ROOT / name, folder / name
        if not target.exists() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    before.write_text("\0".join(names))
    return folder


def run(row: Row, suite: Suite, commit: str) -> Cell:
    """One suite in a container of its own. Its output goes to build/matrix/ROW-SUITE.log."""
    if suite.target not in ("", row.target) and not row.is_guest:
        return not_run(row.name, suite.name, commit, "Debian's packages need Debian's own Slurm")
    folder = copy(row)
    if row.is_guest or (suite.clean and not (folder / ".venv/.built").exists()):
        build(row)  # in a container, which compiles faster than a guest
    if row.is_guest and suite.clean:  # also where there are some, which may be of another commit
        _must(_command(row, list(PACKAGES.command)), f"the packages of {row.name} cannot be built")
    report = folder / "build/matrix.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    script = _CLEAN if suite.clean else _PYTEST
    if suite.wheels:
        script = f"make -s .venv/.built; .venv/bin/pip -q install {shlex.join(suite.wheels)}\n{script}"
    if suite.packages:
        script = f"{_APT} {' '.join(suite.packages)}\n{script}"
    words = ["bash", "-ec", script, "pytest", *suite.command] if suite.pytest else list(suite.command)
    log = folder.parent / f"{row.name}-{suite.name}.log"
    began = time.monotonic()
    with log.open("w") as out:
        code = _inside(row, words, out.fileno(), suite.clean)
    seconds = time.monotonic() - began
    if code is None:
        return Cell(row.name, suite.name, commit, "failed", failed=1, reasons=(f"no end within {LIMIT:g} s",))
    if row.is_guest and guest.crashed(log.read_bytes()):
        return not_run(row.name, suite.name, commit, f"the guest's own kernel crashed ({log.name}): run it again")
    if not suite.pytest:
        return _by_code(code, log, row, suite, commit, seconds)
    if not report.exists():
        return Cell(row.name, suite.name, commit, "failed", failed=1, reasons=(f"pytest said nothing: {log.name}",))
    return from_junit(report.read_text(), row.name, suite.name, commit, seconds)


def _by_code(code: int, log: Path, row: Row, suite: Suite, commit: str, seconds: float) -> Cell:
    """A suite that is one command: it counts as one test."""
    if code == 0:
        return Cell(row.name, suite.name, commit, "passed", passed=1, seconds=round(seconds))
    last = log.read_text(errors="replace").splitlines()[-1:] or [""]
    said = (f"exit {code}: {last[0][:200]}",)
    return Cell(row.name, suite.name, commit, "failed", failed=1, seconds=round(seconds), reasons=said)


def ground(row: Row) -> Ground:
    """What the row's programs say they are."""
    with tempfile.TemporaryFile() as out:
        _inside(row, ["sh", "-ec", _GROUND], out.fileno(), False)
        out.seek(0)
        said = out.read().decode(errors="replace")
    lines = said.splitlines()[-5:]
    if len(lines) != 5 or not lines[0].startswith("slurm"):
        raise NotRun(f"the image of {row.name} lacks a Slurm: {said.strip()[-200:]}")
    return Ground(row.name, lines[0].split()[-1], lines[1], lines[2].split()[-1], lines[3], lines[4])


#: The host's name is a loopback address, as Debian's installer has it: two slurmctlds can then share the port.
_HOSTS: Final = 'echo "127.0.0.1 localhost slurm" >/etc/hosts; exec "$@"'
#: Without exec: completion looks for a shell among the processes above it.
_PYTEST: Final = 'make -s .venv/.built; .venv/bin/python -m pytest --junitxml=build/matrix.xml "$@" || exit $?'


_APT: Final = "apt-get -q update; apt-get -q -y install --no-install-recommends"
#: In a bare Debian: the row's environment needs its Python and no more. What other rows built is beside it.
_CLEAN: Final = f"""{_APT} python3
.venv/bin/python -m pytest --junitxml=build/matrix.xml "$@" || exit $?"""


def alone(row: Row, words: list[str], log: Path, limit: float = LIMIT) -> int | None:
    """A command in a container of its own, which may be one of several of the row. As `_inside`."""
    with log.open("w") as out:
        return _inside(row, words, out.fileno(), False, f"adminkit-{log.stem}-{os.getpid()}", limit)


def _inside(row: Row, words: list[str], output: int, clean: bool, name: str = "", limit: float = LIMIT) -> int | None:
    """The exit code; None when it had to be ended."""
    if row.is_guest:
        return _in_guest(row, words, output, clean, limit)
    name = name or f"adminkit-matrix-{row.name}-{os.getpid()}"
    try:
        command = _command(row, words, name, clean)
        done = subprocess.run(command, stdout=output, stderr=output, timeout=limit, check=False)
        return done.returncode
    except subprocess.TimeoutExpired:
        return None
    finally:
        subprocess.run([ENGINE, "rm", "-f", "-i", name], capture_output=True, check=False)


def _in_guest(row: Row, words: list[str], output: int, clean: bool, limit: float) -> int | None:
    if lacking := network.lacking():
        raise NotRun(f"no {lacking}, which gives a guest its network")
    folder = folder_of(row)
    shares = {folder: "/adminkit", _TRUST.parent: "/trusted"} | ({folder.parent: "/rows"} if clean else {})
    settings = ((CONTAINER, row.name), *row.env, *_index_settings())
    lines = [f"export {key}={shlex.quote(value)}" for key, value in settings]
    lines += [f"install -D -m 644 /trusted/{_TRUST.name} {_TRUST}"] if _TRUST.exists() else []
    try:
        with (
            os.fdopen(os.dup(output), "wb") as out,
            network.of_container(ENGINE, base_of(row), LIMITS) as way_out,
        ):
            script = "\n".join([*lines, shlex.join(words), ""])
            return guest.run(kernel(), disk(row, clean), shares, script, out, limit, way_out)
    except subprocess.CalledProcessError as error:
        raise NotRun(f"no network for the guest of {row.name}: {(error.stderr or '').strip()[-200:]}") from error


def _command(row: Row, words: list[str], name: str = "", clean: bool = False) -> list[str]:
    folder = folder_of(row)
    command = [ENGINE, "run", "--rm", "--init", "--hostname", "slurm", *_RIGHTS, *LIMITS]
    command += ["--device=/dev/fuse"] if Path("/dev/fuse").exists() else []
    command += ["-v", f"{folder}:/adminkit", "-w", "/adminkit"]
    command += ["--name", name] if name else []
    for key, value in ((CONTAINER, row.name), *row.env, *_index_settings()):
        command += ["-e", f"{key}={value}"]
    command += ["-v", f"{_TRUST}:{_TRUST}:ro"] if _TRUST.exists() else []
    command += _cgroups(row) if (_CGROUPS / "freezer").exists() else []
    command += ["-v", f"{folder.parent}:/rows:ro"] if clean else []
    image = base_of(row) if clean else name_of(row)
    return [*command, image, "bash", "-ec", _HOSTS, "bash", *words]


def _cgroups(row: Row) -> list[str]:
    """Version 1 as the host has it, for the suites whose jobs are tracked by cgroups; podman shows it read-only.

    The freezer, by which Slurm tracks them, is the row's own: node n1 of two rows would have one and the same cgroup.
    """
    own = _CGROUPS / "freezer" / f"adminkit-{row.name}"
    own.mkdir(exist_ok=True)
    return ["-v", f"{_CGROUPS}:{_CGROUPS}", "-v", f"{own}:{_CGROUPS}/freezer"]


def _index_settings() -> list[tuple[str, str]]:
    """How this host's pip and npm reach their indexes: settings in the environment, and whom they trust."""
    wanted = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_DEFAULT_TIMEOUT")
    wanted += ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    wanted += ("npm_config_registry", "NODE_EXTRA_CA_CERTS")
    return [(name, os.environ[name]) for name in wanted if name in os.environ]


def _must(command: list[str], what: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr + done.stdout).strip().splitlines()[-3:]
        print("\n".join(words), file=sys.stderr)
        raise NotRun(f"{what}: {words[-1] if words else f'exit {done.returncode}'}")
