"""How fast the nodes of a job send to each other: each task reads from the next one, over TCP, all at a time.

Tasks find each other by files of the user's own folder, which has to be the same on all nodes. A file has a token, so
that nobody else is sent anything; what is sent are zeros.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

from adminkit.files import folder_to_write, read_plain, replace_file

_MOST_BYTES: Final = 256 << 20
_CHUNK: Final = 1 << 20
_TOKEN: Final = 32  # characters
#: Seconds for tasks to start, and to send.
WAIT: Final = 20.0
SEND: Final = 3.0


@dataclass(frozen=True, slots=True)
class Task:
    """One of the tasks of a job step."""

    step: str
    number: int
    tasks: int

    @property
    def next(self) -> int:
        return (self.number + 1) % self.tasks


def task_of(environ: Mapping[str, str]) -> Task | None:
    """The task of this process, by Slurm's variables; None where there is no other node."""
    try:
        job, step = int(environ["SLURM_JOB_ID"]), int(environ["SLURM_STEP_ID"])
        number, tasks = int(environ["SLURM_PROCID"]), int(environ["SLURM_STEP_NUM_TASKS"])
        nodes = int(environ["SLURM_STEP_NUM_NODES"])
    except (KeyError, ValueError):
        return None
    return Task(f"{job}.{step}", number, tasks) if nodes > 1 and 0 <= number < tasks else None


def rate(task: Task, folder: Path, wait: float = WAIT) -> float | None:
    """Bytes per second from the next task; None where they did not meet. `folder` is made, and removed if empty."""
    own = f"{task.number}.json"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with socket.create_server(("", 0)) as server:
            token = secrets.token_hex(_TOKEN // 2)
            thread = Thread(target=_serve, args=(server, token, time.monotonic() + wait + 2 * SEND), daemon=True)
            thread.start()
            where = {"host": socket.gethostname(), "port": server.getsockname()[1], "token": token}
            with folder_to_write(folder) as handle:
                replace_file(handle, own, json.dumps(where).encode(), mode=0o600)
            found = _receive(folder / f"{task.next}.json", time.monotonic() + wait)
            thread.join(wait)
    except (OSError, ValueError):
        found = None
    with suppress(OSError):
        (folder / own).unlink()
        folder.rmdir()
    return found


def _serve(server: socket.socket, token: str, until: float) -> None:
    """Send zeros to the first one who has the token."""
    block = bytes(_CHUNK)
    while (left := until - time.monotonic()) > 0:
        with suppress(OSError):
            server.settimeout(left)
            peer, _ = server.accept()
            with peer:
                peer.settimeout(2 * SEND)
                if not hmac.compare_digest(_exactly(peer, _TOKEN), token.encode()):
                    continue
                with suppress(OSError):  # the reader has had enough
                    for _ in range(_MOST_BYTES // _CHUNK):
                        peer.sendall(block)
                return


def _exactly(peer: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length and (more := peer.recv(length - len(data))):
        data += more
    return data


def _receive(file: Path, until: float) -> float | None:
    where = _where(file, until)
    if where is None:
        return None
    host, port, token = where
    with socket.create_connection((host, port), timeout=SEND) as peer:
        peer.sendall(token.encode())
        started, size = time.monotonic(), 0
        while time.monotonic() < started + SEND and (data := peer.recv(_CHUNK)):
            size += len(data)
        return size / max(time.monotonic() - started, 1e-6) if size else None


def _where(file: Path, until: float) -> tuple[str, int, str] | None:
    while time.monotonic() < until:
        try:
            its = json.loads(read_plain(file, 4096))
            return str(its["host"]), int(its["port"]), str(its["token"])
        except FileNotFoundError:
            time.sleep(0.1)
        except (TypeError, KeyError) as error:
            raise ValueError(f"{file} is not a place") from error
    return None
