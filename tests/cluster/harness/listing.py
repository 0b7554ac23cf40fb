"""The files of a folder with their state, to compare two moments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

#: path -> (mode, owner, size, mtime in ns); a path that does not exist is not in it.
Listing = dict[str, tuple[int, int, int, int]]


def listing(places: Iterable[Path]) -> Listing:
    """Everything at and below `places`. Access times do not count."""
    found: Listing = {}
    for place in places:
        paths = [place]
        for folder, folders, files in os.walk(place):
            paths += [Path(folder) / name for name in (*folders, *files)]
        for path in paths:
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            found[str(path)] = (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns)
    return found
