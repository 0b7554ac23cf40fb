"""doctor's check of the staging plugin: where it is in use, jobs have to be able to read the cache of a node."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adminkit.doctor.check import Check
from adminkit.files import read_named
from adminkit.slurm import plugstack

PLUGIN: Final = "adminkit_data.so"
PROGRAM: Final = "adminkit-stage"
#: The plugin's cache where its line has no cache=, as in spank/data/site.c.
CACHE: Final = "/var/cache/adminkit-data"
#: Files beside slurm.conf that say which folders each job gets for itself, with the key of the list.
HIDING: Final = (("job_container.conf", "dirs="), ("namespace.yaml", "dirs:"))
MOST: Final = 1 << 20  # bytes of such a file
#: What Slurm hides where the list is left out.
HIDDEN: Final = ("/tmp", "/dev/shm")


def staging() -> Iterator[Check]:
    """One row; AdminkitError without slurmctld."""
    setup = plugstack.setup()
    if setup.plugstack is None:
        yield Check("staging", "ok", "not in use: slurmctld names no PlugStackConfig")
        return
    lines = list(plugstack.plugin_lines(setup.plugstack, PLUGIN, setup.folders))
    if not lines:
        yield Check("staging", "ok", f"not in use: {setup.plugstack} of this host has no line for {PLUGIN}")
        return
    line = lines[0]
    cache = Path(line.value("cache") or CACHE)
    where = f"{line.file}:{line.number}: cache {cache}"
    if line.required:
        hint = "write `optional`: with `required`, every job fails where the plugin cannot be loaded"
        yield Check("staging", "warn", f"{where}; the line is `required`", hint)
    elif not (line.path.parent / PROGRAM).exists():
        hint = "build and install it: make -C spank install"
        yield Check("staging", "warn", f"{where}; {line.path.parent / PROGRAM} is missing, so nothing is copied", hint)
    elif hidden := _hidden(cache, setup.plugstack.parent):
        hint = "name a folder outside of it with cache=, which all jobs of a node can see"
        yield Check("staging", "missing", f"{where} lies in {hidden}, so no job sees what is copied", hint)
    elif others := _others(cache):
        hint = f"let only root write to it: chmod go-w {others}; or name another folder with cache="
        yield Check("staging", "missing", f"{where}; others than root may write to {others}", hint)
    else:
        yield Check("staging", "ok", where)


def _hidden(cache: Path, folder: Path) -> str | None:
    """The folder of job_container.conf or namespace.yaml in which the cache lies, and the file; None: none."""
    for name, key in HIDING:
        path = folder / name
        if not path.exists():
            continue
        text = read_named(path, MOST, "run it as root").decode("utf-8", "replace")
        for hidden in _listed(text, key) or HIDDEN:
            if Path(os.path.normpath(cache)).is_relative_to(hidden):
                return f"{hidden}, which each job has for itself ({path})"
    return None


def _listed(text: str, key: str) -> list[str]:
    """The folders behind the key, anywhere in the file, as a line may be for some nodes only."""
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].strip()
        for place in range(len(words)):
            if words[place:].lower().startswith(key) and (place == 0 or words[place - 1] in " \t"):
                value = words[place + len(key) :].strip().split()
                found += [one.strip("\"'[]") for word in value[:1] for one in word.split(",") if one.strip("\"'[]")]
    return found


def _others(cache: Path) -> Path | None:
    """The cache, or a folder above it, to which another than root may write. What is not there yet has none."""
    for path in (cache, *cache.parents):
        try:
            status = path.stat()
        except OSError:
            continue
        sticky = status.st_mode & stat.S_ISVTX and path != cache
        if status.st_uid != 0 or (status.st_mode & 0o022 and not sticky):
            return path
    return None
