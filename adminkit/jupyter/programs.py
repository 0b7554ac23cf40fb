"""Slurm's programs as the user, for a hub that must keep answering: an argument list, no shell, a time limit.

`slurm/process.py` is the same for commands that may wait. Here a program runs beside the hub's event loop, as the user
whose server it is about, so job_submit, PrivateData and limits see that user.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.process import NoSuchProgram, SlurmTimeout, bare, environment, find

#: Seconds for one program. Trap: while backfill holds its locks slurmctld answers after two seconds.
TIMEOUT: Final = 10.0
#: Bytes of an answer that are kept, of stdout and of stderr.
MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said. `code` is its exit code."""

    code: int
    said: str
    complained: str


async def run(
    argv: Sequence[str],
    *,
    before: Sequence[str] = (),
    given: str = "",
    env: Mapping[str, str] = MappingProxyType({}),
    timeout: float = TIMEOUT,
    seal: str = "",
) -> Answer:
    """`argv` behind the words of `before`, which change to the user; `given` is its stdin, `env` what its
    environment has besides process.bare(), `seal` a text behind each point in time that it prints (slurm/seal.py).

    AdminkitError where the program is missing or has not ended after `timeout` seconds; it is ended then.
    """
    path = find(argv[0])
    if path is None:
        raise NoSuchProgram(f"{argv[0]} is not on PATH", "install Slurm's client programs where the hub runs")
    try:
        process = await asyncio.create_subprocess_exec(
            *before,
            path,
            *argv[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment({**bare(), **env}, seal),
            start_new_session=True,
        )
    except OSError as error:
        raise AdminkitError(
            f"couldn't run {(*before, path)[0]}: {error.strerror}", "look at the hub's as_user"
        ) from error
    try:
        return await asyncio.wait_for(_talk(process, given.encode()), timeout)
    except TimeoutError:
        raise SlurmTimeout(
            f"couldn't run {argv[0]}: no response within {timeout:g} s",
            "check that slurmctld is running: scontrol ping",
        ) from None
    finally:
        if process.returncode is None:
            # Its own group: runuser's child would keep running.
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _talk(process: asyncio.subprocess.Process, given: bytes) -> Answer:
    assert process.stdin and process.stdout and process.stderr
    said, complained, _ = await asyncio.gather(
        _kept(process.stdout), _kept(process.stderr), _give(process.stdin, given)
    )
    return Answer(await process.wait(), said, complained)


async def _give(stdin: asyncio.StreamWriter, given: bytes) -> None:
    try:
        stdin.write(given)
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it ended without reading; its exit code tells
    finally:
        stdin.close()


async def _kept(stream: asyncio.StreamReader) -> str:
    """The first `MOST` bytes; the rest is read and dropped, so that the program can end."""
    kept = bytearray()
    while chunk := await stream.read(1 << 16):
        kept += chunk[: MOST - len(kept)]
    return kept.decode("utf-8", "replace")
