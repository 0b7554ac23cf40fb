"""doctor's check of slurmdbd's database, where sync reads it: whether it answers, and the GRANT where it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adminkit.config import Config
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.ingest.sources.slurmdbd_schema import GRANT, schema_of, version_of
from adminkit.render.format import plural
from adminkit.slurm import cluster as slurm
from adminkit.slurm.database import Database, DatabaseFailed

NAME: Final = "database"
#: Seconds that doctor waits for it.
_PATIENCE: Final = 15.0


def database(settings: Config) -> Iterator[Check]:
    """Nothing where sync asks sacct."""
    if settings.sync.source != "slurmdbd":
        return
    if settings.sync.option_file is None:
        yield Check(NAME, "missing", "nothing says how to reach it", "write option_file in [sync] (docs/sync.md)")
        return
    there = Database(settings.sync.option_file, _PATIENCE)
    clusters = settings.sync.clusters or (slurm.local_cluster(),)
    try:
        server = version_of(there)
        for name in clusters:
            schema_of(there, name)
    except DatabaseFailed as error:
        yield Check(NAME, "missing", error.message, GRANT if "denied" in error.message else error.hint or "")
        return
    except AdminkitError as error:
        yield Check(NAME, "missing", error.message, GRANT if "no table" in error.message else error.hint or "")
        return
    yield Check(NAME, "ok", f"{server}, with the tables of {plural(len(clusters), 'cluster')}")
