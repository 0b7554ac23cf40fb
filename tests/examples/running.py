"""The examples of docs/examples/checkpoint, started as a job would start them and signalled as the plugin does it."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "checkpoint"
#: Debian's, which has Debian's torch; a virtual environment has not.
PYTHON = "/usr/bin/python3"
MORE = 85
#: Trap: torchrun of Debian's torch 1.13 fails under Python 3.11 with its own default for its workers' output.
TORCHRUN = {"PET_REDIRECTS": "1", "PET_TEE": "1"}


def has_torch() -> bool:
    """Whether that Python has a torch with torchrun."""
    tried = "import torch.distributed.run as found; assert found"
    return subprocess.run([PYTHON, "-c", tried], capture_output=True, check=False).returncode == 0


@dataclass
class Started:
    """One run, going on; its output is in a file."""

    process: subprocess.Popen[bytes]
    output: Path

    def text(self) -> str:
        return self.output.read_text()

    def until(self, words: str, seconds: float = 60.0) -> None:
        """Wait for a line of its output to match."""
        end = time.monotonic() + seconds
        while not re.search(words, self.text()):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.text()}"
            assert time.monotonic() < end, f"no {words!r} in {self.text()}"
            time.sleep(0.02)

    def ended(self) -> int:
        return self.process.wait(timeout=60)


def start(command: list[str], output: Path, pause: float) -> Started:
    """Run it in the examples' folder, with PAUSE seconds per step. The output is appended, as in a requeued job."""
    environment = {"PATH": "/usr/bin:/bin", "PAUSE": str(pause), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    environment |= TORCHRUN
    with output.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=FOLDER, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    return Started(process, output)


def below(pid: int) -> list[int]:
    """The children of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tell(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGTERM)


def digest(weights: Path) -> str:
    """Of the numbers, not of the file: torch.save also stores names of folders."""
    code = "import sys, torch; [print(k, v.tolist()) for k, v in torch.load(sys.argv[1]).items()]"
    said = subprocess.run([PYTHON, "-c", code, weights], capture_output=True, check=True).stdout
    assert b"weight" in said
    return hashlib.sha256(said).hexdigest()
