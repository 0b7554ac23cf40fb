"""`python -m tests.cluster.compose up|down [RELEASE]`: a site in containers of Debian's RELEASE, to try things on."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster.processes import ClusterError, until
from tests.matrix import engine
from tests.matrix.rows import ROOT, ROWS, Row

FILE = Path(__file__).with_name("compose.yml")
#: What is ready when the site is: four queues and three idle nodes.
_READY = "sinfo -h -N -p gq -o %t | grep -cE '^(idle|mix|alloc)$'"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.compose", description=__doc__)
    parser.add_argument("act", choices=["up", "down"])
    parser.add_argument("release", nargs="?", default="bookworm", choices=[row.debian for row in ROWS])
    options = parser.parse_args(argv)
    row = next(row for row in ROWS if row.name == options.release)
    try:
        if options.act == "down":
            _compose(row, "down", "-v")
            # Older podman-composes leave the network.
            network = f"adminkit-{row.name}_default"
            subprocess.run([engine.ENGINE, "network", "rm", network], capture_output=True, check=False)
            return 0
        return _up(row)
    except (engine.NotRun, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _up(row: Row) -> int:
    print(f"building the image of {row.debian} and adminkit in it (minutes, the first time)", file=sys.stderr)
    engine.image(row)
    engine.build(row)
    _compose(row, "up", "-d")
    login, head = (f"adminkit-{row.name}-{part}" for part in ("login", "slurmctld"))
    until("three nodes to be idle", lambda: _said(login, "sh", "-c", _READY) == "3", 180, pause=2)
    print(f"{engine.ENGINE} exec -it -u aiko -w /home/aiko {login} bash  # sbatch, squeue; also as ben, chie and dai")
    print(f"{engine.ENGINE} exec -it {head} bash  # adminkit, its database in /var/lib/adminkit")
    return 0


def _compose(row: Row, *words: str) -> None:
    program = shutil.which("podman-compose", path=f"{ROOT}/.venv/bin:{os.environ.get('PATH', '')}")
    if program is None:
        raise ClusterError("no podman-compose: apt-get install podman-compose, or pip install podman-compose")
    env = {**os.environ, "RELEASE": row.name, "IMAGE": engine.name_of(row), "TREE": str(engine.folder_of(row))}
    command = [program, "-f", str(FILE), "-p", f"adminkit-{row.name}", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"podman-compose {words[0]}: {(done.stderr + done.stdout).strip()[-800:]}")


def _said(container: str, *command: str) -> str:
    done = subprocess.run([engine.ENGINE, "exec", container, *command], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
