"""The staging plugin's copies on a node, as a Report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.data.cache import Cache, Copy
from adminkit.messages import message
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.units import show_bytes

FIELDS: Final = (
    Field("sha256", help="the SHA-256 of the shard"),
    Field("size", "bytes", "its size"),
    Field("jobs", "count", "running jobs that use it"),
    Field("used", "time", "when a job was given it last"),
    Field("sources", "count", "files that it is known to be a copy of"),
)


def cache_report(cache: Cache, gone: Sequence[Copy] | None = None, applied: bool = False) -> Report:
    """A row for each copy, the one that was used longest ago first; of `gone` where that is given."""
    used = [one for one in cache.copies if one.jobs]
    notes = [
        message(
            "{copies} copies, {size}; {used} of them are in use, {busy}; the file system has {free} left",
            copies=f"{len(cache.copies):,}", size=show_bytes(cache.size), used=f"{len(used):,}",
            busy=show_bytes(sum(one.size for one in used)), free=show_bytes(cache.free),
        )
    ]  # fmt: skip
    if gone is not None:
        count, size = f"{len(gone):,}", show_bytes(sum(one.size for one in gone))
        notes.append(
            message("{count} copies were removed, {size}", count=count, size=size)
            if applied
            else message("--apply would remove these {count} copies, {size}", count=count, size=size)
        )
    rows: list[list[Cell]] = [
        [one.sha256, one.size, one.jobs, one.used, one.sources] for one in (cache.copies if gone is None else gone)
    ]
    return Report(Meta.plain(message("Copies of training data in {path}", path=cache.path), notes), FIELDS, rows)
