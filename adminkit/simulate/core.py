"""Runs adminkit-simulate: columns of jobs in, starts and ends out. docs/simulate-spec.md has the format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from adminkit.errors import AdminkitError
from adminkit.installed import simulator_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

Model = Literal["fcfs", "easy", "easy-sjbf", "conservative", "slurm"]
MODELS: Final[tuple[Model, ...]] = get_args(Model)
#: Jobs of GPUs that shrink and grow, which no scheduler of a site's does yet: simulate/elastic.py.
Elastic = Literal["elastic"]

#: A number that is not known, or a limit that is not there.
NONE: Final = -1
#: The outcomes of a job.
NOT_RUN: Final = 0
DONE: Final = 1
KILLED: Final = 2

_MAGIC: Final = "adminkit-simulate 1"
_OUTPUTS: Final = ("start", "end", "outcome", "order")
#: What else some models say: one where the setting `promises` asks for it, two that the model elastic always says, two
#: where limits are raised.
_RAISED: Final = ("last_limit", "raises")
_MORE: Final = (("promised",), ("energy", "resizes"), (), _RAISED, ("promised", *_RAISED))


@dataclass(frozen=True, slots=True)
class Request:
    """One run: a model, its settings, a site and jobs. The names are those of docs/simulate-spec.md, in base units.

    `jobs` are columns of one length; the things of the other lists are referred to by their place.
    """

    model: Model | Elastic
    jobs: Mapping[str, Column]
    settings: Mapping[str, int] = field(default_factory=dict)
    queues: Sequence[Mapping[str, int]] = ()
    nodes: Sequence[Mapping[str, int]] = ()
    down: Sequence[Mapping[str, int]] = ()
    qos: Sequence[Mapping[str, int]] = ()
    curves: Sequence[Mapping[str, int]] = ()

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(next(iter(self.jobs.values()), ()))

    def to_bytes(self) -> Iterator[bytes]:
        """The program's input, in pieces: the same bytes for the same request."""
        lines = [_MAGIC, f"model {self.model}"]
        lines += [f"set {_fields(self.settings)}"] if self.settings else []
        site = (("queue", self.queues), ("nodes", self.nodes), ("down", self.down), ("qos", self.qos))
        for word, records in (*site, ("curve", self.curves)):
            lines += [f"{word} {_fields(record)}".rstrip() for record in records]
        lines += [f"jobs {self.count}", *(f"column {name}" for name in self.jobs), "data\n"]
        yield "\n".join(lines).encode("ascii")
        for column in self.jobs.values():
            yield column.astype("<i8", copy=False).tobytes()


def without_jobs(request: Request) -> Request:
    """The same without any job: to learn whether the program takes the rest."""
    return replace(request, jobs={name: column[:0] for name, column in request.jobs.items()})


@dataclass(frozen=True, slots=True)
class Schedule:
    """What came of the jobs, in the order of the request; NONE for the start, end and order of one that did not run.

    `promised`: the start that a job was promised first, as docs/simulate-spec.md says of each model; None where nobody
    asked. `last_limit` is the limit at its end, and `raises` how often it was raised; None where no limit is. `energy`
    (millijoules of its GPUs; NONE without a curve) and `resizes` are the model elastic's.
    """

    start: Column
    end: Column
    outcome: Column
    order: Column
    facts: Mapping[str, int]
    promised: Column | None = None
    energy: Column | None = None
    resizes: Column | None = None
    last_limit: Column | None = None
    raises: Column | None = None


def simulate(request: Request, progress: Callable[[int], None] | None = None) -> Schedule:
    """Run the model. `progress` is told how many jobs have started.

    AdminkitError where the program refuses the request, or fails.
    """
    words = [simulator_path(), "--parent", str(os.getpid()), *(["--progress"] if progress else [])]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        feeder = threading.Thread(target=_feed, args=(process, request), daemon=True)
        listener = _Listener(process, progress)
        feeder.start()
        assert process.stdout
        answer = process.stdout.read()
        feeder.join()
        listener.join()
    if process.returncode:
        raise AdminkitError(*_failure(listener.text, process.returncode))
    return _schedule(answer)


def _fields(record: Mapping[str, int]) -> str:
    return " ".join(f"{name}={int(value)}" for name, value in record.items())


def _feed(process: subprocess.Popen[bytes], request: Request) -> None:
    assert process.stdin
    try:
        for piece in request.to_bytes():
            process.stdin.write(piece)
        process.stdin.close()
    except BrokenPipeError:
        pass  # the program has stopped; its own words say why


class _Listener(threading.Thread):
    """Takes what the program says on standard error: how far it is, or what failed."""

    def __init__(self, process: subprocess.Popen[bytes], progress: Callable[[int], None] | None) -> None:
        super().__init__(daemon=True)
        self.process, self.progress, self.text = process, progress, ""
        self.start()

    def run(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            if not line.startswith(b"{"):
                self.text += line.decode("utf-8", "replace")
            elif self.progress:
                self.progress(json.loads(line)["started"])


def _failure(text: str, code: int) -> tuple[str, str]:
    said = text.strip().removeprefix("error:").strip() or f"ended with status {code}"
    hint = "this is a bug in adminkit: please report it, with the command"
    if "out of memory" in said:
        hint = "simulate fewer jobs: a shorter window, or one cluster"
    return f"adminkit-simulate: {said}", hint


def _schedule(answer: bytes) -> Schedule:
    import numpy as np

    head, data_word, numbers = answer.partition(b"\ndata\n")
    lines = head.decode("ascii").split("\n")
    facts = dict(line.removeprefix("fact ").split("=") for line in lines if line.startswith("fact "))
    count = next(int(line.removeprefix("jobs ")) for line in lines if line.startswith("jobs "))
    columns = tuple(line.removeprefix("column ") for line in lines if line.startswith("column "))
    known = columns in tuple((*_OUTPUTS, *more) for more in _MORE)
    if lines[0] != _MAGIC or not known or len(numbers) != 8 * count * len(columns) or not data_word:
        raise AdminkitError(
            "adminkit-simulate's output does not have the expected form",
            "install adminkit again: its parts are from two versions",
        )
    values: Any = np.frombuffer(numbers, "<i8").reshape(len(columns), count)
    if sys.byteorder == "big":
        values = values.astype(np.int64)
    named = dict(zip(columns, values, strict=True))
    return Schedule(facts={name: int(value) for name, value in facts.items()}, **named)
