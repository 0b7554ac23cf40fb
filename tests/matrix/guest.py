"""A guest: a row's image booted by a User-Mode Linux kernel, with systemd and cgroup v2.

The kernel is a program of this host that asks neither for KVM nor for cgroups of the host's; it is built once, in a
container. A guest boots, runs one script and powers off (uml/boot.sh).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from tests.matrix.network import NONE, Network

#: As the kernel reads it; taken from /dev/shm as it is touched.
MEMORY: Final = "4096M"
#: Bytes of the disk, which has no more of them than were written.
DISK: Final = 16 << 30
_SYSTEMD: Final = ("init=/lib/systemd/systemd", "systemd.unit=matrix-guest.service", "systemd.show_status=0")
#: Trap: this kernel crashes when a process with a mapping of io_uring ends, such as Node's.
_SAFE: Final = ("sysctl.kernel.io_uring_disabled=2",)
_QUIET: Final = ("quiet", "loglevel=4", "panic=1", "con0=null,fd:1", "con=null", "ssl=null")


def disk(tree: Path, to: Path) -> None:
    """Make an ext4 file of a tree, as root. CalledProcessError with what mkfs said."""
    fresh = to.with_suffix(".new")
    with fresh.open("wb") as file:
        file.truncate(DISK)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", str(tree), str(fresh)], check=True, capture_output=True, text=True)
    fresh.replace(to)


def run(
    kernel: Path,
    image: Path,
    shares: Mapping[Path, str],
    script: str,
    output: IO[bytes],
    limit: float,
    network: Network = NONE,
) -> int | None:
    """Boot, run a bash script in /adminkit, power off. Its exit code; None when it had to be ended after `limit` s.

    `shares`: folder of the host -> where the guest has it. What the guest writes elsewhere is gone afterwards.
    """
    folder = Path(tempfile.mkdtemp(prefix="adminkit-guest-", dir=image.parent))
    try:
        (folder / "script").write_text(script)
        command = [*network.prefix, *_command(kernel, image, folder, {folder: "/guest", **shares}), *network.words]
        code = _boot(command, folder / "console", limit)
        answer = folder / "code"
        for said in (folder / "out", *([] if answer.exists() else [folder / "console"])):
            output.write(said.read_bytes() if said.exists() else b"")
        return code if code is None else int(answer.read_text()) if answer.exists() else 1
    finally:
        shutil.rmtree(folder)


def crashed(output: bytes) -> bool:
    """Whether the guest's kernel ended by itself."""
    return b"\nKernel panic - not syncing: " in b"\n" + output


def _command(kernel: Path, image: Path, folder: Path, shares: Mapping[Path, str]) -> list[str]:
    command = [str(kernel), f"mem={MEMORY}", f"ncpus={min(os.cpu_count() or 1, 8)}", "seccomp=on"]
    command += [f"ubd0={folder}/written,{image}", "root=/dev/ubda", "rw", f"uml_dir={folder}/", "umid=guest"]
    return [*command, *_SYSTEMD, *_SAFE, *_QUIET, *(f"guest.share={host}:{guest}" for host, guest in shares.items())]


def _boot(command: Sequence[str], console: Path, limit: float) -> int | None:
    """The kernel's exit code; None: it was ended after `limit` seconds.

    Trap: the guest's memory is a file of TMPDIR; on a disk each page of it would be written back. SIGTERM crashes
    the kernel, and each process of the guest is one of its process group.
    """
    environment = {**os.environ, "TMPDIR": "/dev/shm"}
    with console.open("wb") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    try:
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
