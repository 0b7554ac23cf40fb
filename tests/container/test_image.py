"""The image of etc/container: as a user who is not root, without capabilities, on a root that cannot be written."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.compose.host import Site
from tests.cluster.compose.site import OPERATOR_UID
from tests.cluster.harness import config
from tests.cluster.harness.processes import ClusterError, until
from tests.matrix import engine
from tests.matrix.rows import ROWS
from tools.docs import ROOT

pytestmark = pytest.mark.soak

ROW: Final = next(row for row in ROWS if row.name == "trixie")
IMAGE: Final = "localhost/adminkit:test"
#: As docs/container.md has it. Health is asked by hand: no systemd is needed here.
LEAST: Final = ("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", *engine.LIMITS)
#: Whom this host trusts, for pip in the build.
_TRUST: Final = Path("/etc/ssl/certs/ca-certificates.crt")


def podman(*words: str, code: int | None = 0, env: dict[str, str] | None = None) -> str:
    """What podman printed; its exit code has to be `code`, None: any."""
    given = {**os.environ, "DISABLE_HC_SYSTEMD": "true", **(env or {})}
    done = subprocess.run([engine.ENGINE, *words], capture_output=True, text=True, env=given, check=False)
    assert code is None or done.returncode == code, f"{' '.join(words)}: {done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Kept:
    """A volume, or a folder, with a trace."""

    volume: str

    def run(self, *words: str, code: int = 0, more: tuple[str, ...] = ("--network", "none")) -> str:
        """adminkit in a container of its own."""
        return podman(
            "run",
            "--rm",
            *LEAST,
            *more,
            "-v",
            f"{self.volume}:/var/lib/adminkit",
            IMAGE,
            *words,
            code=code,
        )


@pytest.fixture(scope="module", autouse=True)
def image() -> None:
    try:
        engine.needed(ROW)
    except engine.NotRun as why:
        pytest.skip(f"not run: {why}")
    flags = f"--build-arg PIP_CERT=/run/trust.crt -v {_TRUST}:/run/trust.crt:ro" if _TRUST.exists() else ""
    words = ["make", "-s", "image", f"IMAGE={IMAGE}", f"IMAGE_FLAGS={flags}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def demo() -> Iterator[Kept]:
    kept = Kept(f"adminkit-image-{os.getpid()}")
    try:
        kept.run("demo", "--no-plot", "--db", "/var/lib/adminkit/trace.db")
        yield kept
    finally:
        podman("volume", "rm", "-f", kept.volume)


def test_a_report_has_the_numbers_that_it_has_elsewhere(demo: Kept, tmp_path: Path) -> None:
    adminkit = ROOT / ".venv/bin/adminkit"
    here = ("--db", str(tmp_path / "demo.db"))
    subprocess.run([adminkit, "demo", "--no-plot", *here], check=True, capture_output=True)
    words = ("report", "accuracy", "--format", "markdown")  # rounded: another SQLite may add in another order
    there = subprocess.run([adminkit, *words, *here], check=True, capture_output=True, text=True).stdout
    rows = [[line for line in text.splitlines() if line.startswith("|")] for text in (demo.run(*words), there)]
    assert rows[0] == rows[1] and len(rows[0]) > 4


def test_metrics_and_pictures_are_made(demo: Kept) -> None:
    assert "adminkit_runs_total{" in demo.run("metrics")
    demo.run("report", "accuracy", "--picture", "/var/lib/adminkit/accuracy.png")
    place = podman("volume", "inspect", "-f", "{{.Mountpoint}}", demo.volume).strip()
    assert Path(place, "accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_it_is_not_root_and_has_no_capability(demo: Kept) -> None:
    words = ("--entrypoint", "cat", "-v", f"{demo.volume}:/var/lib/adminkit", IMAGE, "/proc/self/status")
    status = dict(line.split(":\t", 1) for line in podman("run", "--rm", *LEAST, *words).splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["990"] * 4
    assert {status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    owned = ("find", "/usr", "-xdev", "-perm", "/6000", "-user", "adminkit")
    assert podman("run", "--rm", *LEAST, "--entrypoint", owned[0], IMAGE, *owned[1:]) == ""


@pytest.mark.parametrize(("filled", "code"), [(True, 0), (False, 1)], ids=["a trace", "no trace"])
def test_health_is_whether_the_trace_can_be_read(demo: Kept, filled: bool, code: int) -> None:
    name = f"adminkit-image-health-{os.getpid()}"
    volume = ("-v", f"{demo.volume}:/var/lib/adminkit") if filled else ()
    try:
        podman("run", "-d", "--name", name, *LEAST, *volume, "--entrypoint", "sleep", IMAGE, "600")
        podman("healthcheck", "run", name, code=code)
    finally:
        podman("rm", "-f", "-t", "0", name)


def test_serve_answers_on_its_socket(demo: Kept) -> None:
    name = f"adminkit-image-serve-{os.getpid()}"
    volumes = ("-v", f"{demo.volume}:/var/lib/adminkit:ro", "-v", f"{name}:/run/adminkit-serve")
    try:
        podman("run", "-d", "--name", name, *LEAST, "--network", "none", *volumes, IMAGE, "serve")
        place = Path(podman("volume", "inspect", "-f", "{{.Mountpoint}}", name).strip(), "adminkit.sock")
        connection = http.client.HTTPConnection("localhost")

        def connected() -> bool:
            connection.sock = socket.socket(socket.AF_UNIX)
            return connection.sock.connect_ex(str(place)) == 0

        until("serve to listen", connected, 120)
        connection.request("GET", "/trace/accuracy.json?_shape=array&queue=gq")
        answer = connection.getresponse()
        assert answer.status == 200
        assert [row["queue"] for row in json.loads(answer.read())] == ["gq"]
    finally:
        podman("rm", "-f", "-t", "5", name)
        podman("volume", "rm", "-f", name)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    here = Site(ROW, f"adminkit-image-{ROW.name}")
    try:
        here.up(lively=False)
        yield here
    except (engine.NotRun, ClusterError) as why:
        pytest.skip(f"not run: {why}")
    finally:
        here.down()


def test_a_site_is_synced_by_munge_and_slurm_conf(site: Site, tmp_path: Path) -> None:
    """The socket of a munged and the folder of slurm.conf are mounted, and the user is the one whom Slurm knows."""
    done = site.run("sbatch", "--wait", "-p", "gq", "-t", "5", "-o", "/dev/null", "--wrap", "true", user="aiko")
    assert done.code == 0, done.err
    root = podman("mount", site.container("login")).strip()
    munge = config.munge_socket(Path("/site")).parent
    named = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
    network = podman("inspect", "-f", named, site.container("login")).strip()
    user = ("--user", f"{OPERATOR_UID}:{OPERATOR_UID}")
    mounts = ("-v", f"{root}{munge}:{munge}:ro", "-v", f"{root}/etc/slurm:/etc/slurm:ro")
    os.chown(tmp_path, OPERATOR_UID, OPERATOR_UID)
    kept = Kept(str(tmp_path))
    kept.run("sync", "--since", "1d", more=(*user, *mounts, "--network", network))
    report = kept.run("report", "states", "--format", "json", more=(*user, "--network", "none"))
    assert [(row["queue"], row["jobs"]) for row in json.loads(report)["rows"]][:1] == [("gq", 1)], report
