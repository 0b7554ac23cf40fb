"""The column spec: what adminkit-ingest makes of each input column. adminkit/native/common/sacct.h is its manual.

One kind per input column; a kind has a fixed number of outputs, bound in order to the statement's parameters
?1, ?2 … A `!` after the kind refuses a row where its first output is unknown; a `^` gives a step row the value that
its job's row had (sacct prints a step's own start as its Submit).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: kind -> names of its outputs, in order. Equal to the table in spec.c, which a test checks.
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "skip": (),
    "text": ("text",),  # a name; empty is unknown
    "free": ("text",),  # text that may hold delimiters and newlines; at most one column is repaired with it
    # free, what a record of the policy in its first word says, and in any a note of the checkpoint plugin and the word
    # of an extension
    "admin_comment": ("text", "limit", "source", "at", "heard", "requeues", "end", "asked", "extended", "times"),
    "submitted": ("by", "ckpt", "program", "framework", "container"),  # what is kept of a command line
    "int": ("value",),
    "serial": ("value",),  # 64 bits without a sign, kept as 64 with one
    "real": ("value",),
    "swf": ("value",),  # a number of SWF, whole or not; -1 is unknown
    "time": ("epoch",),  # epoch seconds or YYYY-MM-DDTHH:MM:SS in --timezone
    "epoch": ("epoch",),  # epoch seconds without a seal
    "seconds": ("seconds",),  # whole seconds: 90, 00:01:30, 1-00:00:00, 01:30.250
    "cputime": ("seconds",),  # the same, fractions kept
    "limit": ("seconds", "kind"),  # minutes or a clock; kind is finite, unlimited, partition or unknown
    # at most one such column; a list in brackets stands for array_tasks tasks
    "jobid": ("job_id", "array_job", "array_task", "het_job", "het_offset", "step", "array_tasks"),
    "rawid": ("value",),  # 123, 123.batch -> 123
    "state": ("state", "cancelled_by"),
    "exit": ("code", "signal"),
    "mem": ("bytes",),  # 1024K, 1.50T, plain bytes
    "reqmem": ("bytes", "per"),  # 3000Mc, 4Gn, 199G; per is c, n or unknown; plain numbers are bytes
    "tres": ("cpus", "mem", "nodes", "gpus", "gpu_type", "energy", "billing", "gpu_parts"),
    "gres": ("gpus", "gpu_type", "gpu_parts", "per"),  # gpu:2, gpu:a100:2(S:0-1); per is node, job, task or socket
    "usage": ("cpu_time", "mem", "disk", "energy", "gpu_util", "gpu_mem"),  # TRESUsageIn…, TRESUsageOut…
    "nodelist": ("nodes",),  # "None assigned" is unknown
}


@dataclass(frozen=True, slots=True)
class Column:
    """One input column: its name in the source, what it holds, how strictly."""

    name: str
    kind: str
    required: bool = False
    inherit: bool = False

    @property
    def spec(self) -> str:
        return self.kind + ("!" if self.required else "") + ("^" if self.inherit else "")


def parameters(columns: list[Column]) -> dict[str, str]:
    """Where each output is bound: {"Submit": "?3", "State.cancelled_by": "?9", …}.

    A kind's first output has only the column's name.
    """
    places: dict[str, str] = {}
    number = 0
    for column in columns:
        for position, output in enumerate(KINDS[column.kind]):
            number += 1
            places.setdefault(f"{column.name}.{output}", f"?{number}")
            if position == 0:
                places.setdefault(column.name, f"?{number}")
    return places


def outputs(columns: Sequence[Column]) -> int:
    """How many parameters these columns bind; what is bound by hand comes after them."""
    return sum(len(KINDS[column.kind]) for column in columns)
