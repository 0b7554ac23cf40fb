"""Parse and convert only, against DuckDB reading every column as text and summing their lengths."""

from __future__ import annotations

import sys
from pathlib import Path

from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, columns_for
from adminkit.installed import helper_path
from adminkit.programs import known
from tests.bench import pairs, sample

_DUCKDB = """
import duckdb, sys
c = duckdb.connect()
c.execute("SET threads = 1")
source = "FROM read_csv(?, all_varchar=true, delim='|', header=true, quote='')"
names = c.execute(f"SELECT * {source} LIMIT 0", [sys.argv[1]]).description
total = " + ".join(f'sum(length("{name[0]}"))' for name in names)
print(c.execute(f"SELECT {total} {source}", [sys.argv[1]]).fetchone())
"""


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    source = sample.write(folder / f"sacct-{rows}.txt", rows)
    spec = ",".join(column.spec for column in columns_for(JOB_FIELDS))
    body = folder / f"sacct-{rows}.body"
    if not body.exists():
        with source.open("rb") as whole, body.open("wb") as rest:
            whole.readline()
            while chunk := whole.read(1 << 20):
                rest.write(chunk)
    ours = [helper_path(), "--parse-only", "--columns", spec, "--delimiter", "|", "--known", known()]
    theirs = [sys.executable, "-c", _DUCKDB, str(source)]
    return [
        pairs.compare(
            f"parse and convert {rows} rows, against DuckDB",
            lambda: pairs.timed(ours, stdin=str(body)),
            lambda: pairs.timed(theirs),
            1.8,
        )
    ]
