"""Whether two sources say the same of the same runs, field by field, before the database is believed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.ingest.sources.base import JOBS, Source, Spool
from adminkit.ingest.sources.sacct import open_sacct
from adminkit.ingest.sources.slurmdbd import Slurmdbd
from adminkit.ingest.sources.slurmdbd_fields import CPU, INFINITE, MEM, NO_VAL, NODE
from adminkit.ingest.window_plan import Window
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.slurm.seal import SHORT
from adminkit.sqlite import sqlite3
from adminkit.trace.windows import fact, set_fact

#: Runs that are compared before the first sync, and after an upgrade.
USUAL: Final = 200
#: The fact that the two sources were found to agree; its value is Slurmdbd.releases.
AGREED: Final = "slurmdbd's database verified"
#: Differences that are named.
_NAMED: Final = 5
_AT_ONCE: Final = 200
#: NO_VAL64 and INFINITE64: sacct leaves out a TRES with one of them.
_UNSET: Final = ("18446744073709551614", "18446744073709551615")
#: Field -> what the database has, or sacct prints depending on the release, where there is nothing: no nodes, memory
#: that was not asked for, a time that has not come. adminkit-ingest takes all of them for unknown.
_NOTHING: Final = {
    "ReqMem": ("", "0", "18446744073709551616.00M"),
    "NodeList": ("", "(null)", "(unknown)", "None assigned"),
    "Priority": ("", str(NO_VAL)),
    **dict.fromkeys(("Eligible", "Start", "End"), ("0", "Unknown", "None")),
}
#: What sacct prints for numbers that are not limits.
_LIMITS: Final = {str(INFINITE): "UNLIMITED", str(NO_VAL): "Partition_Limit", "0": ""}

#: (JobIDRaw, Submit)
Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """A run of which the two say something else. `field` None: only one of them has the run."""

    key: Key
    field: str | None
    sacct: str
    database: str

    def __str__(self) -> str:
        if self.field is None:
            return f"job {self.key[0]}: {self.sacct or 'sacct does not have it'}"
        return f"job {self.key[0]}, {self.field}: sacct says {quote(self.sacct)}, the database {quote(self.database)}"


def must_agree(
    db: sqlite3.Connection, source: Source, timeout: float, talk: Callable[[str], None], count: int | None = None
) -> None:
    """Compare `count` runs. None: the usual number, where these releases have not been compared yet.

    AdminkitError with the differences; then nothing of the database is stored.
    """
    if not isinstance(source, Slurmdbd):
        return
    known = fact(db, source.cluster, AGREED)
    if count is None and known is not None and known[0] == source.releases:
        return
    there = open_sacct(source.cluster, source.folder, timeout=timeout, record=source.record)
    compared, different = compare(source, there, USUAL if count is None else count)
    if different:
        named = "; ".join(str(one) for one in different[:_NAMED])
        raise AdminkitError(
            f"the database and sacct disagree on {plural(len({one.key for one in different}), 'job')} of {compared}:"
            f" {named}",
            'nothing was stored; write source = "sacct" in [sync], and report the differences',
        )
    if compared:
        set_fact(db, source.cluster, AGREED, source.releases, int(time.time()))
    talk(f"the database and sacct agree on {plural(compared, 'job')}, field by field")


def compare(database: Slurmdbd, sacct: Source, count: int) -> tuple[int, list[Difference]]:
    """(the number of runs compared, the differences), over runs that the database draws at random."""
    drawn = database.sample(count)
    different: list[Difference] = []
    for at in range(0, len(drawn), _AT_ONCE):
        keys = drawn[at : at + _AT_ONCE]
        window = Window(min(submit for _, submit in keys), int(time.time()))
        ids = sorted({number for number, _ in keys})
        ours, theirs = (_records(one.lookup(JOBS, window, ids)) for one in (database, sacct))
        for key in keys:
            own = ours.get(key)
            spelt = own and {"Cluster": database.cluster, **spelled(own, database.schema.tres)}
            different += _differences(key, theirs.get(key), spelt)
    return len(drawn), different


def _differences(key: Key, sacct: Mapping[str, str] | None, database: Mapping[str, str] | None) -> list[Difference]:
    if sacct is None or database is None:
        return [] if sacct is database else [Difference(key, None, "" if sacct is None else "only sacct has it", "")]
    # Trap: of a run that never started, sacct prints the CPUs that it asked for or none, depending on the release.
    ignored = () if sacct["Start"].isdigit() else ("AllocCPUS", "AllocNodes")
    return [
        Difference(key, name, sacct[name], database.get(name, ""))
        for name in sacct
        if name not in ignored and _plain(name, sacct[name]) != _plain(name, database.get(name, ""))
    ]


def _plain(name: str, cell: str) -> str:
    return "" if cell in _NOTHING.get(name, ()) else cell


def spelled(record: Mapping[str, str], names: Mapping[int, str]) -> dict[str, str]:
    """A record of the database with sacct's spelling of TRES, and with the counts that it leaves to them."""
    listed = {name: _counts(record[name]) for name in ("ReqTRES", "AllocTRES")}
    told = {name: _sorted(name, _spell(counts, names)) for name, counts in listed.items()}
    asked, given = listed["ReqTRES"], listed["AllocTRES"]
    told["ReqNodes"] = asked.get(NODE, "0")
    memory = asked.get(MEM, "0")
    told["ReqMem"] = "0" if memory == "0" else f"{memory}M"
    told["AllocCPUS"] = record["AllocCPUS"] or given.get(CPU, "0")
    told["AllocNodes"] = record["AllocNodes"] if record["AllocNodes"] != "0" else given.get(NODE, "0")
    told["TimelimitRaw"] = _LIMITS.get(record["TimelimitRaw"], record["TimelimitRaw"])
    told["Suspended"] = _clock(int(record["Suspended"]))
    return {**record, **told}


