"""One process that makes reports and says what they cost: python -m tests.bench.report_once DB NAME …

Prints one JSON object, of seconds of CPU (user and system, all threads): by name, as `command` does it, those of the
tables, of Python's own start, of modules, and of opening the trace; the seconds of the clock; and the peak of memory.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(db: str, *names: str) -> None:
    python = time.process_time()
    import duckdb  # noqa: F401
    import numpy  # noqa: F401

    from adminkit.config import Config
    from adminkit.render.text import table
    from adminkit.reports.answer import answer_of, query_of
    from adminkit.reports.catalogue import spec_named
    from adminkit.reports.spec import ReportOptions
    from adminkit.stats.select import span
    from adminkit.trace.connect import reader
    from adminkit.trace.months import door

    path, options, spent, drawing = Path(db), ReportOptions(), {}, 0.0
    modules, clock = time.process_time(), time.perf_counter()
    with reader(path) as trace:
        door.reads_files(trace, ("elapsed",), "FROM run WHERE TRUE", {})  # opens what there is
        span(trace)
        opened = time.process_time()
        for name in names:
            began = time.process_time()
            spec = spec_named(name)
            report = answer_of(trace, spec, options, query_of(spec, options, path, Config(), int(time.time())))
            done = time.process_time()
            table(report, None, 200, colour=False, ascii_only=False)
            spent[name] = done - began
            drawing += time.process_time() - done
    told = {"python": python, "modules": modules - python, "opening": opened - modules, "spent": spent}
    print(json.dumps({**told, "drawing": drawing, "clock": time.perf_counter() - clock, "megabytes": peak()}))


def peak() -> float:
    """Megabytes. Trap: ru_maxrss begins with that of the process which started this one."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
