"""What packing and staging would give, from what a probe measured: pure arithmetic, and its sentences.

Rates are in bytes per second of one node. None is unknown, and what follows from it is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.messages import Message, message

#: Bytes per second that one GPU reads, unless the caller says otherwise.
GPU_RATE: Final = 40e6
#: More readers help while four times as many get this many times as much.
_GROWS: Final = 1.5
#: The share of the rate in order from which files are read fast enough.
_ENOUGH: Final = 0.8


@dataclass(frozen=True, slots=True)
class Level:
    """Files read at random by this number of readers."""

    readers: int
    files: float  # the last ones in part
    size: int  # bytes
    seconds: float

    @property
    def files_rate(self) -> float:
        return self.files / self.seconds

    @property
    def rate(self) -> float:
        return self.size / self.seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """What a probe measured on one node; `levels` by rising readers."""

    levels: Sequence[Level]
    in_order: float | None
    local: float | None = None  # of the node's own disk
    network: float | None = None  # from another node

    @property
    def best(self) -> Level:
        """The level of the highest rate; of nearly equal ones that of the fewest readers."""
        most = max(level.rate for level in self.levels)
        return next(level for level in self.levels if level.rate >= 0.95 * most)

    @property
    def is_capped(self) -> bool:
        """Whether files per second stay the same, however many readers there are."""
        from_four = [level.files_rate for level in self.levels if level.readers >= 4]
        return len(from_four) > 1 and max(from_four) < _GROWS * from_four[0]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one node gets. `pays_from`: the epoch with which a copy to the local disk, made before, has paid off."""

    files: float
    packed: float | None
    staged: float | None  # of an epoch after the copy
    copy: float | None  # the copy itself
    pays_from: int | None  # 0: never

    def staged_over(self, epochs: int) -> float | None:
        """The rate of this number of epochs with their copy."""
        if self.copy is None or self.staged is None:
            return None
        return epochs / (1 / self.copy + epochs / self.staged)


def forecast(measured: Measured) -> Forecast:
    """What each way of reading would give."""
    files, packed, local = measured.best.rate, measured.in_order, measured.local
    pays = None
    if packed is not None and local is not None:
        gain = 1 / files - 1 / local
        pays = max(1, math.ceil(1 / packed / gain)) if gain > 0 else 0
    return Forecast(files, packed, None if packed is None else local, packed, pays)


def verdict(measured: Measured, gpu: float = GPU_RATE) -> list[Message]:
    """The answer in words: what the files give now, and what packing and staging would."""
    given, best = forecast(measured), measured.best
    said = [
        message(
            "{files} files/s however many readers: feeds {gpus} GPUs of {each} MB/s",
            files=_number(best.files_rate), gpus=_number(given.files / gpu), each=_number(gpu / 1e6),
        )
        if measured.is_capped
        else message(
            "{files} files/s, read {readers} at a time: feeds {gpus} GPUs of {each} MB/s",
            files=_number(best.files_rate), readers=best.readers, gpus=_number(given.files / gpu),
            each=_number(gpu / 1e6),
        )
    ]  # fmt: skip
    if given.packed is None:
        said.append(message("what packing gives is unknown: name a large file of the same file system with --large"))
        return said
    if given.files >= _ENOUGH * given.packed:
        said.append(
            message(
                "do not pack: read {readers} at a time, files come at {share} of the rate of a large file",
                readers=best.readers, share=f"{given.files / given.packed:.0%}",
            )
        )  # fmt: skip
    else:
        said.append(
            message(
                "packed, it feeds {gpus} GPUs: {times} times as many",
                gpus=_number(given.packed / gpu), times=_number(given.packed / given.files),
            )
        )  # fmt: skip
    said += _staging(given, gpu)
    return said


def _staging(given: Forecast, gpu: float) -> list[Message]:
    if given.pays_from is None or given.staged is None:
        return [message("what a copy on the local disk gives is unknown: that disk was not measured")]
    if given.pays_from == 0:
        return [message("a copy on the local disk does not pay: that disk is not faster")]
    return [
        message(
            "a copy on the local disk pays from epoch {epoch}, and then feeds {gpus} GPUs",
            epoch=given.pays_from, gpus=_number(given.staged / gpu),
        )
    ]  # fmt: skip


def _number(value: float) -> str:
    """Three digits at most behind a value that is small, none behind one that is large."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
