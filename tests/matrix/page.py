"""The table at the end of a run, and docs/releases.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.matrix.differences import DIFFERENCES
from tests.matrix.results import Cell, Table
from tests.matrix.rows import ROOT, ROWS, Row

PAGE: Final = ROOT / "docs/releases.md"
_FIRST: Final = ("build", "c", "packages", "installed", "unit")
_FAILED: Final = "failed: "
_HEAD: Final = """# Releases of Slurm

<!-- Made by `make matrix` and `make docs` from tests/data/matrix.json and tests/matrix/; do not edit. -->

`make matrix` ([CONTRIBUTING](../CONTRIBUTING.md)) tests adminkit against the real daemons of each Slurm release below.
An environment is an operating system with one release of Slurm. In an environment, each suite of tests runs in its own
container or guest, with plugins that were built against the headers of that release. The cells of the tables count
tests. The list below the tables says why tests were skipped or not run; `-` means that nobody has run the suite there.
The column *minutes* shows how long a suite takes in one environment, on two cores that were also busy with other work.
The last line of each table has the total minutes of each environment.
"""

_GUESTS: Final = """\
The environments in the table above are containers. They use the cgroups of their host, and only the suites ckpt,
ckpt_examples and ckpt_limits track steps with cgroups. The environments in the next table, whose names end in `-v2`,
are guests. A guest runs the same Debian and Slurm as the container after which it is named, but on its own Linux kernel
(User-Mode Linux), with systemd as init and cgroup v2. In a guest, proctrack/cgroup tracks every step,
jobacct_gather/cgroup measures every step, and each slurmd has its own systemd scope. Only the suites for which cgroup
v2 or systemd matters run in guests.
"""
_DIFFERENCES: Final = """## Differences

adminkit handles each of these differences between releases in one file. The first column names the release that
introduced the difference or, if that release is not known, the oldest tested release with the difference. If a release
of Slurm adds, renames or removes a state, a field of sacct, a keyword of scontrol, a name in Lua or a function that the
plugin calls, tests/cluster/test_releases.py fails.
"""
_PYSLURM: Final = """## pyslurm

adminkit does not need pyslurm, because scontrol and squeue provide the same data. If pyslurm is installed and its
release matches the release of Slurm, adminkit uses pyslurm to read the local cluster's queues and nodes, and the
AdminComments of running and waiting jobs. `adminkit doctor` says whether pyslurm is used and, if not, why.

pyslurm 25.11.2 works only with Slurm 25.11, because it is compiled against that release's library. PyPI has pyslurm
25.11.0 and 25.11.2, and also pyslurm 17.11 and 18.8 (for Slurm 17.11 and 18.08). Other releases of pyslurm (22.5,
23.11, 24.11, 25.5, 26.5) are only tags in pyslurm's repository; build them on the host.

