"""What more time for running jobs saves of the hours lost at recommended limits: rows of docs/simulate/extend.md.

python -m tests.bench.extend_table run [TRACE …]    simulates, in the model slurm; KTH and RICC under $ADMINKIT_TRACES
python -m tests.bench.extend_table page             writes the rows that are kept in tests/data/extend_table.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from adminkit.cli.demo import make
from adminkit.demo import generate
from adminkit.ingest.files import Import, import_file
from adminkit.recommend.menu import Offer
from adminkit.simulate.answer import Effort, answer, plan_of
from adminkit.simulate.change import Sources
from adminkit.simulate.machine import request
from adminkit.simulate.outcome import Summary
from adminkit.simulate.scenario import load_scenarios
from adminkit.simulate.shown_site import shown_site
from adminkit.simulate.subject import Wanted, subject
from adminkit.simulate.today import keys_of, today
from adminkit.slurm.site import Site, SiteNode, SiteQueue, SiteScheduler
from adminkit.stats.select import Filter
from adminkit.stats.student import difference
from adminkit.stats.used import uses
from adminkit.trace.connect import reader
from tests.bench.soft_traces import burst_file
from tests.matrix.rows import ROOT
from tests.support.swf import public

PAGE: Final = ROOT / "docs/simulate/extend.md"
RESULTS: Final = ROOT / "tests/data/extend_table.json"
FOLDER: Final = Path("build/bench/extend")
#: The rows stand between these on the page.
MARKS: Final = ("<!-- Rows of `python -m tests.bench.extend_table page`; do not edit. -->", "<!-- The end of them. -->")
HEAD: Final = (
    "| jobs | users who follow | mean wait today | hours lost, `estimates` | hours lost, `extend` | change |"
    " change of the mean wait |\n|---|---|---|---|---|---|---|"
)
REPLICATES: Final = 20
UPTAKES: Final = (0.0, 0.25, 0.5, 1.0)
#: The last moment of the example on the page: two months of the look-alike.
_SEPTEMBER: Final = 1_504_224_000
_DAY: Final = 86_400
_CODE: Final = 85
#: Backfill's settings where the trace has none.
_SCHEDULER: Final = SiteScheduler(bf_window=3 * _DAY, bf_max_job_test=200)


@dataclass(frozen=True, slots=True)
class Source:
    """A trace: its SWF file's name, empty for the look-alike; `days` from its first submission are taken."""

    what: str
    file: str = ""
    nodes: int = 0
    cpus: int = 0  # of each node
    days: int = 0  # 0: all
    longest: int = 0  # limit, seconds


SOURCES: Final = {
    "look-alike": Source("the look-alike, two months"),
    "bursts": Source("bursts, 128 nodes of one CPU", "bursts.swf", 128, 1, 0, 2 * _DAY),
    "ricc": Source("RICC, five days, 1,024 nodes of 8 CPUs", "RICC-2010-2.swf.gz", 1024, 8, 5, 3 * _DAY),
    "kth": Source("KTH-SP2, three months, 100 nodes", "KTH-SP2-1996-2.swf.gz", 100, 1, 91, 216_000),
}


@dataclass(frozen=True, slots=True)
class Line:
    """Means over the replicates; `change` is the share of the hours lost, `waited` seconds, each with its interval."""

    trace: str
    uptake: float
    jobs: int
    wait: float  # seconds, today
    estimates: float  # hours lost
    extend: float
    change: tuple[float, float, float] | None  # None: `estimates` loses nothing
    waited: tuple[float, float, float]


@contextmanager
def opened(name: str) -> Iterator[Sources]:
    """What scenarios may look at. SystemExit where the file is not there."""
    source = SOURCES[name]
    FOLDER.mkdir(parents=True, exist_ok=True)
    db = FOLDER / f"{name}.db"
    if not db.exists():
        _import(name, source, db)
    cluster = name if source.file else generate.CLUSTER
    with reader(db) as trace:
        (first,) = trace.execute("SELECT min(submit_time) FROM job").fetchone()
        until = _SEPTEMBER if not source.file else first + source.days * _DAY if source.days else None
        site = _site(name, source) if source.file else shown_site(cluster, uses(trace, cluster))[0]
        found = subject(trace, Filter(clusters=(cluster,), until=until, checkpoint_code=_CODE), Wanted(site=site))
        case = today(found.jobs, request(found.model, found.jobs, found.machine), found.machine.site.queues)
        yield Sources(case, Path(), Offer(), trace, cluster, site, _CODE, keys_of(found.jobs))


