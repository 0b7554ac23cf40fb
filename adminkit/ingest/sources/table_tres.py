"""The text of Slurm's TRES in a cell of a job table: cpu=8,mem=64G,node=1,gres/gpu:a100=2."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from adminkit.gres import UNREADABLE, UNTYPED, parse_tres
from adminkit.ingest.sources.cells import MOST, Bad, Value, shown

#: Field of a map -> what TRES say -> the column that it fills, where the map has no other origin for that.
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "alloc_tres": {"cpu": "cpus", "mem": "mem", "node": "nodes", "energy": "energy", "gpus": "gpus",
                   "parts": "gpu_parts", "type": "gpu_type"},
    "req_tres": {"cpu": "req_cpus", "mem": "req_mem", "node": "req_nodes", "gpus": "req_gpus",
                 "parts": "req_gpu_parts"},
}  # fmt: skip
#: slurmdbd's numbers for the TRES that every site has.
_NUMBERS: Final = {"1": "cpu", "2": "mem", "3": "energy", "4": "node"}
_AMOUNT: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?([KMGTP]?)", re.IGNORECASE)
_UNITS: Final = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50}


def filled(fields: Collection[str]) -> tuple[str, ...]:
    """The columns that a map's TRES fill."""
    names = [column for tres in COLUMNS if tres in fields for column in COLUMNS[tres].values()]
    return tuple(name for name in names if name not in fields)


def tres(text: str) -> str:
    """The text of a cell, if every item of it is TRES=AMOUNT."""
    _read(text)
    return text


def fill(found: dict[str, Value], columns: Collection[str]) -> None:
    """Put what the TRES of a row say into these columns, and take the texts out of it."""
    for field, names in COLUMNS.items():
        text = found.pop(field, None)
        said = _read(text) if isinstance(text, str) else {}
        found.update({column: said.get(name) for name, column in names.items() if column in columns})


@lru_cache(maxsize=1 << 12)
def _read(text: str) -> Mapping[str, Value]:
    """What TRES say: cpu, node, mem in bytes, energy in joules; gpus, parts and type as columns of a job have them."""
    found: dict[str, Value] = {}
    for item in text.strip().split(","):
        key, equals, amount = item.partition("=")
        match = _AMOUNT.fullmatch(amount)
        if not equals or not key or match is None:
            raise Bad(f"{shown(item)} is not TRES=AMOUNT")
        name = _NUMBERS.get(key, key)
        shift = _UNITS.get(match[3].upper(), 20 if name == "mem" else 0)
        value = int(float(f"{match[1]}.{match[2]}") * 2**shift) if match[2] else int(match[1]) << shift
        if value > MOST:
            raise Bad(f"{shown(item)} is too large")
        if name in ("cpu", "mem", "node", "energy"):
            found[name] = value
    gpus = parse_tres(text.strip())
    if gpus is None:
        return found | {"gpus": None, "parts": UNREADABLE, "type": None}
    types = "+".join(sorted(kind for kind, count in gpus.types.items() if count and kind != UNTYPED))
    held = gpus.held()
    return found | {"gpus": held.whole, "parts": held.parts or None, "type": types or None}
