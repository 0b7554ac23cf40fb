"""What more time for running jobs saves of the hours lost at recommended limits: rows of docs/simulate/extend.md.

python -m tests.bench.extend_table run [TRACE …]    simulates, in the model slurm; KTH and RICC under $ADMINKIT_TRACES
python -m tests.bench.extend_table page             writes the rows that are kept in tests/data/extend_table.json
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from adminkit.cli.demo import make
from adminkit.demo import generate
from adminkit.ingest.files import Import, import_file
from adminkit.recommend.menu import Offer
from adminkit.simulate.answer import Effort, answer, plan_of
from adminkit.simulate.change import Sources
from adminkit.simulate.compare import LEVEL
from adminkit.simulate.groups import Groups
from adminkit.simulate.machine import request
from adminkit.simulate.outcome import Summary
from adminkit.simulate.scenario import load_scenarios
from adminkit.simulate.shown_site import shown_site
from adminkit.simulate.subject import Wanted, subject
from adminkit.simulate.today import keys_of, today
from adminkit.slurm.site import Site, SiteNode, SiteQueue, SiteScheduler
from adminkit.stats.select import Filter
from adminkit.stats.student import Difference, difference, holm
from adminkit.stats.used import uses
from adminkit.trace.connect import reader
from tests.bench.soft_traces import burst_file
from tests.matrix.rows import ROOT
from tests.support.swf import public

PAGE: Final = ROOT / "docs/simulate/extend.md"
RESULTS: Final = ROOT / "tests/data/extend_table.json"
FOLDER: Final = Path("build/bench/extend")
#: What is compared, and where its rows stand on the page.
MARKS: Final = {
    name: (f"<!-- `python -m tests.bench.extend_table page` made the table {name}. -->", f"<!-- End of {name}. -->")
    for name in ("estimates", "keys")
}
HEADS: Final = {
    "estimates": "| jobs | users who follow | mean wait today | hours lost, `estimates` | hours lost, `extend` |"
    " change | change of the mean wait | who waits longer |\n|---|---|---|---|---|---|---|---|",
    "keys": "| jobs | keys | hours lost, the defaults | hours lost, these keys | change | change of the mean wait |"
    " who waits longer |\n|---|---|---|---|---|---|---|",
}
REPLICATES: Final = 20
UPTAKES: Final = (0.0, 0.25, 0.5, 1.0)
#: Other keys, as the page calls them, with all users.
KEYS: Final = {"`most` 3": "most = 3.0", "`most` 3, `lead` 20 min": 'most = 3.0\nlead = "20m"'}
#: The last moment of the example on the page: two months of the look-alike.
_SEPTEMBER: Final = 1_504_224_000
_DAY: Final = 86_400
_CODE: Final = 85
#: Groups that are judged, and how many of those that wait longer a row names.
_PARTS: Final = ("queue", "size", "length")
_NAMED: Final = 2
#: Backfill's settings where the trace has none.
_SCHEDULER: Final = SiteScheduler(bf_window=3 * _DAY, bf_max_job_test=200)


Range = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Source:
    """A trace: its SWF file's name, empty for the look-alike; which days from its first submission are taken."""

    what: str
    file: str = ""
    nodes: int = 0
    cpus: int = 0  # of each node
    days: int = 0  # 0: all
    longest: int = 0  # limit, seconds
    memory: bool | None = None  # False: it is not handed out to jobs, as what the nodes have is not known
    after: int = 0  # days that are left out, and from which limits are recommended


SOURCES: Final = {
    "look-alike": Source("the look-alike, two months"),
    "bursts": Source("bursts, five days, 128 nodes of one CPU", "bursts.swf", 128, 1, 5, 2 * _DAY, after=5),
    "ricc": Source("RICC, five days, 1,024 nodes of 8 CPUs", "RICC-2010-2.swf.gz", 1024, 8, 5, 3 * _DAY, False, 15),
    "kth": Source("KTH-SP2, three months, 100 nodes", "KTH-SP2-1996-2.swf.gz", 100, 1, 91, 216_000),
}


@dataclass(frozen=True, slots=True)
class Line:
    """Two scenarios of one trace, means over the replicates. `change`, a share of `before`, and `waited`, seconds, have
    their intervals.
    """

    trace: str
    keys: str  # of KEYS, and then compared with the defaults; "": the defaults, compared with `estimates`
    uptake: float
    jobs: int
    today: float  # mean wait, seconds
    before: float  # hours lost
    after: float
    change: Range | None  # None: nothing is lost before
    waited: Range
    longer: tuple[str, ...]  # the groups whose mean wait is longer, all verdicts of a line holding together


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
        since = first + source.after * _DAY
        until = _SEPTEMBER if not source.file else since + source.days * _DAY if source.days else None
        window = Filter(clusters=(cluster,), since=since, until=until, checkpoint_code=_CODE)
        site = _site(name, source) if source.file else shown_site(cluster, uses(trace, cluster))[0]
        found = subject(trace, window, Wanted(site=site))
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
    with closing(sqlite3.connect(db)) as trace, trace:  # SWF has processors only
        trace.execute("UPDATE job SET nodes = (cpus + :each - 1) / :each", {"each": source.cpus})


def _site(name: str, source: Source) -> Site:
    """Equal nodes, which every queue of the trace has."""
    with reader(FOLDER / f"{name}.db") as trace:
        shown, _ = shown_site(name, uses(trace, name))
    names = frozenset(queue.name for queue in shown.queues)
    queues = tuple(SiteQueue(queue.name, max_limit=source.longest, is_default=queue.is_default) for queue in
                   shown.queues)  # fmt: skip
    nodes = tuple(SiteNode(f"n{number}", cpus=source.cpus, queues=names) for number in range(source.nodes))
    return replace(shown, queues=queues, nodes=nodes, scheduler=replace(_SCHEDULER, memory=source.memory))


