"""The programs that are compared, and the proof that an import survives a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def fresh(path: Path) -> Path:
    """The path with nothing at it."""
    for leftover in path.parent.glob(path.name + "*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return path


def adminkit(*args: object) -> list[str]:
    return [str(Path(sys.executable).with_name("adminkit")), *map(str, args)]


def shell(db: Path, *commands: str) -> list[str]:
    """sqlite3's shell with these commands."""
    return ["sqlite3", str(db), *commands]


def check_killed(source: Path, folder: Path) -> None:
    """A kill -9 in the middle of an import leaves a whole trace, and the same import again completes it."""
    db = fresh(folder / "killed.db")
    subprocess.run(adminkit("import", source, "--db", db), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(shell(db, "DELETE FROM job WHERE job_id_raw % 3 = 0"), check=True)
    before = _count(db)
    process = subprocess.Popen(adminkit("import", source, "--db", db), stdout=subprocess.DEVNULL, process_group=0)
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    after = _count(db)
    check = subprocess.run(
        shell(db, "PRAGMA integrity_check"), check=True, capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(adminkit("import", source, "--db", db), check=True, stdout=subprocess.DEVNULL)
    whole = int(subprocess.run(["wc", "-l", source], check=True, capture_output=True, text=True).stdout.split()[0]) - 1
    assert (check, after, _count(db)) == ("ok", before, whole), (check, before, after, _count(db), whole)
    print(
        f"kill -9 in the middle of an import: {before} rows before, {after} after, {whole} after the same import again"
    )


def _count(db: Path) -> int:
    done = subprocess.run(shell(db, "SELECT count(*) FROM job"), check=True, capture_output=True, text=True)
    return int(done.stdout)
