"""One process that makes reports and says what they cost: python -m tests.bench.report_once DB NAME …

Prints one JSON object: seconds of CPU by name, those of the start and of the tables apart, and the peak of memory.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from adminkit.config import Config
from adminkit.render.text import table
from adminkit.reports.answer import answer_of, query_of
from adminkit.reports.catalogue import spec_named
from adminkit.reports.spec import ReportOptions
from adminkit.stats.select import span
from adminkit.trace.connect import reader
from adminkit.trace.months import door


def main(db: str, *names: str) -> None:
    import numpy  # noqa: F401  # a part of the start

    path, options, spent, drawing = Path(db), ReportOptions(), {}, 0.0
    with reader(path) as trace:
        door.reads_files(trace, ("elapsed",), "FROM run WHERE TRUE", {})  # opens what there is
        span(trace)
        start = time.process_time()
        for name in names:
            began = time.process_time()
            spec = spec_named(name)
            report = answer_of(trace, spec, options, query_of(spec, options, path, Config(), int(time.time())))
            done = time.process_time()
            table(report, None, 200, colour=False, ascii_only=False)
            spent[name] = done - began
            drawing += time.process_time() - done
    # Trap: ru_maxrss begins with that of the process which started this one.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    print(json.dumps({"start": start, "spent": spent, "drawing": drawing, "megabytes": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
