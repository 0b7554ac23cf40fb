"""A request for one node, in sbatch's words and units: -t 90 is minutes, --mem 4G, --gpus 2 or a100:2."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from adminkit.errors import UsageError
from adminkit.quote import quote

#: sbatch's forms of a time limit.
_TIME: Final = re.compile(
    r"(?:(?P<days>\d{1,5})-)?(?P<first>\d{1,8})(?::(?P<second>\d{1,2}))?(?::(?P<third>\d{1,2}))?", re.ASCII
)
_MEMORY: Final = re.compile(r"(\d{1,9})([KMGT]?)B?", re.ASCII | re.IGNORECASE)
_GPUS: Final = re.compile(r"(?:([A-Za-z0-9][A-Za-z0-9_.-]{0,63}):)?(\d{1,5})", re.ASCII)
#: Names of queues, accounts, QOS: what Slurm takes, and no control character, comma or blank.
_NAME: Final = re.compile(r"[A-Za-z0-9_.@+-]{1,100}", re.ASCII)
#: What is more than any node has.
_MOST_CPUS: Final = 1_000_000
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One node's part. None: not asked for, so the queue's or Slurm's default counts.

    `time_limit` in seconds, whole minutes; `mem` in bytes, whole MiB, 0 for all of the node's.
    """

    queue: str | None = None
    cpus: int = 1
    mem: int | None = None
    gpus: int = 0
    gpu_type: str | None = None
    time_limit: int | None = None
    account: str | None = None
    qos: str | None = None

    def words(self) -> list[str]:
        """The options of sbatch; each is one word, so that no value can be taken for another option."""
        found = ["--nodes=1", "--ntasks=1", f"--cpus-per-task={self.cpus}"]
        if self.queue is not None:
            found.append(f"--partition={self.queue}")
        if self.mem is not None:
            found.append(f"--mem={self.mem // _MIB}M")
        if self.gpus:
            found.append(f"--gpus={self.gpu_words}")
        if self.time_limit is not None:
            found.append(f"--time={self.time_limit // 60}")
        if self.account is not None:
            found.append(f"--account={self.account}")
        if self.qos is not None:
            found.append(f"--qos={self.qos}")
        return found

    @property
    def gpu_words(self) -> str:
        return f"{self.gpu_type}:{self.gpus}" if self.gpu_type else str(self.gpus)

    def line(self) -> str:
        """As it is typed behind `adminkit fit` or sbatch."""
        parts = [f"-p {self.queue}"] if self.queue else []
        parts += [f"--gpus {self.gpu_words}"] if self.gpus else []
        parts.append(f"-c {self.cpus}")
        if self.mem is not None:
            parts.append(f"--mem {show_mem(self.mem)}")
        if self.time_limit is not None:
            parts.append(f"-t {self.time_limit // 60}")
        parts += [f"-A {self.account}"] if self.account else []
        parts += [f"-q {self.qos}"] if self.qos else []
        return " ".join(parts)


def request(
    queue: str | None = None,
    cpus: int = 1,
    mem: str | None = None,
    gpus: str | None = None,
    time: str | None = None,
    account: str | None = None,
    qos: str | None = None,
) -> Request:
    """From what was typed. UsageError for what sbatch would not take."""
    if not 1 <= cpus <= _MOST_CPUS:
        raise UsageError(f"no such number of CPUs: {cpus}", "write 1 or more")
    kind, many = parse_gpus(gpus)
    return Request(
        queue=_name("queue", queue),
        cpus=cpus,
        mem=None if mem is None else parse_mem(mem),
        gpus=many,
        gpu_type=kind,
        time_limit=None if time is None else parse_time(time),
        account=_name("account", account),
        qos=_name("QOS", qos),
    )


def parse_time(text: str) -> int:
    """90 (minutes), 90:00, 1:30:00, 1-12, 1-12:30, 1-12:30:00 -> seconds, up to the whole minute, as sbatch does."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"no such time limit: {quote(text)}", "write minutes (90), 1:30:00 or 1-12:00:00, as for sbatch"
        )
    first, second, third = (None if match[name] is None else int(match[name]) for name in ("first", "second", "third"))
    assert first is not None
    if match["days"] is not None:
        seconds = int(match["days"]) * 86_400 + first * 3600 + (second or 0) * 60 + (third or 0)
    elif second is None:
        seconds = first * 60
    elif third is None:
        seconds = first * 60 + second
    else:
        seconds = first * 3600 + second * 60 + third
    if seconds == 0:
        raise UsageError("a time limit of nothing", "sbatch takes 0 for no limit; leave out -t for the queue's own")
    return math.ceil(seconds / 60) * 60


def parse_mem(text: str) -> int:
    """4G, 500 (MiB), 1T, 2048K -> bytes, up to the whole MiB; 0: all of the node's."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"no such amount of memory: {quote(text)}", "write 4G, 500M or 500 (MiB), as for sbatch")
    size = int(match[1]) * (1 << 10 * (1 + "KMGT".index(match[2].upper() or "M")))
    return math.ceil(size / _MIB) * _MIB


def parse_gpus(text: str | None) -> tuple[str | None, int]:
    """2 or a100:2 -> type, number."""
    if text is None:
        return None, 0
    match = _GPUS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"no such number of GPUs: {quote(text)}", "write 2, or TYPE:2, as for sbatch")
    return match[1], int(match[2])


def show_mem(size: int) -> str:
    """Bytes as sbatch takes them: 4G, 500M."""
    mib = size // _MIB
    return f"{mib // 1024}G" if mib and mib % 1024 == 0 else f"{mib}M"


def _name(kind: str, text: str | None) -> str | None:
    if text is not None and not _NAME.fullmatch(text):
        raise UsageError(f"no such {kind}: {quote(text)}", f"name one {kind}, as Slurm lists it")
    return text
