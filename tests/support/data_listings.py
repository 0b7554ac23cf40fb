"""Listings of packed training data, with names that are hostile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from adminkit.data.cache import Cache, Copy
from adminkit.data.forecast import Level, Measured
from adminkit.data.index import Index, open_index
from adminkit.data.kept import Kept
from adminkit.data.pack import Wanted, pack
from adminkit.data.verify import Fault
from adminkit.render.report import Report
from adminkit.reports.data import classes_report, faults_report, files_report, shards_report
from adminkit.reports.data_cache import cache_report
from adminkit.reports.data_probe import kept_report, probe_report

_HOSTILE: Final = "$x$<script>|\u202e*red*<"


def _made(place: Path, view: Callable[[Index], Report]) -> Report:
    for name in ("cat/1.jpg", "cat/2.jpg", "dog/3.jpg", f"{_HOSTILE}/4.jpg", "5.jpg"):
        (place / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "in" / name).write_bytes(name.encode() * 100)
    (place / "in/cat/6.jpg").symlink_to("1.jpg")
    pack(place / "in", place / "set", Wanted(shard_bytes=4096))
    with open_index(place / "set") as index:
        index.path = Path("/scratch/set")
        return view(index)


def shards(place: Path) -> Report:
    return _made(place, shards_report)


def classes(place: Path) -> Report:
    return _made(place, classes_report)


def files(place: Path) -> Report:
    return _made(place, files_report)


def faults(place: Path) -> Report:
    some = [
        Fault("000000.tar", None, "is missing"),
        Fault("000001.tar", f"{_HOSTILE}/4.jpg", "has other bytes than when it was packed"),
    ]
    return _made(place, lambda index: faults_report(index, some))


#: The seed of the study: 62 files of 270 KB a second, however many readers there are.
CAPPED: Final = Measured(
    [Level(1, 330.0, 330 * 270_000, 7.0), *(Level(count, 434.0, 434 * 270_000, 7.0) for count in (4, 16, 64))],
    in_order=255e6, local=1444e6,
)  # fmt: skip


def probed(_: Path) -> Report:
    return probe_report(Kept("2026-01-05", "nfs4 filer:/data", "gpu001", f"/data/{_HOSTILE}", CAPPED), 40e6)


def kept(_: Path) -> Report:
    slow = Measured([Level(1, 10.0, 2_700_000, 7.0)], None)
    probes = [
        Kept("2026-01-05", "nfs4 filer:/data", "gpu001", f"/data/{_HOSTILE}", CAPPED),
        Kept("2026-01-06", "nfs4 filer:/data", "gpu002", "/data/train", slow),
    ]
    return kept_report(probes, "/data/train")


def cache(place: Path) -> Report:
    """Nothing in it is a user's word."""
    copies = [
        Copy(f"{number:x}" * 64, number << 28, number % 2, 1_790_000_000 + number, number) for number in (1, 2, 3)
    ]
    return cache_report(Cache(Path("/var/cache/adminkit-data"), copies, 1 << 20, 1 << 40), copies[1:2])
