"""The examples of docs/examples/checkpoint, started as a job would start them and signalled as the plugin does it."""

from __future__ import annotations

import functools
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
#: What docs/checkpoint.md has a script say where torch is built without libuv.
WITHOUT_LIBUV = (
    "export USE_LIBUV=0 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1\ntorchrun --rdzv-backend=c10d --rdzv-conf=store_type=file"
)


def has_torch() -> bool:
    """Whether that Python has a torch with torchrun."""
    tried = "import torch.distributed.run as found; assert found"
    return subprocess.run([PYTHON, "-c", tried], capture_output=True, check=False).returncode == 0


@functools.cache
def lacks_libuv() -> bool:
    """Whether its torchrun asks for libuv and its torch is built without, as in Debian 13."""
    tried = "from torch.distributed import TCPStore; TCPStore('127.0.0.1', 0, 1, True)"
    done = subprocess.run([PYTHON, "-c", tried], capture_output=True, text=True, check=False)
    return done.returncode != 0 and "libuv" in done.stderr


def script_for_here(path: Path) -> str:
    """An example's script, with the words that the page has for such a torch where this is one."""
    text = path.read_text()
    return text.replace("torchrun --standalone", WITHOUT_LIBUV) if lacks_libuv() else text


@dataclass
class Started:
    """One run, going on; its output is in a file."""

    process: subprocess.Popen[bytes]
    output: Path

    def text(self) -> str:
        return self.output.read_text()

    def until(self, words: str, seconds: float = 180.0) -> None:
        """Wait for a line of its output to match."""
        end = time.monotonic() + seconds
        while not re.search(words, self.text()):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.text()}"
            assert time.monotonic() < end, f"no {words!r} in {self.text()}"
            time.sleep(0.02)

    def ended(self) -> int:
        return self.process.wait(timeout=180)  # torchrun on a busy machine


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
