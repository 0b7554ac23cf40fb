"""The self-contained archive, built, and used as docs/install.md says in bare containers that have no network.

Debian 11 stands for EL 9: its SQLite is as old (3.34), and its glibc (2.31) is older. Tests follow on one another.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import adminkit
from tests.matrix import engine
from tests.matrix.rows import ROWS
from tests.packages.where import ROOT
from tools.release import make, number

pytestmark = pytest.mark.soak

NAME: Final = f"adminkit-{adminkit.__version__}-x86_64"
HOME: Final = "/usr/local/lib/adminkit"
#: What the archive put onto a host.
THERE: Final = "find / -xdev \\( -path /proc -o -path /root -o -path /tmp \\) -prune -o -name '*adminkit*' -print"
SACCT: Final = """\
JobIDRaw|JobID|User|Partition|State|Submit|Eligible|Start|End|Timelimit|Elapsed|ExitCode|AllocCPUS
7|7|ann|gq|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T11:01:00|04:00:00|01:00:00|0:0|4
"""
_KIND: Final = next(kind for kind in make.KINDS if kind.name == "archive")


def build(source: Path) -> Path:
    """`make archive` there, by the environment of this checkout."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(number.epoch(source)), "PYTHONPATH": str(source)}
    done = subprocess.run(_KIND.command, cwd=source, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return source / "build" / f"{NAME}.tar.gz"


@pytest.fixture(scope="module")
def archive() -> Path:
    try:
        engine.needed(ROWS[0])
    except engine.NotRun as why:
        pytest.skip(f"not run: {why}")
    if why := make.obstacle(_KIND, (ROOT / "Makefile").read_text()):
        pytest.skip(f"not run: {why}")
    return build(ROOT)


@dataclass(frozen=True)
class Host:
    """A container of a bare Debian without a network."""

    name: str

    def run(self, command: str, code: int = 0, user: str = "root") -> str:
        words = [engine.ENGINE, "exec", "-u", user, "-w", "/tmp", "-e", "PYTHONPATH=/tmp/theirs", self.name]
        done = subprocess.run([*words, "sh", "-ec", command], capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{command}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture(scope="module", params=["bullseye", "bookworm"])
def host(request: pytest.FixtureRequest, archive: Path) -> Iterator[Host]:
    """With the archive unpacked, and with modules of the user's that break Python's."""
    subprocess.run([engine.COMPOSE / "base.sh", request.param], check=True, capture_output=True)
    host = Host(f"adminkit-archive-{request.param}-{os.getpid()}")
    image = f"localhost/adminkit-base:{request.param}"
    words = ["run", "-d", "--rm", "--init", "--network", "none", *engine.LIMITS, "--name", host.name]
    words += ["-v", f"{archive}:/srv/{archive.name}:ro", image, "sleep", "infinity"]
    subprocess.run([engine.ENGINE, *words], check=True, capture_output=True)
    try:
        host.run(f"cd /root && tar -xzf /srv/{archive.name}")
        host.run(
            "mkdir theirs && for name in typer pandas adminkit; do echo 'raise SystemExit(9)' >theirs/$name.py; done"
        )
        host.run("! command -v python3 && ! command -v sqlite3")
        yield host
    finally:
        subprocess.run([engine.ENGINE, "rm", "-f", "-t", "0", host.name], capture_output=True, check=False)


def install(*words: str) -> str:
    return " ".join(["/root/" + NAME + "/install.sh", *words])


def test_a_preview_changes_nothing(host: Host) -> None:
    assert "nothing was done yet; add --apply to do it" in host.run(install())
    assert host.run(THERE).split() == [f"/srv/{NAME}.tar.gz"]


def test_it_is_installed_as_the_table_of_the_design_says(host: Host) -> None:
    host.run(install("--apply"))
    assert host.run("adminkit --version", user="nobody").startswith(f"adminkit {adminkit.__version__} ")
    facts = host.run("stat -c '%a %U:%G' /var/lib/adminkit /var/lib/adminkit-own /var/log/adminkit /run/adminkit")
    assert facts.splitlines() == [
        "2750 adminkit:adminkit",
        "711 adminkit:adminkit",
        "2750 root:adminkit",
        "755 root:root",
    ]
    assert host.run("stat -c '%a %U' /etc/adminkit/adminkit.toml") == "644 root\n"
    assert host.run(f"find {HOME} ! -user root -o -perm /022 ! -type l") == ""
    units = host.run("cat /usr/local/lib/systemd/system/adminkit-*.service")
    assert "ExecStart=/usr/local/bin/adminkit sync" in units


def test_doctor_finds_every_part(host: Host) -> None:
    said = host.run("adminkit doctor --format json || true", user="adminkit")
    checks = {one["check"]: one["status"] for one in json.loads(said)["rows"]}
    assert {checks[name] for name in ("adminkit", "helper", "sqlite", "plots")} == {"ok"}, checks


def test_its_python_is_whole(host: Host) -> None:
    """Every module that was built for it, and every one of adminkit's but the hub's."""
    code = """
import importlib, multiprocessing, pathlib, pkgutil, sys, sysconfig, adminkit
multiprocessing.Lock()
for path in pathlib.Path(sysconfig.get_path("platstdlib"), "lib-dynload").glob("*.so"):
    importlib.import_module(path.name.partition(".")[0])
for one in pkgutil.walk_packages(adminkit.__path__, "adminkit."):
    if not one.name.startswith("adminkit.jupyter."):
        importlib.import_module(one.name)
assert sys.prefix == "/usr/local/lib/adminkit", sys.prefix
"""
    host.run(f"{HOME}/bin/python3 -I - <<'END'\n{code}END")


def test_the_demo_says_what_it_says_elsewhere(host: Host, tmp_path: Path) -> None:
    asked = "report accuracy --format json --db"
    host.run("adminkit demo --no-plot --db /tmp/demo.db", user="nobody")
    here = tmp_path / "demo.db"
    program = [sys.executable, "-m", "adminkit.cli.main"]
    subprocess.run([*program, "demo", "--no-plot", "--db", here], check=True, capture_output=True)
    done = subprocess.run([*program, *asked.split(), here], check=True, capture_output=True, text=True)
    assert rows(host.run(f"adminkit {asked} /tmp/demo.db", user="nobody")) == rows(done.stdout) != []
    host.run("adminkit report accuracy --db /tmp/demo.db --picture /tmp/accuracy.png", user="nobody")
    assert host.run("head -c 4 /tmp/accuracy.png | tail -c 3") == "PNG"


def rows(text: str) -> list[dict[str, object]]:
    """Of a report's JSON. Python 3.12 sums floats more exactly than 3.11 does: nine digits."""
    found: list[dict[str, object]] = json.loads(text, parse_float=lambda digits: f"{float(digits):.9g}")["rows"]
    return found


def test_text_of_sacct_is_imported_by_the_program_in_c(host: Host) -> None:
    host.run(f"cat >/tmp/sacct.txt <<'END'\n{SACCT}END")
    host.run("adminkit import /tmp/sacct.txt --cluster site --timezone UTC --db /tmp/site.db", user="nobody")
    said = host.run("adminkit report accuracy --min-elapsed 0 --format json --db /tmp/site.db", user="nobody")
    assert {(row["jobs"], row["mean"]) for row in rows(said) if row["queue"] == "gq"} == {(1, "0.25")}


def test_rules_are_checked_and_a_page_and_the_shells_are_there(host: Host) -> None:
    host.run(f"adminkit policy check --policy {HOME}/share/adminkit/etc/policy.toml", user="nobody")
    assert host.run("head -c 2 /usr/local/share/man/man1/adminkit.1").startswith((".", "'"))
    complete = ". /usr/local/share/bash-completion/completions/adminkit; complete -p adminkit"
    assert "adminkit" in host.run(f"bash -c '{complete}'")
    host.run(f"test -e {HOME}/share/adminkit/job_submit/job_submit.lua && test -e /root/{NAME}/spank/Makefile")


def test_a_second_run_upgrades_and_keeps_what_was_edited(host: Host) -> None:
    host.run("echo '# ours' >>/etc/adminkit/adminkit.toml; echo trace >/var/lib/adminkit/trace.db")
    assert "/etc/adminkit/adminkit.toml stays as it is" in host.run(install("--apply"))
    assert host.run("tail -n 1 /etc/adminkit/adminkit.toml") == "# ours\n"
    assert host.run("adminkit --version", user="nobody").startswith("adminkit ")


def test_what_was_altered_is_not_installed(host: Host) -> None:
    host.run(f"cp -R /root/{NAME} /tmp/altered && echo >>/tmp/altered/env/bin/adminkit")
    said = host.run("/tmp/altered/install.sh --apply", code=1)
    assert "error: /tmp/altered is not as it was packed" in said
    host.run("rm -r /tmp/altered")


def test_removal_leaves_settings_and_the_trace(host: Host) -> None:
    host.run(install("--remove", "--apply"))
    assert set(host.run(THERE).split()) == {
        "/etc/adminkit", "/etc/adminkit/adminkit.toml", "/run/adminkit", "/var/lib/adminkit", "/var/lib/adminkit-own",
        "/var/log/adminkit", f"/srv/{NAME}.tar.gz",
    }  # fmt: skip
    assert host.run("cat /var/lib/adminkit/trace.db") == "trace\n"


def test_the_plugin_is_built_from_the_archive(archive: Path, tmp_path: Path) -> None:
    if not Path("/usr/include/slurm/slurm.h").exists():
        pytest.skip("not run: no headers of Slurm")
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path, f"{NAME}/spank"], check=True)
    words = ["make", "-s", "-C", tmp_path / NAME / "spank", f"OUT={tmp_path}/made"]
    subprocess.run(words, check=True, capture_output=True)
    assert (tmp_path / "made/adminkit_ckpt.so").exists()


def test_another_folder_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    """Python and all, from the files that git knows."""
    other = tmp_path / "another-folder"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in listed.decode().split("\0")[:-1]:
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, other / name)
    again = build(other)
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (archive, again)]
    assert sums[0] == sums[1], f"{archive} and {again} differ"