A test in the `releases` suite compares pyslurm's data with scontrol's; it is skipped if pyslurm cannot be imported.
To test parts of pyslurm 25.11.2 without a Slurm 25.11 cluster, we took pyslurm's code for reading partitions and
nodes, replaced the names that Slurm 25.11 had changed, and compiled that code by hand against Slurm 24.11.5. The data
that this code read was the same as scontrol's. The code that reads jobs is untested: adminkit expects jobs in the form
that the source of pyslurm 25.11.2 defines. Nor has a complete pyslurm been tested with the Slurm release that it is
made for.
"""


def text(table: Table) -> str:
    """A line for each suite, a column for each row; then each reason."""
    lines = [_head(table, ROWS), *_lines(table, ROWS)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*drawn, "", *_reasons(table)])


def cell_text(cell: Cell) -> str:
    """12 passed, 1 skipped"""
    counts = ((cell.failed, "FAILED"), (cell.passed, "passed"), (cell.skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "not run"


def markdown(table: Table) -> str:
    """docs/releases.md."""
    parts = [
        _HEAD,
        "## What was run\n",
        _grounds(table),
        _part(table, guests=False),
        _GUESTS,
        _part(table, guests=True),
    ]
    parts.append(_listed("These tests were skipped, were not run, or failed:", _reasons(table)))
    parts.append(_listed("The tests ran on these commits; a `+` marks uncommitted changes:", _commits(table)))
    parts.append(_DIFFERENCES)
    rows = ([one.since, one.what, f"`{one.place}`"] for one in DIFFERENCES)
    return "\n".join([*parts, _drawn(["since", "what", "handled in"], rows), _PYSLURM])


def write(table: Table, path: Path = PAGE) -> None:
    path.write_text(markdown(table))


def _part(table: Table, guests: bool) -> str:
    rows = [row for row in ROWS if row.is_guest == guests]
    return _drawn(_head(table, rows), _lines(table, rows))


def _head(table: Table, rows: Sequence[Row]) -> list[str]:
    grounds = {one.row: one.slurm for one in table.grounds}
    return ["suite", *(f"{row.name} {grounds.get(row.name, row.slurm)}" for row in rows), "minutes"]


def _lines(table: Table, rows: Sequence[Row]) -> list[list[str]]:
    """The suites that were run on one of these rows."""
    found = []
    for suite in _suites(table):
        cells = [table.cell(row.name, suite) for row in rows]
        if not any(cells):
            continue
        ran = sorted(_minutes([cell]) for cell in cells if cell is not None and cell.state != "not run")
        minutes = " to ".join(dict.fromkeys(f"{one:.1f}" for one in (ran[:1] + ran[-1:])))
        found.append([suite, *("-" if cell is None else cell_text(cell) for cell in cells), minutes or "-"])
    sums = [_minutes(cell for cell in table.cells if cell.row == row.name) for row in rows]
    return [*found, ["minutes", *(f"{one:.0f}" for one in sums), f"{sum(sums):.0f}"]]


def _minutes(cells: Iterable[Cell]) -> float:
    return sum(cell.seconds for cell in cells) / 60


def _grounds(table: Table) -> str:
    about = {row.name: row.about for row in ROWS}
    order = [row.name for row in ROWS]
    grounds = sorted(table.grounds, key=lambda one: order.index(one.row))
    rows = ([one.row, one.slurm, about[one.row], one.python, one.lua, one.cgroups] for one in grounds)
    return _drawn(["environment", "Slurm", "from", "Python", "Lua", "cgroups"], rows)


def _drawn(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def _suites(table: Table) -> list[str]:
    """The suites that were run, those without a Slurm first."""
    names = {cell.suite for cell in table.cells}
    return [*(name for name in _FIRST if name in names), *sorted(names - set(_FIRST))]


def _reasons(table: Table) -> list[str]:
    """Each reason once, with the rows it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for suite in _suites(table):
        for row in ROWS:
            cell = table.cell(row.name, suite)
            for said in () if cell is None else _few(cell.reasons):
                found.setdefault((suite, said), []).append(row.name)
    return [f"{suite}, {_rows(suite, names)}: {said}" for (suite, said), names in found.items()]


def _few(reasons: tuple[str, ...]) -> list[str]:
    """Of what failed the first three: the log has them all."""
    failed = [said for said in reasons if said.startswith(_FAILED)]
    more = [f"{len(failed) - 3} more {_FAILED.rstrip(': ')}"] if len(failed) > 3 else []
    return failed[:3] + more + [said for said in reasons if said not in failed]


def _commits(table: Table) -> list[str]:
    """The commits, the one of most cells first, each with its cells; of the first, with those it lacks."""
    found: dict[str, dict[str, list[str]]] = {}
    for suite in _suites(table):
        for row in ROWS:
            if (cell := table.cell(row.name, suite)) is not None:
                found.setdefault(cell.commit, {}).setdefault(suite, []).append(row.name)
    most, *others = sorted(found, key=lambda commit: -sum(map(len, found[commit].values()))) or [""]
    said = [f"{most}: {'all cells except those below' if others else 'all cells'}"] if most else []
    return said + [f"{commit}: {_cells(found[commit])}" for commit in others]


def _cells(suites: dict[str, list[str]]) -> str:
    return "; ".join(f"{suite} ({_rows(suite, rows)})" for suite, rows in suites.items())


def _rows(suite: str, names: list[str]) -> str:
    return "every environment" if names == [row.name for row in ROWS if row.takes(suite)] else ", ".join(names)


def _listed(title: str, lines: list[str]) -> str:
    return "\n".join([title, "", *(f"- {line}" for line in lines or ["none"]), ""])
