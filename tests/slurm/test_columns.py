"""No column that is asked of Slurm's programs can cut what it shows."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from adminkit.fit import ask as fit_ask
from adminkit.slurm import elastic_jobs, open_jobs, own_queue, planning, show_config
from adminkit.slurm.room import room
from tests.support.fakes import Programs

ROOT: Final = Path(__file__).parents[2]

#: Each program that prints columns, and where it is asked -> why nothing that it prints is cut.
CALLS: Final = {
    ("sacct", "cli/sync.py"): "its name as a source",
    ("sacct", "config.py"): "the same",
    ("sacct", "ingest/sources/sacct.py"): "its name as a source",
    ("sacct", "doctor/examine.py"): "only looked for",
    ("sacct", "slurm/release.py"): "its fields and states",
    ("sacct", "slurm/sacct.py"): "-p cuts times only, and they have a width that holds them",
    ("sacctmgr", "slurm/associations.py"): "-P cuts nothing",
    ("sacctmgr", "slurm/cluster.py"): "-P, and settings in lines",
    ("sacctmgr", "slurm/coordinators.py"): "-P",
    ("sacctmgr", "slurm/events.py"): "-P cuts times only, and they have a width that holds them",
    ("sinfo", "slurm/plugstack.py"): "-o without a width",
    ("sprio", "slurm/fair_share.py"): "-o without a width",
    ("sprio", "slurm/priority.py"): "-o without a width",
    ("sacctmgr", "slurm/budget_limits.py"): "an act",
    ("squeue", "cli/metrics.py"): "only whether there is one",
    ("sshare", "slurm/gauges.py"): "-P",
    ("sprio", "slurm/bonus.py"): "numbers, without a width",
    ("squeue", "cli/report_all.py"): "whether it is there",
    ("sstat", "sections.py"): "the name of a source",
    ("sstat", "slurm/steps.py"): "-P",
    ("sstat", "usage/sources.py"): "the name of a source",
    ("sstat", "usage/sstat.py"): "the name of a source",
    ("squeue", "slurm/server_job.py"): "-o without a width",
    ("squeue", "slurm/squeue.py"): "shape()",
}
#: A width as -o and -O, and the format of sacct and sacctmgr, take it.
WIDTH: Final = re.compile(r"%\.?[1-9][0-9]*[A-Za-z]|\b[A-Za-z][A-Za-z_-]+(?::\.?-?[1-9]|%[1-9])[0-9]*")


def texts(tree: ast.AST) -> list[str]:
    """Every text of a file but its docstrings; a value that is put into one is 9."""
    inner = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values}
    inner |= {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    found = []
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "9" for p in one.values))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in inner:
            found.append(one.value)
    return found


@functools.cache
def asked() -> dict[tuple[str, str], list[str]]:
    """Program and file -> the texts of this file."""
    programs = {program for program, _ in CALLS} | {"sshare", "sreport", "sstat", "sdiag", "strigger"}
    found = {}
    for path in sorted((ROOT / "adminkit").rglob("*.py")):
        source = path.read_text()
        named = {program for program in programs if program in source}
        words = texts(ast.parse(source)) if named else []
        for program in named & set(words):
            found[program, str(path.relative_to(ROOT / "adminkit"))] = words
    return found


def test_every_call_that_prints_columns_is_listed_with_why_it_cuts_nothing() -> None:
    calls = {call for call in asked() if call[0] != "sdiag"}
    assert calls == set(CALLS), "a new call: is there a width in it? squeue.py has the fields without one"


@pytest.mark.parametrize("call", sorted(CALLS), ids=lambda call: f"{call[0]} in {call[1]}")
def test_no_format_has_a_width_but_that_of_times(call: tuple[str, str]) -> None:
    widths = [width for text in asked()[call] for width in WIDTH.findall(text)]
    assert widths in ([], ["Start%9", "End%9"]), widths


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%.18i|%T", True),
        ("%20N", True),
        ("NodeList:600", True),
        ("admin_comment:.9", True),
        ("Start%9", True),
        ("%N %n %v", False),
        ("NodeList:0", False),
        ("%i|%T|%B", False),
    ],
)
def test_what_is_a_width(text: str, found: bool) -> None:
    assert bool(WIDTH.search(text)) is found


def test_other_files_that_are_installed_ask_none_of_these_programs() -> None:
    pattern = re.compile(r"\b(?:squeue|sinfo|sacct|sprio|sshare)\b[^\n]*(?:\s-[oO]|--[fF]ormat)")
    files = [path for folder in ("etc", "job_submit", "spank") for path in (ROOT / folder).rglob("*")]
    assert [str(path) for path in files if path.is_file() and pattern.search(path.read_text("utf-8", "replace"))] == []


#: 200 nodes with numbers of six digits, none beside another, as slurmctld lists them.
NODES: Final = [f"compute{number:06d}" for number in range(100_001, 100_401, 2)]
LISTED: Final = f"compute[{','.join(name.removeprefix('compute') for name in NODES)}]"
#: Longer than any column was.
LONG: Final = "x" * 3000
#: squeue as it prints -O: a width above 0 cuts, and pads; 0 does neither.
SQUEUE: Final = f'''#!{sys.executable} -IS
import os, sys
shape, stamp = sys.argv[sys.argv.index("-O") + 1], os.environ["SLURM_TIME_FORMAT"].removeprefix("%s")
cells = {{
    "JobID": "7", "ArrayJobID": "7", "ArrayTaskID": "N/A", "JobArrayID": "7", "State": "RUNNING", "StateCompact": "R",
    "NodeList": "{LISTED}", "SchedNodes": "(null)", "NumNodes": "200", "NumCPUs": "200", "TimeLimit": "1:00:00",
    "TimeUsed": "1:00", "MinTime": "0:00", "RestartCnt": "0", "PriorityLong": "9", "UserID": "5", "HetJobID": "0",
    "tres-alloc": "cpu=200,mem=200M,node=200,license/{LONG}=1,gres/gpu=400", "tres-per-node": "gres:gpu:{LONG}:2",
    "tres-per-job": "N/A", "OverSubscribe": "OK", "Deadline": "N/A",
}}
for word in shape.split(","):
    field, _, rest = word.partition(":")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    value = cells.get(field, "{LONG}")
    if field in ("SubmitTime", "StartTime", "EndTime", "EligibleTime"):
        value = "1700000000" + stamp
    width = int(digits or 20)
    sys.stdout.write((value[:width].ljust(width) if width else value) + rest[len(digits):])
print()
'''


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    (programs.folder / "squeue").write_text(SQUEUE)
    (programs.folder / "squeue").chmod(0o755)
    config = 'echo "SLURM_VERSION = 22.05.8"; echo "ClusterName = alpha"'
    programs.add("scontrol", f'case "$*" in *config*) {config};; *) echo "No such in the system";; esac')
    show_config.forget()
    fit_ask.forget()


def _room() -> tuple[object, ...]:
    (one,) = room(1_700_000_000).jobs
    return one.nodes, one.reason, one.account, one.features, one.licences, one.each.gpus


#: (who asks, what the job has)
WHOLE: Final[list[tuple[Callable[[], tuple[object, ...]], tuple[object, ...]]]] = [
    (_room, (tuple(NODES), LONG, LONG, LONG, LONG, {"gpu": 2})),
    (
        lambda: (lambda one: (one.nodes, one.reason, one.job_name))(elastic_jobs.open_jobs()[0]),
        (tuple(NODES), LONG, LONG),
    ),
    (
        lambda: (lambda one: (one.queue, one.reason, one.job_name))(own_queue.own_queue("alpha", 5)[0]),
        (LONG, LONG, LONG),
    ),
    (lambda: (lambda one: (one.queues, one.reason, one.comment))(planning.open_jobs()[0]), ((LONG,), LONG, LONG)),
    (lambda: open_jobs.admin_comments("alpha")[0], (7, 1_700_000_000, LONG)),
]


@pytest.mark.parametrize(("ask", "found"), WHOLE, ids=["room", "elastic_jobs", "own_queue", "planning", "open_jobs"])
def test_nothing_of_a_job_is_cut(
    squeue: None, ask: Callable[[], tuple[object, ...]], found: tuple[object, ...]
) -> None:
    assert ask() == found
