"""Traces for the simulator's tests: a few runs in a file, and the commands' answers about them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adminkit.cli.main import main

HEAD = (
    "JobID JobIDRaw Cluster User Partition QOS State Submit Eligible Start End ElapsedRaw TimelimitRaw"
    " AllocNodes AllocCPUS AllocTRES NodeList Priority Reason"
).split()
#: Of a run that nothing else is said of: it waits a minute, and runs an hour of two on one CPU.
USUAL: Mapping[str, Any] = {
    "Cluster": "alpha", "User": "alice", "Partition": "gq", "QOS": "normal", "State": "COMPLETED", "Submit": 1_000_000,
    "TimelimitRaw": 120, "AllocNodes": 1, "AllocCPUS": 1, "NodeList": "n1", "Priority": 1, "Reason": "None",
}  # fmt: skip


def cells(number: int, run: Mapping[str, Any]) -> list[str]:
    """One run as sacct prints it; what depends on its times follows from them."""
    row = {**USUAL, "JobID": number, "JobIDRaw": number, **run}
    row.setdefault("Eligible", row["Submit"])
    row.setdefault("Start", row["Eligible"] + 60)
    if row["Start"] == "Unknown":
        row |= {"End": "Unknown", "ElapsedRaw": 0}
    elif "End" not in row:
        row["End"] = row["Start"] + row.get("ElapsedRaw", 3600)
    if "ElapsedRaw" not in row:
        row["ElapsedRaw"] = row["End"] - row["Start"]
    row.setdefault("AllocTRES", f"cpu={row['AllocCPUS']},gres/gpu=0,node={row['AllocNodes']}")
    return [str(row[name]) for name in HEAD]


def trace(folder: Path, runs: Iterable[Mapping[str, Any]], *words: str) -> Path:
    """A trace database of these runs."""
    text = folder / "sacct.txt"
    lines = [HEAD, *(cells(number, run) for number, run in enumerate(runs, start=1))]
    text.write_text("".join("|".join(line) + "\n" for line in lines))
    path = folder / "trace.db"
    path.unlink(missing_ok=True)
    done = adminkit("import", text, "--db", path, *words)
    assert done.returncode == 0, done.stderr
    return path


@dataclass(frozen=True)
class Done:
    """A command that has run."""

    returncode: int
    stdout: str
    stderr: str


def adminkit(*words: object) -> Done:
    """One command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Done(code, out.getvalue(), err.getvalue())


def answer(*words: object) -> dict[str, Any]:
    """A command's JSON."""
    done = adminkit(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered
