"""A probe of a file system as a Report, and those that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.data.forecast import forecast, verdict
from adminkit.data.kept import Kept
from adminkit.messages import Message, message
from adminkit.render.report import Cell, Field, Meta, Report

FIELDS: Final = (
    Field("measure", help="what was read"),
    Field("readers", "count", "readers at a time; unknown for the best of several"),
    Field("files", "quantity", "files that were read"),
    Field("files_per_second", "quantity", "files read in a second"),
    Field("mb_per_second", "quantity", "millions of bytes read in a second"),
)
KEPT_FIELDS: Final = (
    Field("day", help="the day, in UTC"),
    Field("file_system", help="its type, and what is mounted"),
    Field("host", help="the host that read"),
    Field("folder", help="the folder with the files"),
    Field("readers", "count", "readers at a time that read the most"),
    Field("files_per_second", "quantity", "files that they read in a second"),
    Field("files_mb_per_second", "quantity", "millions of bytes that they read in a second"),
    Field("in_order_mb_per_second", "quantity", "the same of a large file in order, which packing gives"),
    Field("local_mb_per_second", "quantity", "the same of the local disk"),
)


def probe_report(probe: Kept, gpu: float, notes: Sequence[str] = ()) -> Report:
    """A row for each measure. `gpu` is what one GPU reads, in bytes per second."""
    found = probe.measured
    rows: list[list[Cell]] = [
        [message("files at random"), level.readers, level.files, level.files_rate, level.rate / 1e6]
        for level in found.levels
    ]
    others = (
        (message("a large file in order"), found.in_order),
        (message("the local disk in order"), found.local),
        (message("from another node"), found.network),
    )
    rows += [[what, None, None, None, rate / 1e6] for what, rate in others if rate is not None]
    given = forecast(found)
    extra = {
        "file_system": probe.file_system, "host": probe.host, "day": probe.day, "capped": found.is_capped,
        "files": given.files, "packed": given.packed, "staged": given.staged, "copy": given.copy,
        "staging_pays_from_epoch": given.pays_from,
    }  # fmt: skip
    meta = Meta(
        _title(probe.folder), "", (None, None), (), {}, None, {}, notes, answers=verdict(found, gpu)
    )  # fmt: skip
    return Report(meta, FIELDS, rows, (), None, {"forecast": [extra]})


def kept_report(probes: Sequence[Kept], folder: str) -> Report:
    """A row for each probe that was kept, the oldest first."""
    rows: list[list[Cell]] = []
    for probe in probes:
        best = probe.measured.best
        rows.append(
            [
                probe.day, probe.file_system, probe.host, probe.folder, best.readers, best.files_rate, best.rate / 1e6,
                _mega(probe.measured.in_order), _mega(probe.measured.local),
            ]
        )  # fmt: skip
    notes = (
        [] if rows else [message("no probe of this file system was kept: adminkit data probe {folder}", folder=folder)]
    )
    return Report(Meta.plain(_title(folder), notes), KEPT_FIELDS, rows)


def _title(folder: str) -> Message:
    return message("How fast files of {folder} are read", folder=folder)


def _mega(rate: float | None) -> float | None:
    return None if rate is None else rate / 1e6
