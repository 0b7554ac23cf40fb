"""The tables that a new MariaDB begins with: installed once for each MariaDB, then copied, at a tenth of the work."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster.harness import config
from tests.cluster.harness.machine import plain_env
from tests.cluster.harness.processes import ClusterError

KEPT: Final = Path(__file__).resolve().parents[3] / "build/mariadb"


def install(folder: Path) -> None:
    """Make db/data in the folder of a cluster."""
    program = shutil.which("mariadbd", path=plain_env()["PATH"])
    if program is None:
        raise ClusterError("no mariadbd")
    status = Path(program).stat()
    kept = KEPT / f"{status.st_size}-{status.st_mtime_ns}"
    if not kept.is_dir():
        _keep(kept)
    _run(["cp", "-a", "--reflink=auto", "--sparse=always", str(kept), str(folder / "db/data")])


def _keep(kept: Path) -> None:
    """Another process may be quicker: then its tables are kept."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="new-") as fresh:
        (Path(fresh) / "db").mkdir()
        _run(config.database_install(Path(fresh)))
        with contextlib.suppress(OSError):
            (Path(fresh) / "db/data").rename(kept)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, env=plain_env(), capture_output=True, check=False)
    if done.returncode:
        raise ClusterError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