def _import(name: str, source: Source, db: Path) -> None:
    if not source.file:
        make(db)
        return
    path = burst_file(FOLDER) if name == "bursts" else public(source.file)
    if path is None:
        sys.exit(f"not run: no {source.file} under $ADMINKIT_TRACES")
    import_file(Import(path, db, name), int(time.time()))


def _site(name: str, source: Source) -> Site:
    """Equal nodes, which every queue of the trace has."""
    with reader(FOLDER / f"{name}.db") as trace:
        shown, _ = shown_site(name, uses(trace, name))
    names = frozenset(queue.name for queue in shown.queues)
    queues = tuple(SiteQueue(queue.name, max_limit=source.longest, is_default=queue.is_default) for queue in
                   shown.queues)  # fmt: skip
    nodes = tuple(SiteNode(f"n{number}", cpus=source.cpus, queues=names) for number in range(source.nodes))
    return replace(shown, queues=queues, nodes=nodes, scheduler=_SCHEDULER)


def lines(name: str, cores: int) -> list[Line]:
    """A line for each share of users."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / "scenarios.toml"
    shares = ", ".join(map(str, UPTAKES))
    file.write_text(
        "version = 1\n"
        + "".join(
            f'[[scenarios]]\nname = "{kind}"\nkind = "{kind}"\nuptake = [{shares}]\n'
            for kind in ("estimates", "extend")
        )
    )
    with opened(name) as sources:
        effort = Effort(REPLICATES, cores=cores, keep=FOLDER / "keep")
        made = list(answer(plan_of(load_scenarios(file), sources, effort), effort).summaries.values())
        half = len(UPTAKES)
        return [
            _line(name, uptake, *pair)
            for uptake, *pair in zip(UPTAKES, made[:half], made[half:], strict=True)
        ]  # fmt: skip


def _line(name: str, uptake: float, old: Sequence[Summary], new: Sequence[Summary]) -> Line:
    lost = [(before["lost_hours"][1], after["lost_hours"][1]) for before, after in zip(old, new, strict=True)]
    waits = [(_wait(before), _wait(after)) for before, after in zip(old, new, strict=True)]
    shares = [after / before - 1 for before, after in lost if before]
    waited = _interval([after - before for before, after in waits])
    assert waited
    return Line(
        name,
        uptake,
        int(old[0]["parts"]["all"]["jobs"][0]),
        sum(_wait(one, "wait_today") for one in old) / len(old),
        sum(before for before, _ in lost) / len(lost),
        sum(after for _, after in lost) / len(lost),
        _interval(shares) if len(shares) == len(lost) else None,
        waited,
    )


def _wait(one: Summary, key: str = "wait") -> float:
    """The mean of all jobs, seconds."""
    sums = one["parts"]["all"]
    return float(sums[key][0] / sums["jobs"][0])


def _interval(values: Sequence[float]) -> tuple[float, float, float] | None:
    found = difference(values)
    return None if found is None else (found.mean, found.low, found.high)


def rows(of: Sequence[Line]) -> str:
    """The table."""
    return "\n".join([HEAD, *map(_row, of)])


def _row(one: Line) -> str:
    change = "{:+.0f} % ({:+.0f} to {:+.0f})".format(*(100 * part for part in one.change)) if one.change else "-"
    wait = f"{one.wait / 3600:.1f} h" if one.wait >= 3600 else f"{one.wait / 60:.1f} min"
    waited = "{:+.0f} s ({:+.0f} to {:+.0f})".format(*one.waited)
    cells = (SOURCES[one.trace].what, f"{100 * one.uptake:.0f} %", wait, f"{one.estimates:,.0f}", f"{one.extend:,.0f}")
    return f"| {' | '.join((*cells, change, waited))} |"


def read() -> list[Line]:
    """The lines that are kept, as they ran."""
    raw = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return [
        Line(**{**one, "change": one["change"] and tuple(one["change"]), "waited": tuple(one["waited"])}) for one in raw
    ]


def page(text: str) -> str:
    """The page with these rows."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n\n{rows(read())}\n\n{MARKS[1]}{after}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.extend_table", description=__doc__)
    parser.add_argument("act", choices=("run", "page"))
    parser.add_argument("traces", nargs="*", choices=[*SOURCES, []], help="default: all")
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args(argv)
    if options.act == "page":
        PAGE.write_text(page(PAGE.read_text()))
        return 0
    for name in options.traces or SOURCES:
        began = time.monotonic()
        made = lines(name, options.cores)
        print(rows(made), f"({time.monotonic() - began:.0f} s)", flush=True)
        kept = [one for one in read() if one.trace != name] + made
        ordered = sorted(kept, key=lambda one: (list(SOURCES).index(one.trace), one.uptake))
        RESULTS.write_text(json.dumps([asdict(one) for one in ordered], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