def _clock(seconds: int) -> str:
    """As sacct prints it: [days-]hours:minutes:seconds."""
    days, rest = divmod(seconds, 86_400)
    return f"{f'{days}-' if days else ''}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _counts(cell: str) -> dict[int | str, str]:
    """Id, or name where the SQL has put it in -> count, without those that are unset."""
    items = [item.partition("=") for item in cell.split(",") if item]
    return {int(key) if key.isdigit() else key: count for key, _, count in items if count not in _UNSET}


def _spell(counts: Mapping[int | str, str], names: Mapping[int, str]) -> str:
    spelt = {names.get(key, str(key)) if isinstance(key, int) else key: count for key, count in counts.items()}
    return ",".join(f"{name}={count}M" if name == "mem" else f"{name}={count}" for name, count in spelt.items())


def _records(spool: Spool) -> dict[Key, dict[str, str]]:
    """Each run's fields as text. A list of TRES is in the order of its names, which does not matter to its reader."""
    names = [column.name for column in spool.reading.columns]
    data = spool.path.read_bytes().decode("utf-8", "surrogateescape")
    spool.path.unlink()
    cells = data.split(spool.reading.delimiter)
    packed = max(1, spool.reading.packed)
    width = len(names) - packed + 1
    found = {}
    for at in range(0, len(cells) - width + 1, width):
        first, *others = cells[at : at + width]
        record = [*first.removeprefix("\n").split(SHORT, packed - 1), *others]
        fields = {
            name: _sorted(name, cell.removesuffix(spool.reading.seal)) for name, cell in zip(names, record, strict=True)
        }
        if fields["JobIDRaw"].isdigit() and fields["Submit"].isdigit():
            found[int(fields["JobIDRaw"]), int(fields["Submit"])] = fields
    return found


def _sorted(name: str, cell: str) -> str:
    return ",".join(sorted(cell.split(","))) if name.endswith("TRES") else cell
