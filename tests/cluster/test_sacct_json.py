"""`sacct --json` of a real slurmdbd, imported, is what its text is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.workload import NAMES, Workload

#: The text of what sacct's JSON has, names last.
TEXT = (
    "JobID,JobIDRaw,Cluster,Submit,User,Group,Account,Partition,QOS,State,Reason,ExitCode,DerivedExitCode,Priority,"
    "Flags,Eligible,Start,End,ElapsedRaw,Suspended,TimelimitRaw,ReqCPUS,ReqTRES,NNodes,AllocTRES,NodeList,NTasks,"
    "TotalCPU,MaxRSS,TRESUsageInTot,ConsumedEnergyRaw,AdminComment,SubmitLine,JobName"
)


#: What the JSON of a release may lack: 22.05 has no line of submission, 0 for every exit without a signal, null for no
#: limit and for the queue's, and the name of who cancelled.
MAY_LACK = {"exit_code", "exit_signal", "derived_exit_code", "submitted_by", "program", "ckpt_asked", "cancelled_by",
            "limit_kind"}  # fmt: skip


def test_sacct_json_gives_the_rows_of_the_text(cluster: Cluster, workload: Workload, tmp_path: Path) -> None:
    asked = ("sacct", "-a", "-D", "-S", "now-1days", "-E", "now+1days", "-s", "CA,CD,F,NF,RQ,TO,OOM,PR")
    as_text = ("-P", "--delimiter", "\x1f", "--noconvert", "-o", TEXT)
    written = {
        "text": cluster.run(*asked, *as_text, env={"SLURM_TIME_FORMAT": "%s"}).out,
        "json": cluster.run(*asked, "--json").out,
    }
    # A delimiter in a name: the JSON has it, and its rows are read without it.
    cut = NAMES["name with delimiters"]
    written["text"] = written["text"].replace(cut, cut.replace(b"\x1f", "\ufffd".encode()))
    for name, out in written.items():
        (tmp_path / name).write_bytes(out)
    for name in written:
        adminkit(cluster, tmp_path / f"{name}.db", "import", str(tmp_path / name))
    for table in ("job", "step"):
        text, read = (stored(tmp_path / f"{name}.db", table) for name in ("text", "json"))
        assert read.keys() == text.keys() and len(text) > 30
        others = [
            (key, column, value, read[key][column])
            for key, row in text.items()
            for column, value in row.items()
            if not _agree(column, value, read[key][column])
        ]
        assert not others, f"key, column, by the text, by the JSON: {others}"


def stored(db: Path, table: str) -> dict[tuple[object, ...], dict[str, object]]:
    with closing(sqlite3.connect(db)) as trace:
        trace.row_factory = sqlite3.Row
        rows = [dict(row) for row in trace.execute(f"SELECT * FROM {table}")]
    key = ("job_id_raw", "submit_time", *(("step",) if table == "step" else ()))
    return {tuple(row[name] for name in key): row for row in rows}


def _agree(column: str, text: object, read: object) -> bool:
    """Whether a column by the JSON is what it is by the text, or is unknown where it may be."""
    if (column in MAY_LACK and read in (None, "unknown")) or column == "fingerprint":
        return True
    if column == "restarts" and text is None:  # 22.05 has no such field
        return read in (None, 0, 1)
    if column == "cpu_time" and isinstance(text, float) and isinstance(read, float):
        return abs(text - read) < 0.01 * (1 + text)  # the text of a job is cut to milliseconds, each step's too
    if column == "flags":
        words = ({w for w in str(value).split(",") if w.startswith("Sched")} for value in (text, read))
        return next(words) == next(words)
    return text == read
