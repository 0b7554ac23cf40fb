"""Packed training data as Reports: its shards, classes or files, and what differs from its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adminkit.data.index import Entry, Index
from adminkit.data.verify import Fault
from adminkit.messages import counted, message
from adminkit.render.report import Cell, Field, Meta, Report

SHARD_FIELDS: Final = (
    Field("shard", help="the file of the shard"),
    Field("files", "count", "files and links in it"),
    Field("size", "bytes", "its size"),
    Field("sha256", help="its SHA-256 in hexadecimal", data=True),
)
CLASS_FIELDS: Final = (
    Field("class", help="the class; unknown if there is no folder or label"),
    Field("files", "count", "files of this class"),
    Field("share", "share", "their share of all files"),
    Field("size", "bytes", "bytes of these files"),
)
FILE_FIELDS: Final = (
    Field("name", help="the file's path when it was packed"),
    Field("shard", help="the shard that it is in"),
    Field("offset", "count", "where its first byte is, in bytes from the beginning of the shard"),
    Field("length", "bytes", "its size"),
    Field("class", help="its class; unknown if there is no folder or label"),
    Field("target", help="what a link leads to", quiet=True),
    Field("sha256", help="its SHA-256 in hexadecimal; links have none", data=True),
)
FAULT_FIELDS: Final = (
    Field("shard", help="the shard"),
    Field("name", help="the file in it; none for the shard itself"),
    Field("fault", help="what is wrong"),
)


def shards_report(index: Index) -> Report:
    """A row for each shard; it reads only the head of the index."""
    rows: list[list[Cell]] = [[one.name, one.files, one.size, one.sha256] for one in index.head.shards]
    return Report(_meta(index), SHARD_FIELDS, rows)


def classes_report(index: Index) -> Report:
    """A row for each class, the largest first."""
    files: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in index.entries():
        if entry.target is None:
            files[entry.label] += 1
            size[entry.label] += entry.length
    rows: list[list[Cell]] = [
        [label or None, count, count / files.total(), size[label]]
        for label, count in sorted(files.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Report(_meta(index), CLASS_FIELDS, rows)


def files_report(index: Index) -> Report:
    """A row for each file and link, in the order in which they lie."""
    return Report(_meta(index), FILE_FIELDS, [_row(entry) for entry in index.entries()])


def faults_report(index: Index, faults: Sequence[Fault]) -> Report:
    """A row for each fault."""
    shards, files = len(index.head.shards), sum(shard.files for shard in index.head.shards)
    note = (
        message("{shards} and {files} are as they were packed", shards=_shards(shards), files=_files(files))
        if not faults
        else message("this data set is not as it was packed: get the shards in the table again, or pack them again")
    )
    rows: list[list[Cell]] = [[fault.shard, fault.name, fault.what] for fault in faults]
    return Report(Meta.plain(_title(index.path), [note]), FAULT_FIELDS, rows)


def _row(entry: Entry) -> list[Cell]:
    link = entry.target is not None
    return [
        entry.name, entry.shard, entry.offset, entry.length, entry.label or None, entry.target,
        None if link else entry.sha256,
    ]  # fmt: skip


def _meta(index: Index) -> Meta:
    head = index.head
    files, size = sum(shard.files for shard in head.shards), sum(shard.size for shard in head.shards)
    order = (
        message("in the order of their names")
        if head.order == "kept"
        else message("shuffled with the seed {seed}", seed=head.seed)
    )
    note = message(
        "{files} in {shards}, {size} bytes, {order}",
        files=_files(files), shards=_shards(len(head.shards)), size=f"{size:,}", order=order,
    )  # fmt: skip
    return Meta.plain(_title(index.path), [note])


def _shards(number: int) -> str:
    return counted("{number:,} shard", "{number:,} shards", number=number)


def _files(number: int) -> str:
    return counted("{number:,} file", "{number:,} files", number=number)


def _title(path: Path) -> str:
    return message("Packed data in {path}", path=path)
