"""Whether two rows of one table have the same key, and would overwrite each other: found at its end, before anything
is stored for good. A table may have tens of millions of rows, so 24 bytes are kept of each.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from adminkit.errors import AdminkitError


def _longs() -> array[int]:
    return array("Q")


def _hash(values: Sequence[object]) -> int:
    return int.from_bytes(hashlib.blake2b(repr(values).encode("utf-8", "replace"), digest_size=8).digest())


@dataclass(slots=True)
class Keys:
    """The keys of a table's rows as they are read."""

    keys: array[int] = field(default_factory=_longs)
    rows: array[int] = field(default_factory=_longs)
    lines: array[int] = field(default_factory=_longs)

    def add(self, key: Sequence[object], row: Sequence[object], line: int) -> None:
        self.keys.append(_hash(key))
        self.rows.append(_hash(row))
        self.lines.append(line)

    def refuse_shared(self) -> int:
        """Count the rows that repeat another one. AdminkitError where rows of one key are not the same row."""
        import numpy

        keys, rows, lines = (numpy.frombuffer(one, numpy.uint64) for one in (self.keys, self.rows, self.lines))
        order = numpy.argsort(keys, kind="stable")
        keys, rows, lines = keys[order], rows[order], lines[order]
        shared = keys[1:] == keys[:-1]
        other = numpy.flatnonzero(shared & (rows[1:] != rows[:-1]))
        if len(other) == 0:
            return int(numpy.count_nonzero(shared))
        several = numpy.isin(keys, keys[other])
        first = other[numpy.argmin(lines[other])]
        raise AdminkitError(
            f"lines {lines[first]} and {lines[first + 1]} are different rows with the same job_id_raw and submit_time"
            f" (the key of a run); {int(numpy.count_nonzero(several)):,} of {len(keys):,} rows share a key in this"
            f" way and would overwrite each other, so nothing was stored",
            'build the key from more columns, job_id_raw = { join = ["job", "task"] }, or number the rows:'
            " job_id_raw = { row = 1 }",
        )
