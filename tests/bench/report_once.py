"""One process that makes reports and says what they cost: python -m tests.bench.report_once DB exact|rollups NAME …

Prints one JSON object: seconds of CPU by name, those of the start and of the tables apart, and the peak of memory.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from adminkit.config import Config
from adminkit.render.text import table
from adminkit.reports.answer import ROLLED_UP, answer
from adminkit.reports.catalogue import spec_named
from adminkit.reports.spec import ReportOptions


def main(db: str, how: str, *names: str) -> None:
    import numpy  # noqa: F401  # a part of the start

    spent, drawing = {}, 0.0
    start = time.process_time()
    for name in names:
        began = time.process_time()
        report = answer(spec_named(name), ReportOptions(exact=how == "exact"), Path(db), Config(), int(time.time()))
        done = time.process_time()
        table(report, None, 200, colour=False, ascii_only=False)
        spent[name] = done - began
        drawing += time.process_time() - done
        assert (ROLLED_UP in report.meta.notes) is (how == "rollups"), name
    # Trap: ru_maxrss begins with that of the process which started this one.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    print(json.dumps({"start": start, "spent": spent, "drawing": drawing, "megabytes": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
