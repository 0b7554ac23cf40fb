"""docs/measured/months.md: what reports from files of months take, against DuckDB and by the number of runs.

python -m tests.bench.months_page against TRACE    a trace of a million runs with its months: the figures against DuckDB
python -m tests.bench.months_page scale TRACE      one of bench_scale.made_trace(): those of 1, 10 and 100 million runs
python -m tests.bench.months_page all TRACE        the page of all reports, of the trace's year
python -m tests.bench.months_page                  the page again, of tests/data/months.json

The first three measure, keep their figures in tests/data/months.json, and write the page.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, Final

from adminkit.sqlite import open_database
from tests.bench import bench_scale, pairs, sample
from tests.bench.bench_reports import RIVAL, from_months
from tests.bench.bench_scale import MEGABYTES, SECONDS, Cost
from tests.bench.tools import adminkit

_ROOT: Final = Path(__file__).parents[2]
DATA: Final = _ROOT / "tests/data/months.json"
PAGE: Final = _ROOT / "docs/measured/months.md"
_HEAD: Final = """# Reports from files of months: against DuckDB, and of a hundred million runs

<!-- Made by `python -m tests.bench.months_page` from tests/data/months.json; do not edit. -->

This page measures what reports take where [months](../trace.md) are Parquet files. The runs are generated
(tests/bench/sample.py): 400 users with a few habits each, and no steps, so CPU and memory use are unknown. Reports are
made as `adminkit report` makes them. The host has two cores and other work to do, so seconds of CPU
(user and system, of all threads) say more than those of the clock.
"""
_AGAINST: Final = """
## Against DuckDB's own SQL

{rows} runs in {files} files. Both sides read the same files with one thread, in turn, {pairs} times; each side makes
all reports in one process. DuckDB gets SQL that asks what the report shows (tests/bench/rival_reports.py). Rows of
reports count everything from the question to the finished report; DuckDB's, the query and its rows in Python. The
last row adds what a process takes besides: to load modules, to open the trace and its files, and to draw the tables.
Python's own start, which is the same for both, is left out. The ratio is the median of the pairs, with the second
lowest and the second highest; the target is {target} for the last two rows.

| report | adminkit, s | DuckDB, s | ratio |
|---|---:|---:|---:|
"""
_SCALE: Final = """
## By the number of runs

A month has a million runs, made of one generated million by DuckDB: every month has run times, waits and numbers of
its own, and users and job names change every 25 months (tests/bench/many_months.py). SQLite has two runs, which say
when the trace begins and ends. Each report is the only one of its process, with two threads; loading of modules is
left out. `ns` is the CPU time that a further run takes between the two largest sizes. The target for the first five
reports is {seconds:g} s and {megabytes} MB at 100 million runs. Job names were not measured there: their run times by
name are nearly as many groups as runs, and take memory as the runs do.

"""
_ALL: Final = """
## The page of all reports

`adminkit report all` as a whole: its modules, the findings, every report, its charts and the file. {rows} runs in a
year, in {files} files, and in SQLite, with the nodes that they ran on; two threads on two cores. Meanwhile the host had
on average {load:.0f} processes to run, so the clock says little. The target is {seconds} s of the clock and {megabytes}
MB.

| clock, s | CPU, s | MB |
|---:|---:|---:|
| {clock:.0f} | {spent:.0f} | {peak:.0f} |
"""
#: Seconds of the clock and megabytes of the page of all reports of ten million runs.
_PAGE_SECONDS: Final = 45
_PAGE_MEGABYTES: Final = 800


def page(data: dict[str, Any]) -> str:
    """The page as it is from these figures."""
    return "".join([_HEAD, *_against(data.get("against")), *_scale(data.get("scale")), *_all(data.get("all"))])


def _against(data: dict[str, Any] | None) -> Iterator[str]:
    if data:
        yield _AGAINST.format(rows=f"{data['rows']:,}", files=data["files"], pairs=pairs.PAIRS, target=RIVAL)
        for name, ours, theirs in data["reports"]:
            ratio = pairs.Ratio(name, ours, theirs, RIVAL, at_most=True)
            low, high = ratio.interval
            seconds = f"{median(ours):.2f} | {median(theirs):.2f}"
            yield f"| {name} | {seconds} | {ratio.middle:.2f} ({low:.2f} to {high:.2f}) |\n"


def _scale(data: list[Any] | None) -> Iterator[str]:
    if not data:
        return
    costs = [Cost(*one) for one in data]
    sizes = sorted({one.millions for one in costs})
    yield _SCALE.format(seconds=SECONDS, megabytes=MEGABYTES)
    shown = "".join(f" {one} M: clock, s | CPU, s | MB |" for one in sizes)
    yield f"| report |{shown} ns |\n|---|{'---:|' * (3 * len(sizes) + 1)}\n"
    for name in bench_scale.NAMES:
        of = {one.millions: one for one in costs if one.name == name}
        cells = "".join(
            f" {of[size].clock:.1f} | {of[size].spent:.1f} | {of[size].megabytes:.0f} |" if size in of else " | | |"
            for size in sizes
        )
        less, more = sorted(of)[-2:]
        slope = 1000 * (of[more].spent - of[less].spent) / (more - less)
        yield f"| {name} |{cells} {slope:.0f} |\n"


def _all(data: dict[str, Any] | None) -> Iterator[str]:
    if data:
        targets = {"seconds": _PAGE_SECONDS, "megabytes": _PAGE_MEGABYTES}
        yield _ALL.format(**{**data, "rows": f"{data['rows']:,}"}, **targets)


def _measured(trace: Path, rows: int, files: int) -> dict[str, Any]:
    """What the page of all reports of the sample's year costs."""
    window = ("--since", f"@{sample.START}", "--until", f"@{sample.START + 365 * sample.DAY}")
    html = trace.with_name("all.html")
    began = time.monotonic()
    spent, peak = pairs.cost(adminkit("report", "all", "--db", trace, "--html", html, *window))
    clock = time.monotonic() - began
    html.unlink()
    load = os.getloadavg()[0 if clock < 120 else 1]
    return {"rows": rows, "files": files, "clock": clock, "spent": spent, "peak": peak / 2**20, "load": load}


def main(words: list[str]) -> None:
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    match words:
        case ["against", trace]:
            with closing(open_database(trace)) as db:
                rows, files = db.execute("SELECT sum(rows), count(*) FROM month_file WHERE name = 'run'").fetchone()
            ratios = from_months(Path(trace), rows)
            reports = [[one.what.partition(": ")[0], list(one.ours), list(one.theirs)] for one in ratios]
            data["against"] = {"rows": rows, "files": files, "reports": reports}
        case ["scale", trace]:
            with closing(open_database(trace)) as db:
                (many,) = db.execute("SELECT count(*) FROM month_file WHERE name = 'run'").fetchone()
            data["scale"] = []
            for cost in bench_scale.costs(Path(trace), many):
                print(cost.line(), flush=True)
                data["scale"].append(cost)
        case ["all", trace]:
            with closing(open_database(trace)) as db:
                rows, files = db.execute("SELECT sum(rows), count(*) FROM month_file WHERE name = 'run'").fetchone()
            data["all"] = _measured(Path(trace), rows, files)
        case []:
            pass
        case _:
            raise SystemExit(__doc__)
    DATA.write_text(json.dumps(data, indent=1) + "\n")
    PAGE.write_text(page(data))


if __name__ == "__main__":
    main(sys.argv[1:])
