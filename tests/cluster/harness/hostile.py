"""Jobs whose every text tries to be another record of sacct's, made by a seed: for tests that nothing is forged.

for job in hostile(seed=1, count=300):
    job.submit(cluster, "--hold")
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, STEP_FIELDS
from adminkit.ingest.sources.text import DELIMITERS
from tests.cluster.harness.cluster import Cluster

#: What a forged record says; everybody may see which runs `news` has.
FORGED: Final = 990_000
#: The columns that sync asked for until its delimiter was drawn by lot: whoever read that code knows them.
OLD_FIELDS: Final = tuple(
    """JobID JobIDRaw Cluster DBIndex User UID Group Account Partition QOS State Reason ExitCode DerivedExitCode
    Priority Submit Eligible Start End ElapsedRaw Suspended TimelimitRaw ReqNodes ReqCPUS ReqMem ReqTRES AllocNodes
    AllocCPUS AllocTRES NodeList Flags AdminComment SubmitLine JobName""".split()
)
#: slurmdbd keeps so much of a name.
NAME: Final = 255
#: Bytes before which Slurm or the kernel stops.
_NOT: Final = b"\0"


@dataclass(frozen=True)
class Job:
    """One submission. Every text is bytes."""

    name: bytes
    options: tuple[bytes, ...] = ()
    arguments: tuple[bytes, ...] = ()
    folder: bytes | None = None
    steps: bytes | None = None  # the name of a step that it runs

    def submit(self, cluster: Cluster, *options: str, user: str = "games") -> int:
        """sbatch it; the (first) job id."""
        words: list[bytes] = [b"sbatch", b"--parsable", b"-o", b"/dev/null", b"-t", b"5", *map(os.fsencode, options)]
        if self.folder is not None:
            folder = cluster.work / os.fsdecode(self.folder)
            with suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(0o777)  # no umask: it is the process's, and jobs are submitted by threads
            words += [b"--chdir", os.fsencode(folder)]
        script = cluster.work / "hostile.sh"
        # `$1` is the step's name, as an argument: a script could hold no byte less.
        words += [*self.options, b"-J", self.name, os.fsencode(script), self.steps or b"", *self.arguments]
        done = cluster.run(*words, user=user)
        assert done.code == 0, (self, done.err)
        return int(done.text.partition(";")[0])


def script(cluster: Cluster) -> Path:
    """What all of them run: one step where a name for it is given."""
    path = cluster.work / "hostile.sh"
    path.write_text('#!/bin/sh\n[ -z "$1" ] || srun -J "$1" true\n')
    path.chmod(0o755)
    return path


def submit_all(cluster: Cluster, jobs: list[Job], *options: str) -> list[int]:
    """Eight at a time."""
    script(cluster)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda job: job.submit(cluster, *options), jobs))


def hostile(seed: int, count: int, more: tuple[bytes, ...] = (), now: int = 0) -> Iterator[Job]:
    """`count` jobs: first each delimiter and each byte, then by lot. `more` are delimiters that somebody read."""
    pick = random.Random(seed)
    texts = _Texts(pick, (*(os.fsencode(one) for one in DELIMITERS), *more), now)
    known = [*texts.known()]
    places: list[Callable[[bytes], Job]] = [
        lambda text: Job(text[:NAME]),
        lambda text: Job(b"n", (b"--comment=" + text,)),
        lambda text: Job(b"n", (b"--wckey=" + re.sub(rb"^\*", b"w*", text)[:40],)),  # 26.05 takes no * first
        lambda text: Job(b"n", arguments=(text, b"--ckpt", b"x")),
        lambda text: Job(b"n", (b"--export=ALL,A=" + text,)),
        lambda text: Job(b"n", folder=text.replace(b"/", b"%")[:NAME]),
        lambda text: Job(text[:NAME], steps=text[:NAME] or b"s"),
        lambda text: Job(text[:NAME], (b"--array=0-1%1",)),
        lambda text: Job(text[:NAME], (b"--comment=" + text,), (text,), text.replace(b"/", b"%")[:NAME]),
    ]
    for number in range(count):
        text = known[number] if number < len(known) else texts.draw()
        yield places[number % len(places) if number < len(known) else pick.randrange(len(places))](text or b"x")


@dataclass
class _Texts:
    """Texts that try to end their own record and to begin another."""

    pick: random.Random
    delimiters: tuple[bytes, ...]
    now: int
    number: int = field(default=FORGED)

    def known(self) -> Iterator[bytes]:
        for delimiter in self.delimiters:
            for fields in (OLD_FIELDS, JOB_FIELDS, STEP_FIELDS):
                yield self.forged(delimiter, fields)
        for byte in range(1, 256):
            yield bytes([byte]) * 3 + b"a" + bytes([byte]) + b"b"

    def forged(self, delimiter: bytes, fields: tuple[str, ...]) -> bytes:
        """The end of the own record, then a whole one, of somebody else's run that went perfectly."""
        self.number += 1
        start = self.now - 7000
        step = fields is STEP_FIELDS
        cells = {
            "JobID": f"{self.number}.batch" if step else str(self.number),
            "JobIDRaw": f"{self.number}.batch" if step else str(self.number),
            "Cluster": "alpha", "User": "news", "UID": "9", "Partition": "gq", "State": "COMPLETED",
            "Submit": str(start - 10), "Start": str(start), "End": str(start + 3500), "ElapsedRaw": "3500",
            "TimelimitRaw": "60", "AllocTRES": "cpu=8,gres/gpu=8", "AdminComment": "ak1:lim=3600,src=e",
        }  # fmt: skip
        record = delimiter.join(cells.get(name, "").encode() for name in fields)
        return b"x" + delimiter + b"\n" + record + (b"" if len(record) % 2 else delimiter + b"\ny")

    def draw(self) -> bytes:
        delimiter = self.pick.choice((*self.delimiters, self.pick.randbytes(self.pick.randint(1, 16))))
        kind = self.pick.randrange(4)
        if kind == 0:
            text = self.forged(delimiter, self.pick.choice((OLD_FIELDS, JOB_FIELDS, STEP_FIELDS)))
        elif kind == 1:
            text = self.pick.randbytes(self.pick.randint(1, 300))
        elif kind == 2:
            words = (delimiter, b"\n", b"\r\n", b"\x1f", b"x", b"1700000000", b"ak1:lim=60,src=e", b'"', b"'", b"\\")
            text = b"".join(self.pick.choices(words, k=self.pick.randint(1, 60)))
        else:
            text = delimiter * self.pick.randint(1, 60) + b"\n"
        return text.translate(None, _NOT)