def lines(name: str, cores: int) -> list[Line]:
    """A line for each share of users, and one for each of the other keys."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{name}.toml"
    shares = ", ".join(map(str, UPTAKES))
    kinds = [("estimates", shares, ""), ("extend", shares, ""), *(("extend", "1.0", keys) for keys in KEYS.values())]
    file.write_text(
        "version = 1\n"
        + "".join(
            f'[[scenarios]]\nname = "{number}"\nkind = "{kind}"\nuptake = [{of}]\n{keys}\n'
            for number, (kind, of, keys) in enumerate(kinds)
        )
    )
    with opened(name) as sources:
        effort = Effort(REPLICATES, cores=cores, keep=FOLDER / "keep")
        plan = plan_of(load_scenarios(file), sources, effort)
        made, half = list(answer(plan, effort).summaries.values()), len(UPTAKES)
        found = [
            _line(name, "", uptake, *pair, plan.groups)
            for uptake, *pair in zip(UPTAKES, made[:half], made[half : 2 * half], strict=True)
        ]
        usual, others = made[2 * half - 1], zip(KEYS, made[2 * half :], strict=True)
        return [*found, *(_line(name, keys, 1.0, usual, of, plan.groups) for keys, of in others)]


def _line(name: str, keys: str, uptake: float, old: Sequence[Summary], new: Sequence[Summary], groups: Groups) -> Line:
    lost = [(before["lost_hours"][1], after["lost_hours"][1]) for before, after in zip(old, new, strict=True)]
    mean = sum(before for before, _ in lost) / len(lost)
    change = _interval(difference([after - before for before, after in lost]))
    waited = _waited(old, new, "all", 0)
    assert waited
    return Line(
        name,
        keys,
        uptake,
        int(old[0]["parts"]["all"]["jobs"][0]),
        sum(one["parts"]["all"]["wait_today"][0] / one["parts"]["all"]["jobs"][0] for one in old) / len(old),
        mean,
        sum(after for _, after in lost) / len(lost),
        (change[0] / mean, change[1] / mean, change[2] / mean) if change and mean else None,
        _interval(waited),
        tuple(_longer(old, new, groups)),
    )


def _longer(old: Sequence[Summary], new: Sequence[Summary], groups: Groups) -> Iterator[str]:
    """The groups whose mean wait is longer by half a second or more, most first."""
    found = []
    for part, (_, names) in groups.parts.items():
        if part in _PARTS:
            found += [(f"{part} {value}", _waited(old, new, part, place)) for place, value in enumerate(names)]
    known = [(named, of) for named, of in found if of is not None]
    judged = zip(known, holm([of.p for _, of in known]), strict=True)
    for (named, of), p in sorted(judged, key=lambda one: -one[0][1].mean):
        if p < LEVEL and of.mean >= 0.5:
            yield f"{named}: {of.mean:+.0f} s ({of.low:+.0f} to {of.high:+.0f})"


def _waited(old: Sequence[Summary], new: Sequence[Summary], part: str, place: int) -> Difference | None:
    """The change of the mean wait of a group, seconds."""
    sums = [(one["parts"][part], two["parts"][part]) for one, two in zip(old, new, strict=True)]
    return difference(
        [
            after["wait"][place] / after["jobs"][place] - before["wait"][place] / before["jobs"][place]
            for before, after in sums
            if before["jobs"][place] and after["jobs"][place]
        ]
    )


def _interval(of: Difference | None) -> Range | None:
    return None if of is None else (of.mean, of.low, of.high)


def rows(of: Sequence[Line], table: str) -> str:
    """One of the tables."""
    return "\n".join([HEADS[table], *(_row(one) for one in of if bool(one.keys) == (table == "keys"))])


def _row(one: Line) -> str:
    change = "{:+d} % ({:+d} to {:+d})".format(*(round(100 * part) for part in one.change)) if one.change else "-"
    wait = f"{one.today / 3600:.1f} h" if one.today >= 3600 else f"{one.today / 60:.1f} min"
    waited = "{:+d} s ({:+d} to {:+d})".format(*map(round, one.waited))
    first = [SOURCES[one.trace].what]
    first += [one.keys] if one.keys else [f"{100 * one.uptake:.0f} %", wait]
    longer = "; ".join(one.longer[:_NAMED]) or "nobody"
    longer += f"; {len(one.longer) - _NAMED} more" if len(one.longer) > _NAMED else ""
    return f"| {' | '.join((*first, f'{one.before:,.0f}', f'{one.after:,.0f}', change, waited, longer))} |"


def read() -> list[Line]:
    """The lines that are kept, as they ran."""
    raw = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return [
        Line(**{name: tuple(value) if isinstance(value, list) else value for name, value in one.items()}) for one in raw
    ]


def page(text: str) -> str:
    """The page with these rows."""
    for table, (begin, end) in MARKS.items():
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{rows(read(), table)}\n\n{end}{rest.partition(end)[2]}"
    return text


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
        print(*(rows(made, table) for table in MARKS), f"({time.monotonic() - began:.0f} s)", flush=True)
        kept = [one for one in read() if one.trace != name] + made
        ordered = sorted(
            kept, key=lambda one: (list(SOURCES).index(one.trace), ["", *KEYS].index(one.keys), one.uptake)
        )
        RESULTS.write_text(json.dumps([asdict(one) for one in ordered], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
